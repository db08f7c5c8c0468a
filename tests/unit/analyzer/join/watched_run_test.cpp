// Histories joined by rank, their changes, and what recurs.
#include "join/watch/watched_run.hpp"

#include "join/join.hpp"
#include "join/rows/file_rows.hpp"
#include "profile_builder.hpp"
#include "report/tables.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

constexpr double kHour = 3600;

// A factor of a kernel's time at an hour.
using Factor = std::function<double(double hour)>;

std::vector<watch::Bin> hourly_bins(double hours, double us, const Factor& factor) {
  std::vector<watch::Bin> bins;
  for (double hour = 0; hour < hours; ++hour) {
    watch::Bin& bin = bins.emplace_back();
    bin.start_s = kHour * hour;
    bin.end_s = kHour * (hour + 1) - 1;
    bin.first_iteration = static_cast<std::int64_t>(1000 * hour);
    bin.last_iteration = bin.first_iteration + 999;
    for (const double part : {0.98, 1.0, 1.02})
      bin.sketch.add(us * 1e3 * part * factor(hour), 100);
  }
  return bins;
}

double as_ever(double /*hour*/) {
  return 1.0;
}

// A process that ran from 2026-11-24 0:00 plus `first_hour` on: two layers, and a collective.
read::Profile watched_profile(std::int64_t rank, double hours, const Factor& factor,
                              int first_hour = 0) {
  read::Profile profile =
      profile_of({EventBuilder("gemm", 0, 1).layer("mlp").samples_us({500}),
                  EventBuilder("softmax", 2, 3).layer("attention").samples_us({300}),
                  EventBuilder("all_reduce", 4, 5)
                      .layer("mlp")
                      .samples_us({100})
                      .op(test::op_of_kind("collective"))},
                 1000);
  profile.file = "rank" + std::to_string(rank) + "." + std::to_string(first_hour);
  profile.host_name = "node" + std::to_string(rank / 4);
  profile.rank = rank;
  profile.started_at = "2026-11-24T" + std::to_string(10 + first_hour) + ":00:00Z";
  profile.watched.emplace().until_s = kHour * hours;
  profile.watched->iteration = hourly_bins(hours, 1000, as_ever);
  profile.watched->false_alarms_per_month = 1;
  const double us[] = {500, 300, 100};
  for (std::size_t i = 0; i < 3; ++i)
    profile.events[i].history = hourly_bins(hours, us[i], i < 2 ? factor : as_ever);
  return profile;
}

WatchedFile file_of(const read::Profile& profile) {
  return watched_file(profile, nested_rows(profile)).value();
}

// A change that the library told of.
read::FoundChange told(std::size_t event, double hour, double ratio, const std::string& reason) {
  return {.of = "event",
          .event = event,
          .layer = {},
          .device_id = {},
          .began_s = kHour * hour,
          .detected_s = kHour * hour + 60,
          .began_iteration = static_cast<std::int64_t>(1000 * hour),
          .before_us = event == 0 ? 500.0 : 300.0,
          .after_us = ratio * 500,
          .ratio = ratio,
          .ratio_ci95 = {ratio - 0.01, ratio + 0.01},
          .reason = reason};
}

WatchedRun run_of(std::size_t ranks, double hours,
                  const std::function<double(std::size_t rank, double hour)>& factor) {
  std::vector<WatchedFile> files;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    files.push_back(file_of(watched_profile(static_cast<std::int64_t>(rank), hours,
                                            [&](double hour) { return factor(rank, hour); })));
  return watched_run(std::move(files));
}

TEST(WatchedRun, TimesAreReadAndWritten) {
  EXPECT_EQ(seconds_of("1970-01-02T00:01:40Z"), 86500);
  EXPECT_EQ(seconds_of("yesterday"), std::nullopt);
  EXPECT_EQ(seconds_of("2026-13-01T00:00:00Z"), std::nullopt);
  EXPECT_EQ(minute_words(seconds_of("2026-11-24T14:02:59Z").value()), "2026-11-24 14:02");
}

