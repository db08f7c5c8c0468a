#include "join/ranks/ranks.hpp"

#include "join/diagnose/idle.hpp"
#include "join/join.hpp"
#include "join/rollups.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

// --- stages of a pipeline, told by which ranks share the communicators of their sends

read::Op sent(const std::string& name, const std::string& communicator) {
  read::Op op;
  op.kind = "collective";
  op.attributes = {{"op", name}, {"bytes", std::int64_t{1 << 20}}, {"comm", communicator}};
  return op;
}

// A rank that computes for 100 us and waits for its neighbour, in an iteration of 200 us.
RankSummary stage_rank(std::int64_t rank, const std::string& kernel, const std::string& call,
                       const std::string& communicator) {
  read::Profile profile =
      profile_of({EventBuilder(kernel, 0, 1).samples_us({100}),
                  EventBuilder(call, 2, 3).samples_us({60}).op(sent(call, communicator))},
                 200);
  profile.file = "rank" + std::to_string(rank);
  profile.rank = rank;
  profile.world_size = 4;
  return summarise_rank(profile, [](const read::Op&, const read::Device*) { return 10.0; });
}

TEST(RankStages, AreToldByTheCommunicatorsOfSends) {
  const RankComparison comparison = compare_ranks(
      {stage_rank(3, "head", "recv", "0xb"), stage_rank(0, "embedding", "send", "0xa"),
       stage_rank(1, "embedding", "send", "0xb"), stage_rank(2, "head", "recv", "0xa")},
      {});
  ASSERT_EQ(comparison.stages.size(), 2U);
  EXPECT_THAT(comparison.stages[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(comparison.stages[1].ranks, ElementsAre(2, 3));
  const StageTimes& first = comparison.stages[0].times;
  EXPECT_NEAR(first.iteration_us.value(), 200, 1e-9);
  EXPECT_NEAR(first.computing_us, 100, 1e-9);
  EXPECT_NEAR(first.sends_us, 60, 1e-9);
  EXPECT_EQ(first.receives_us, 0);
  EXPECT_NEAR(first.predicted_us.value(), 10, 1e-9);
  EXPECT_NEAR(comparison.stages[1].times.receives_us, 60, 1e-9);
  EXPECT_EQ(first.unmeasured_part, 0);
  EXPECT_TRUE(comparison.warnings.empty());
  EXPECT_TRUE(comparison.unsplit.empty()) << "a send is no collective";
}

TEST(RankStages, ARankOfAStageThatRunsSomethingElseIsRefused) {
  const std::vector<RankSummary> ranks{
      stage_rank(0, "embedding", "send", "0xa"), stage_rank(1, "other", "send", "0xb"),
      stage_rank(2, "head", "recv", "0xa"), stage_rank(3, "head", "recv", "0xb")};
  EXPECT_THROW(static_cast<void>(compare_ranks(ranks, {})), std::invalid_argument);
}

TEST(RankStages, SayHowMuchOfThemHasNoSample) {
  read::Profile profile =
      profile_of({EventBuilder("kernel", 0, 1).samples_us({100}), EventBuilder("other", 2, 3),
                  EventBuilder("send", 4, 5).op(sent("send", "0xa"))},
                 200);
  const RankSummary rank =
      summarise_rank(profile, [](const read::Op&, const read::Device*) { return 10.0; });
  ASSERT_TRUE(rank.stage);
  EXPECT_NEAR(rank.stage->unmeasured_part, 2.0 / 3, 1e-9);
}

// As in attention whose keys go around a ring.
TEST(RankStages, ThereAreNoneWhereAllRanksRunTheSame) {
  const RankComparison comparison = compare_ranks(
      {stage_rank(0, "same", "send", "0xa"), stage_rank(1, "same", "send", "0xa")}, {});
  EXPECT_TRUE(comparison.stages.empty());
}

// --- ranks of one program that did not launch quite the same

RankSummary rank_of(std::int64_t rank, std::vector<read::Event> events) {
  read::Profile profile = profile_of(std::move(events), 200);
  profile.file = "rank" + std::to_string(rank);
  profile.rank = rank;
  profile.profiler.iteration_source = "auto";
  // In the order of the events.
  profile.profiler.event_list_hash = profile.events.front().name;
  return summarise_rank(profile, [](const read::Op&, const read::Device*) { return 10.0; });
}

TEST(RanksOfOneProgram, MayLaunchTheSameInAnotherOrder) {
  const read::Event fill = EventBuilder("fill", 0, 1).samples_us({10});
  const read::Event add = EventBuilder("add", 2, 3).samples_us({20});
  const RankComparison comparison =
      compare_ranks({rank_of(0, {fill, add}), rank_of(1, {add, fill})}, {});
  EXPECT_EQ(comparison.events, 2U);
  EXPECT_THAT(comparison.warnings, IsEmpty());
}

// As where one has a larger batch, for which a library takes another kernel.
TEST(RanksOfOneProgram, AreComparedInWhatAllLaunch) {
  const auto events = [](double us, const std::string& last) {
    return std::vector<read::Event>{EventBuilder("fill", 0, 1).samples_us({us}),
                                    EventBuilder("add", 2, 3).samples_us({us}),
                                    EventBuilder(last, 4, 5).samples_us({us})};
  };
  const RankComparison comparison =
      compare_ranks({rank_of(0, events(10, "small")), rank_of(1, events(10, "small")),
                     rank_of(2, events(30, "large"))},
                    {});
  EXPECT_EQ(comparison.events, 2U);
  ASSERT_EQ(comparison.slow_devices.size(), 1U);
  EXPECT_EQ(comparison.slow_devices.front().device.rank, 2);
  EXPECT_THAT(comparison.warnings,
              Contains("rank0 and rank2 have different events (2 in one of them only, the first is "
                       "\"large\" in rank2): those that all ranks have are compared"));
}

// Behind a kernel that one rank has more, the occurrences of its name are other work.
TEST(RanksOfOneProgram, AreNotComparedInNamesOfWhichOneHasMore) {
  const auto events = [](std::vector<double> gemms_us) {
    std::vector<read::Event> list{EventBuilder("fill", 0, 1).samples_us({2}),
                                  EventBuilder("add", 1, 2).samples_us({2}),
                                  EventBuilder("sum", 2, 3).samples_us({2})};
    for (std::size_t i = 0; i < gemms_us.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      list.push_back(EventBuilder("gemm", at + 3, at + 4).occurrence(at).samples_us({gemms_us[i]}));
    }
    return list;
  };
  const RankComparison comparison = compare_ranks(
      {rank_of(0, events({50, 7})), rank_of(1, events({50, 7})), rank_of(2, events({7, 50, 7}))},
      {});
  EXPECT_EQ(comparison.events, 3U);
  EXPECT_THAT(comparison.stragglers, IsEmpty()) << "its second product is the others' first";
  EXPECT_THAT(comparison.slow_devices, IsEmpty());
}

// As the sum of all gradients' squares, which comes behind other collectives on each stage.
TEST(RankStages, MeetInCollectivesThatTheyNumberOtherwise) {
  const auto all_reduce = [](std::int64_t occurrence, const std::string& communicator, double us) {
    read::Op op = sent("all_reduce", communicator);
    op.attributes.emplace_back("sequence", std::int64_t{0});
    read::Event event = EventBuilder("all_reduce", occurrence, occurrence + 1)
                            .occurrence(occurrence)
                            .samples_us({us, us, us})
                            .op(op);
    event.iterations = {11, 12, 13};
    return event;
  };
  const RankComparison comparison =
      compare_ranks({rank_of(0, {all_reduce(0, "0xa", 90)}),
                     rank_of(1, {all_reduce(0, "0xb", 5), all_reduce(1, "0xa", 10)}),
                     rank_of(2, {all_reduce(0, "0xc", 5)})},
                    {});
  EXPECT_THAT(comparison.unsplit, ElementsAre("all_reduce: measured on one device only",
                                              "all_reduce: measured on one device only"));
  ASSERT_EQ(comparison.collectives.size(), 1U);
  EXPECT_NEAR(comparison.collectives.front().transfer_us, 10, 1e-9);
  EXPECT_EQ(comparison.collectives.front().last.value().rank, 1);
  EXPECT_THAT(comparison.collectives.front().ranks, ElementsAre(0, 1));
}

// Their schedules, which depend on the lists of events, measure a collective in other iterations.
TEST(RanksOfOneProgram, SplitACollectiveByItsMediansWhereNoIterationWasMeasuredOnAll) {
  const auto events = [](double us, std::int64_t iteration) {
    read::Event reduce =
        EventBuilder("all_reduce", 0, 1).samples_us({us, us, us}).op(sent("all_reduce", "0xa"));
    reduce.iterations = {iteration, iteration + 2, iteration + 4};
    return std::vector<read::Event>{reduce};
  };
  const RankComparison comparison =
      compare_ranks({rank_of(0, events(700, 11)), rank_of(1, events(100, 12))}, {});
  EXPECT_THAT(comparison.unsplit, IsEmpty());
  ASSERT_EQ(comparison.collectives.size(), 1U);
  const CollectiveSplit& split = comparison.collectives.front();
  EXPECT_EQ(split.iterations, 0U);
  EXPECT_NEAR(split.transfer_us, 100, 1e-9);
  EXPECT_NEAR(split.wait_us, 300, 1e-9);
  EXPECT_EQ(split.last.value().rank, 1);
  EXPECT_THAT(split.ranks, IsEmpty()) << "all take part";
}

// One slow sample may be chance.
TEST(RanksOfOneProgram, AreNoStragglersAndNotLastOfFewerThanThreeSamples) {
  for (const std::size_t samples : {2U, 3U}) {
    const auto events = [samples](double us) {
      const auto times = [samples](double of_each_us) {
        return std::vector<double>(samples, of_each_us);
      };
      read::Event reduce = EventBuilder("all_reduce", 2, 3)
                               .samples_us(times(100 - us))
                               .op(sent("all_reduce", "0xa"));
      reduce.iterations = {11, 12, 13};
      reduce.iterations.resize(samples);
      return std::vector<read::Event>{EventBuilder("gemm", 0, 1).samples_us(times(us)), reduce};
    };
    const RankComparison comparison =
        compare_ranks({rank_of(0, events(10)), rank_of(1, events(10)), rank_of(2, events(90))}, {});
    const bool is_enough = samples >= kLeastRankSamples;
    EXPECT_EQ(comparison.stragglers.size(), is_enough ? 1U : 0U);
    EXPECT_EQ(comparison.events_of_few_samples, is_enough ? 0U : 1U)
        << "a collective has no slow one";
    EXPECT_EQ(comparison.warnings.empty(), is_enough) << "it says that one was slower";
    ASSERT_EQ(comparison.collectives.size(), 1U);
    EXPECT_EQ(comparison.collectives.front().last.has_value(), is_enough);
  }
}

// Found in other launches, the eleventh iteration of one may be the twelfth of the other.
TEST(RanksOfOneProgram, DoNotMatchIterationsThatTheyFoundInOtherLaunches) {
  const auto events = [](const std::vector<double>& us, const std::string& last) {
    read::Event reduce =
        EventBuilder("all_reduce", 0, 1).samples_us(us).op(sent("all_reduce", "0xa"));
    reduce.iterations = {11, 12};
    return std::vector<read::Event>{reduce, EventBuilder("add", 1, 2).samples_us({1, 1}),
                                    EventBuilder(last, 2, 3).samples_us({1, 1})};
  };
  for (const std::string last : {"small", "large"}) {
    const RankComparison comparison = compare_ranks(
        {rank_of(0, events({700, 100}, "small")), rank_of(1, events({100, 700}, last))}, {});
    ASSERT_EQ(comparison.collectives.size(), 1U);
    EXPECT_EQ(comparison.collectives.front().iterations, last == "small" ? 2U : 0U);
  }
}

// As where one has a larger batch: most kernels are too short to take longer for it.
TEST(SlowDevices, AreNotOutvotedByShortKernels) {
  const auto events = [](double us) {
    return std::vector<read::Event>{EventBuilder("fill", 0, 1).samples_us({2}),
                                    EventBuilder("add", 2, 3).samples_us({2}),
                                    EventBuilder("gemm", 4, 5).samples_us({us})};
  };
  const RankComparison comparison =
      compare_ranks({rank_of(0, events(10)), rank_of(1, events(10)), rank_of(2, events(90))}, {});
  ASSERT_EQ(comparison.slow_devices.size(), 1U);
  EXPECT_EQ(comparison.slow_devices.front().device.rank, 2);
  EXPECT_NEAR(comparison.slow_devices.front().ratio, 9, 1e-9);
}

// --- the rank that the others wait for, of works that are known by hand

// Two ranks whose iterations take 1000 us.
class Ranks {
 public:
  Ranks() {
    for (const std::int64_t rank : {0, 1}) {
      Run& run = analysis_.runs.emplace_back();
      run.iteration.us = 1000;
      run.profile.rank = rank;
      run.profile.host_name = "node";
    }
    analysis_.shares_us = Shares{};
    analysis_.iteration.us = 1000;
  }

  Row& add(std::size_t rank, std::int64_t stream, double start_us, double length_us,
           const std::string& meeting = "") {
    Row& row = analysis_.rows.emplace_back();
    row.profile = rank;
    row.stream_index = stream;
    row.start_index = static_cast<std::int64_t>(2 * analysis_.rows.size());
    row.end_index = row.start_index + 1;
    row.offset_us = start_us;
    row.corrected_us = row.in_iteration_us = length_us;
    row.meeting = meeting;
    return row;
  }

  Analysis& found() {
    analysis_.rows = with_waits(std::move(analysis_.rows));
    analysis_.rank_waits =
        rank_waits(analysis_.rows, placement_of(analysis_.runs, analysis_.rows), analysis_);
    return analysis_;
  }

 private:
  Analysis analysis_;
};

TEST(RankWaits, AreForTheOneThatComesLast) {
  Ranks ranks;
  ranks.add(0, 0, 0, 300);
  ranks.add(0, 1, 200, 500, "comm 0");  // 100 us of the transfer, 400 of waiting
  ranks.add(1, 0, 0, 600);
  ranks.add(1, 1, 600, 100, "comm 0");
  const Analysis& analysis = ranks.found();
  ASSERT_EQ(analysis.rank_waits.size(), 1U);
  const RankWait& wait = analysis.rank_waits.front();
  EXPECT_EQ(wait.profile, 0U);
  EXPECT_EQ(wait.for_profile, 1U);
  EXPECT_NEAR(wait.us, 400, 1e-9);
  EXPECT_NEAR(wait.exposed_us, 300, 1e-9) << "100 us of it the other stream works";
  const auto last = last_devices(analysis.rank_waits, analysis.runs);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_NEAR(last.front().percent, 40, 1e-9);
  EXPECT_NEAR(last.front().exposed_percent, 30, 1e-9);
  EXPECT_EQ(name_of(last.front(), analysis.runs), "rank 1 (node, device 0)");
  const auto causes = find_causes(analysis);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes.front().name, "waits for rank 1") << "the summary names it";
  EXPECT_EQ(causes.front().where, "for rank 1 (node, device 0)");
  EXPECT_NEAR(causes.front().gain_us, 300, 1e-9);
}

TEST(RankWaits, AreNotKnownOfWhatDoesNotMeet) {
  Ranks ranks;
  ranks.add(0, 1, 200, 500, "comm 0");
  ranks.add(1, 1, 600, 100, "comm 1");
  ranks.add(0, 0, 700, 10, "comm 2").corrected_us.reset();
  ranks.add(1, 0, 700, 100, "comm 2");
  EXPECT_TRUE(ranks.found().rank_waits.empty());
}

TEST(RankWaits, AreNotKnownWhereANameStandsForTwoCollectives) {
  Ranks ranks;
  ranks.add(0, 1, 200, 500, "comm 0");
  ranks.add(0, 1, 800, 50, "comm 0");
  ranks.add(1, 1, 600, 100, "comm 0");
  EXPECT_TRUE(ranks.found().rank_waits.empty());
}

read::Profile rank_with(std::size_t samples, double all_reduce_us) {
  const read::Op op{.kind = "collective",
                    .source = "test",
                    .attributes = {{"op", std::string("all_reduce")},
                                   {"type", std::string("f16")},
                                   {"bytes", std::int64_t{1} << 25},
                                   {"ranks", std::int64_t{2}},
                                   {"comm", std::string("c")},
                                   {"sequence", std::int64_t{0}}}};
  return profile_of({EventBuilder("all_reduce", 0, 1)
                         .samples_us(std::vector<double>(samples, all_reduce_us))
                         .op(op)},
                    1000);
}

TEST(RankWaits, AreNoPartOfWhatAPredictionIsHeldAgainst) {
  JoinOptions options;
  options.machine = builtin_machine("h200-sxm-141gb");
  options.event_bias.kind = BiasSetting::Kind::kOff;
  std::vector<read::Profile> profiles;
  profiles.push_back(rank_with(7, 900));
  profiles.push_back(rank_with(5, 100));
  const Analysis analysis = join_profiles(std::move(profiles), {}, options);
  ASSERT_EQ(analysis.rows.size(), 2U);
  const double ratio = 100 / analysis.rows[0].predicted_us.value();
  EXPECT_NEAR(analysis.rows[0].waited_us.value(), 800, 1e-4);
  EXPECT_NEAR(analysis.rows[0].ratio.value(), ratio, 1e-6);
  EXPECT_NEAR(analysis.rows[1].waited_us.value(), 0, 1e-4);
  EXPECT_NEAR(analysis.rows[1].ratio.value(), ratio, 1e-6);
  ASSERT_EQ(analysis.merged.size(), 1U);
  EXPECT_NEAR(analysis.merged[0].waited_us.value(), 800, 1e-4) << "the median of all is 900";
  EXPECT_NEAR(analysis.merged[0].ratio.value(), ratio, 1e-6);
  EXPECT_NEAR(analysis.errors.value().median_ratio, ratio, 1e-6);
  const auto sums = layer_sums(analysis);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_NEAR(sums[0].time_us.value(), 500, 1e-4) << "mean over devices";
  EXPECT_NEAR(sums[0].compared_us.value(), 100, 1e-4);
  EXPECT_NEAR(sums[0].ratio.value(), ratio, 1e-6);
  // The whole row would be slower by 800 us: no rank can gain more than the transfer takes.
  EXPECT_LT(analysis.merged[0].saved_us_if_predicted.value_or(0.0), 100);
}

}  // namespace
}  // namespace inline_prof::join