TEST(WatchedRun, LayersLeaveCollectivesToThemselves) {
  const WatchedRun run = run_of(2, 4, [](std::size_t, double) { return 1.0; });
  ASSERT_THAT(run.layers, SizeIs(3));
  EXPECT_EQ(run.layers[0].name.str(), "mlp");
  EXPECT_NEAR(run.layers[0].us.at(3), 500, 10);
  EXPECT_EQ(run.layers[2].name.str(), "(collectives, with waiting)");
  EXPECT_NEAR(run.ranks.at(1).own_us.at(0), 800, 16);
  EXPECT_NEAR(run.ranks.at(1).iteration_us.at(0), 1000, 20);
  EXPECT_THAT(run.changes, IsEmpty());
  EXPECT_THAT(run.recurrences, IsEmpty());
}

TEST(WatchedRun, ProcessesOfARankAreOneHistoryInOrderOfTime) {
  std::vector<WatchedFile> files;
  files.push_back(file_of(watched_profile(
      3, 4, [](double) { return 2.0; }, 6)));  // came later
  files.push_back(file_of(watched_profile(3, 5, as_ever)));
  const WatchedRun run = watched_run(std::move(files));
  ASSERT_THAT(run.ranks, SizeIs(1));
  EXPECT_EQ(run.ranks[0].processes, 2U);
  EXPECT_EQ(run.ranks[0].file, "rank3.6");
  ASSERT_THAT(run.columns, SizeIs(9));
  EXPECT_LT(run.columns[4].end_s, run.columns[5].start_s);
  EXPECT_NEAR(run.ranks[0].own_us[4], 800, 16);
  EXPECT_NEAR(run.ranks[0].own_us[5], 1600, 32);
}

TEST(WatchedRun, AReportIsOfTheNewestProcesses) {
  std::vector<read::Profile> profiles;
  for (const int first_hour : {0, 6}) {
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      read::Profile profile = watched_profile(rank, 4, as_ever, first_hour);
      for (read::Event& event : profile.events)
        event.measured_ms.assign(5, 0.1 + first_hour);
      profiles.push_back(std::move(profile));
    }
  }
  std::swap(profiles[1], profiles[2]);
  JoinOptions options;
  options.keep_samples = true;
  const Analysis analysis = join_profiles(std::move(profiles), {}, options);
  ASSERT_THAT(analysis.runs, SizeIs(2));
  EXPECT_EQ(analysis.runs[0].profile.file, "rank0.6");
  EXPECT_EQ(analysis.runs[1].profile.file, "rank1.6");
  ASSERT_THAT(analysis.rows, SizeIs(6));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(analysis.rows[i].profile, i / 3);
    EXPECT_NEAR(analysis.rows[i].raw_us.value(), 6100, 0.01);
    EXPECT_NEAR(analysis.samples_us[i].at(0), 6100, 0.01);
  }
  EXPECT_EQ(analysis.watched->ranks.at(1).processes, 2U);
  EXPECT_THAT(analysis.warnings, Not(Contains(HasSubstr("say that they are rank"))));
}

TEST(WatchedRun, ProcessesWithoutARankJoinByTheirDevicesUnlessTheyRanAtOneTime) {
  const auto with = [](int first_hour, const std::string& file) {
    read::Profile profile = watched_profile(0, 3, as_ever, first_hour);
    profile.rank.reset();
    profile.file = file;
    return file_of(profile);
  };
  EXPECT_THAT(watched_run({with(0, "a"), with(4, "b")}).ranks, SizeIs(1));
  const std::vector<WatchedFile> at_once{with(0, "a"), with(1, "b"), with(5, "c")};
  EXPECT_THAT(groups_of(at_once), ElementsAre(0, 1, 0));
  EXPECT_THAT(have_newer(at_once), ElementsAre(true, false, false));
  EXPECT_THAT(watched_run(at_once).ranks, SizeIs(2));
}

TEST(WatchedRun, ChangesOfOneTimeAreOne) {
  read::Profile profile = watched_profile(3, 12, as_ever);
  profile.watched->changes = {told(0, 4.0, 1.4, "SM clock 1980 -> 1410 MHz: power cap"),
                              told(1, 4.01, 1.1, "")};
  const WatchedRun run = watched_run({file_of(watched_profile(0, 12, as_ever)), file_of(profile)});
  ASSERT_THAT(run.changes, SizeIs(1));
  const RunChange& change = run.changes[0];
  EXPECT_TRUE(change.is_everything);
  EXPECT_NEAR(change.ratio, (1.4 * 500 + 1.1 * 300) / 800, 1e-9);
  EXPECT_EQ(report::change_words(run, change),
            "all kernels of rank 3 became 1.288 times slower [1.278, 1.298] at 2026-11-24 14:00, "
            "iteration 4,000: SM clock 1980 -> 1410 MHz: power cap");
}

TEST(WatchedRun, AChangeOfALayerOnAllRanksIsOne) {
  std::vector<WatchedFile> files;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    read::Profile profile = watched_profile(rank, 12, as_ever);
    profile.watched->changes = {told(0, 5.0 + 0.01 * static_cast<double>(rank), 1.03, "")};
    files.push_back(file_of(profile));
  }
  const WatchedRun run = watched_run(std::move(files));
  ASSERT_THAT(run.changes, SizeIs(1));
  EXPECT_THAT(run.changes[0].ranks, SizeIs(4));
  EXPECT_THAT(report::change_words(run, run.changes[0]),
              HasSubstr("layer mlp of all 4 ranks became 1.030 times slower [1.020, 1.040] at "));
  ASSERT_THAT(run.recurrences, SizeIs(1));
  EXPECT_EQ(run.recurrences[0].cause, "program");
  EXPECT_THAT(run.recurrences[0].evidence.front(), HasSubstr("mlp"));
}

TEST(WatchedRun, ALayerHoldsItsEvents) {
  read::FoundChange of_layer = told(0, 4.0, 1.3, "");
  of_layer.of = "layer";
  of_layer.event.reset();
  of_layer.layer = "mlp";
  of_layer.before_us = 600;
  read::Profile profile = watched_profile(0, 12, as_ever);
  profile.watched->changes = {told(0, 4.0, 1.4, ""), of_layer};
  const WatchedRun run = watched_run({file_of(profile)});
  ASSERT_THAT(run.changes, SizeIs(1));
  EXPECT_NEAR(run.changes[0].before_us, 600, 1e-9);
  EXPECT_NEAR(run.changes[0].ratio, 1.3, 1e-9);
  // A layer whose collective alone is slower waits for somebody else.
  profile.watched->changes = {told(2, 4.0, 1.4, ""), of_layer};
  EXPECT_TRUE(watched_run({file_of(profile)}).changes.at(0).is_iteration);
}

TEST(WatchedRun, TheBestKnownTimeCounts) {
  // The analyzer finds the change of the other rank at the edge of a bin, hours off.
  SeriesChange coarse;
  coarse.layer = coarse.event = "gemm";
  coarse.before_us = 500;
  coarse.ratio = 1.4;
  coarse.within_s = 4 * kHour;
  read::Profile exact = watched_profile(0, 12, as_ever);
  exact.watched->changes = {told(0, 5.0, 1.4, "")};
  WatchedFile first = file_of(exact);
  WatchedFile second = file_of(watched_profile(1, 12, as_ever));
  coarse.layer = first.changes.at(0).layer;
  coarse.began_s = first.changes.at(0).began_s - 3 * kHour;
  second.changes = {coarse};
  const WatchedRun run = watched_run({second, first});
  ASSERT_THAT(run.changes, SizeIs(1));
  EXPECT_THAT(run.changes[0].ranks, SizeIs(2));
  EXPECT_EQ(minute_words(run.changes[0].began_s), "2026-11-24 15:00");
}

TEST(WatchedRun, ChangesOfOtherTimesOrDirectionsAreOthers) {
  read::Profile profile = watched_profile(0, 12, as_ever);
  profile.watched->changes = {told(0, 2.0, 1.2, ""), told(1, 2.0, 0.8, ""), told(0, 8.0, 1.2, "")};
  const WatchedRun run = watched_run({file_of(profile)});
  ASSERT_THAT(run.changes, SizeIs(3));
  EXPECT_THAT(report::change_words(run, run.changes[1]), HasSubstr("became 1.250 times faster"));
}

TEST(WatchedRun, RanksThatOnlyWaitAreNoChangeOfTheirOwn) {
  read::Profile slow = watched_profile(1, 12, as_ever);
  slow.watched->changes = {told(0, 4.0, 1.4, "")};
  read::Profile waiting = watched_profile(0, 12, as_ever);
  waiting.watched->changes = {told(2, 4.0, 3.0, "")};
  const WatchedRun run = watched_run({file_of(slow), file_of(waiting)});
  ASSERT_THAT(run.changes, SizeIs(1));
  EXPECT_THAT(run.changes[0].ranks, ElementsAre(1));
  EXPECT_THAT(run.changes[0].waiting, ElementsAre(0));
}

TEST(Recurrences, ASlowGpuIsHardwareWithItsReadings) {
  std::vector<WatchedFile> files;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    read::Profile profile =
        watched_profile(rank, 10, [&](double hour) { return rank == 5 && hour >= 6 ? 1.38 : 1.0; });
    read::DeviceReadings& machine = profile.watched->machine.emplace_back();
    for (double hour = 0; hour < 10; ++hour) {
      watch::MachineReading& reading = machine.readings.emplace_back();
      const bool is_slow = rank == 5 && hour >= 6;
      reading.time_s = kHour * hour + 10;
      reading.sm_clock_mhz = is_slow ? 1410 : 1980;
      reading.throttle_reasons = is_slow ? 4 : 0;
      reading.ecc_errors = is_slow ? hour : 0;
    }
    files.push_back(file_of(profile));
  }
  const WatchedRun run = watched_run(std::move(files));
  ASSERT_THAT(run.recurrences, SizeIs(1));
  const Recurrence& found = run.recurrences[0];
  EXPECT_EQ(found.cause, "hardware");
  EXPECT_THAT(found.ranks, ElementsAre(5));
  EXPECT_NEAR(found.ratio, 1.38, 0.02);
  EXPECT_THAT(found.what, HasSubstr("rank 5 on node1: its own kernels take 1.3"));
  EXPECT_THAT(found.what, HasSubstr("since 2026-11-24 16:00, iteration 6000"));
  EXPECT_THAT(found.evidence,
              ElementsAre("SM clock 1410 MHz, its peers 1980", "power cap in 100 % of the readings",
                          "3 more ECC errors",
                          HasSubstr("at 2026-11-24 16:00: SM clock 1980 -> 1410 MHz: power cap"),
                          "the iteration does not show it: its peers wait in collectives"));
}

TEST(Recurrences, SlownessThatMovesIsData) {
  const WatchedRun run = run_of(8, 24, [](std::size_t rank, double hour) {
    return static_cast<std::size_t>(hour) * 5 % 8 == rank ? 1.2 : 1.0;
  });
  ASSERT_THAT(run.recurrences, SizeIs(1));
  EXPECT_EQ(run.recurrences[0].cause, "data");
  EXPECT_THAT(run.recurrences[0].ranks, SizeIs(8));
}

TEST(Recurrences, SlownessOfAllThatPassesIsData) {
  const WatchedRun run =
      run_of(4, 24, [](std::size_t, double hour) { return std::fmod(hour, 8) == 3 ? 1.3 : 1.0; });
  ASSERT_THAT(run.recurrences, SizeIs(1));
  EXPECT_EQ(run.recurrences[0].cause, "data");
  EXPECT_THAT(run.recurrences[0].what, HasSubstr("3 times all ranks together were slower"));
}

TEST(Recurrences, StagesOfAPipelineAreNoPeers) {
  std::vector<WatchedFile> files;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    read::Profile profile = watched_profile(rank, 10, [&](double) { return rank < 2 ? 1.0 : 1.5; });
    profile.profiler.event_list_hash = rank < 2 ? "first" : "last";
    profile.events.front().name = profile.profiler.event_list_hash;
    files.push_back(file_of(profile));
  }
  EXPECT_THAT(watched_run(std::move(files)).recurrences, IsEmpty());
}

TEST(Recurrences, EqualRanksHaveNone) {
  const WatchedRun run = run_of(16, 24, [](std::size_t rank, double hour) {
    return 1.0 + 0.02 * std::sin(3.0 * static_cast<double>(rank) + hour);
  });
  EXPECT_THAT(run.recurrences, IsEmpty());
}

}  // namespace
}  // namespace inline_prof::join
