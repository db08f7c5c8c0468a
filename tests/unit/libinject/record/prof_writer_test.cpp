// Reads prof.json back with a parser that is not ours.
#include "record/prof_writer.hpp"

#include "record/run_to_write.hpp"
#include "testing.hpp"

#include <inline_prof/prof_format.hpp>

#include <nlohmann/json.hpp>

namespace inline_prof::record {
namespace {

using nlohmann::json;

json written(RunRecord& run, WriteFacts facts = {}) {
  facts.process_id = 4711;
  return json::parse(prof_json(run, facts));
}

class ProfJson : public Test {
 protected:
  void SetUp() override { fill(run_); }
  RunRecord run_;
};

// The file beside this one has every member of the format; scripts that read what the original
// profiler wrote find their keys in it.
TEST_F(ProfJson, IsTheFileThatWasAgreed) {
  fill_watch(run_);
  WriteFacts facts;
  facts.complete = true;
  facts.simulated = true;
  facts.libraries = {{"cublas", "13.1.0"}};
  facts.iteration_confidence = 1;
  facts.cuda_errors = 10;
  facts.cross_check =
      CrossCheck{.version = 130001, .launches = 8, .dropped_records = 0, .times_us = {}};
  json file = written(run_, facts);
  EXPECT_EQ(file["profiler"].erase("version"), 1U);
  EXPECT_EQ(file, json::parse(std::ifstream(INLINE_PROF_TEST_WRITTEN))) << file.dump(1);
}

// 20 samples an hour of each: a tenth of 1,000 events takes a tenth of 4 MiB.
TEST_F(ProfJson, IsNotLargerThan4MiBAfterAMonthOf1000Events) {
  constexpr int events = 100;
  constexpr int repeat = 50;
  constexpr int hours = 30 * 24;
  std::mt19937 random(1);
  std::lognormal_distribution<double> time_ns(10, 0.05);
  const auto add_hours = [&](EventRecord& event, int from, int to) {
    for (int i = 20 * from; i < 20 * to; ++i)
      event.history->add(180.0 * i, std::int64_t{720} * i, time_ns(random));
  };
  std::size_t after_a_day = 0;
  RunRecord run;
  run.watch = std::make_unique<WatchRecord>();
  for (int i = 0; i < events; ++i) {
    EventRecord& event = add_event(run, "layer" + std::to_string(i) + ".forward");
    event.layer_name = "model.decoder.layers." + std::to_string(i) + ".self_attention";
    event.kernel_names = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cublas"};
    event.reserve(repeat);
    for (int k = 0; k < repeat; ++k)
      static_cast<void>(event.add(sample(static_cast<float>(time_ns(random) * 1e-6), 3.25F, k, 1)));
    event.history = std::make_unique<watch::History>();
    add_hours(event, 0, 24);
  }
  after_a_day = prof_json(run, {}).size();
  for (EventRecord& event : run.events)
    add_hours(event, 24, hours);
  const std::size_t after_a_month = prof_json(run, {}).size();
  EXPECT_LT(after_a_month, std::size_t{4} * 1024 * 1024 / 10);
  EXPECT_LT(static_cast<double>(after_a_month), 1.5 * static_cast<double>(after_a_day));
}

// Readers refuse an event that ends before it starts.
TEST_F(ProfJson, AnEventThatIsStillOpenEndsWhereItStarts) {
  EventRecord& open = add_event(run_, "open");
  open.end_index = -1;
  EXPECT_EQ(written(run_)["events"].back()["end_index"], open.start_index);
}

TEST_F(ProfJson, LeavesOutWhatIsStillDescribed) {
  add_event(run_, "half", 0, 0).phase = 2;
  run_.phase_in_making = 2;
  EXPECT_EQ(written(run_)["events"].size() + 1, run_.events.size());
}

TEST_F(ProfJson, SaysThatACheckpointIsIncomplete) {
  EXPECT_EQ(written(run_)["complete"], false);
}

TEST_F(ProfJson, HasTheOverheadWhereBlocksWereTaken) {
  EXPECT_TRUE(written(run_)["overhead"]["slowdown_percent"].is_null());
  for (int block = 0; block < 16; ++block) {
    const bool armed = block % 4 == 0 || block % 4 == 3;
    const float time = armed ? 101 : 100;
    run_.overhead_blocks.push_back({.armed = armed, .times_ms = {time, time, time}});
  }
  const json overhead = written(run_)["overhead"];
  EXPECT_NEAR(overhead["slowdown_percent"].get<double>(), 1.0, 1e-6);
  EXPECT_NEAR(overhead["slowdown_percent_ci95"][0].get<double>(), 1.0, 1e-6);
  EXPECT_NEAR(overhead["slowdown_percent_ci95"][1].get<double>(), 1.0, 1e-6);
  EXPECT_EQ(overhead["iterations_needed"], 0);
  EXPECT_EQ(overhead["method"], "origin events, ABBA blocks");
  EXPECT_EQ(overhead["armed_iterations"], 24);  // of the overhead measurement, not of the run
  EXPECT_EQ(overhead["unarmed_iterations"], 24);

  run_.overhead_blocks.resize(8);
  const json too_few = written(run_)["overhead"];
  EXPECT_TRUE(too_few["slowdown_percent"].is_null());
  EXPECT_TRUE(too_few["slowdown_percent_ci95"].is_null());
  EXPECT_EQ(too_few["iterations_needed"], 24);
  EXPECT_EQ(too_few["method"],
            "not measured: 2 groups of four blocks, armed and not, are too few; 4 are needed");
  run_.overhead_blocks.resize(4);
  EXPECT_EQ(written(run_)["overhead"]["method"],
            "not measured: 1 group of four blocks, armed and not, is too few; 4 are needed");
}

TEST_F(ProfJson, KeepsExtraInformationBesideEverySample) {
  EventRecord& event = add_event(run_, "emb");
  event.reserve(2);
  ASSERT_TRUE(event.add(sample(1, 0, 20)));
  Sample with_information = sample(2, 0, 21);
  with_information.extra = std::make_unique<ExtraInfos>(ExtraInfos{.start = "rows=5", .stop = ""});
  ASSERT_TRUE(event.add(std::move(with_information)));
  const json file = written(run_);
  EXPECT_EQ(file["events"][1]["extra_infos_start"], json::parse(R"(["", "rows=5"])"));
  EXPECT_EQ(file["events"][1]["extra_infos_stop"], json::array());
}

TEST_F(ProfJson, FlagsSamplesTakenAtAnyOccurrence) {
  add_event(run_, "anywhere").add_flag(Flag::kAnyOccurrence);
  EXPECT_EQ(written(run_)["events"][1]["flags"], json::parse(R"(["any_occurrence"])"));
}

TEST(ProfJsonOfAnEmptyRun, IsWholeAndLeavesOutWhatIsNotKnown) {
  RunRecord run;
  const json file = written(run);
  EXPECT_EQ(file["events"], json::array());
  EXPECT_EQ(file["iter_time_ms"], json::array());
  EXPECT_EQ(file["devices"], json::array());
  EXPECT_EQ(file["calibration"], json::array());
  for (const char* key : {"rank", "world_size", "local_rank"})
    EXPECT_FALSE(file.contains(key));
}

TEST(ProfJsonOfARegion, HasNoLaunchShape) {
  RunRecord run;
  add_event(run, "region");
  const json event = written(run)["events"][0];
  for (const char* key : {"grid", "block", "cluster", "registers", "op"})
    EXPECT_FALSE(event.contains(key)) << key;
  EXPECT_EQ(event["kernel_name"], "");
}

RunRecord& two_events(RunRecord& run, int device_id) {
  add_event(run, "a", device_id).layer_name = "L";
  add_event(run, "a", device_id, 1).layer_name = "L";
  return run;
}

TEST(EventListHash, KeepsItsValueFromVersionToVersion) {
  RunRecord empty;
  EXPECT_EQ(event_list_hash(empty.events), "cbf29ce484222325");  // FNV-1a's offset basis
  RunRecord run;
  EXPECT_EQ(event_list_hash(two_events(run, 0).events), "49ba253c5cee774c");
}

TEST(EventListHash, DependsOnEveryPartOfTheList) {
  RunRecord base;
  two_events(base, 0);
  const auto changed = [](auto&& change) {
    RunRecord run;
    two_events(run, 0);
    change(run);
    return event_list_hash(run.events);
  };
  const std::set<std::string> hashes{
      event_list_hash(base.events),
      changed([](RunRecord& run) { run.events[1].event_name = "b"; }),
      changed([](RunRecord& run) { run.events[1].layer_name = "M"; }),
      changed([](RunRecord& run) { run.events[1].occurrence = 2; }),
      changed([](RunRecord& run) { run.events[1].stream_index = 1; }),
      changed([](RunRecord& run) { run.events[1].device_id = 1; }),
      changed([](RunRecord& run) { add_event(run, "c"); }),
      changed([](RunRecord& run) {  // the letter moves from one word to the next
        run.events[1].event_name = "aL";
        run.events[1].layer_name = "";
      }),
  };
  EXPECT_EQ(hashes.size(), 8U);
}

// Without CUDA_VISIBLE_DEVICES the local rank is the device's number.
TEST(EventListHash, IsEqualOnRanksThatUseDifferentDevices) {
  RunRecord rank0;
  RunRecord rank5;
  EXPECT_EQ(event_list_hash(two_events(rank0, 0).events),
            event_list_hash(two_events(rank5, 5).events));
}

TEST_F(ProfJson, SaysNothingOfACrossCheckAndAWatchThatWereNot) {
  const json file = written(run_);
  EXPECT_FALSE(file.contains(format::kCrossCheck.key));
  EXPECT_FALSE(file.contains(format::kHistory.key));
  EXPECT_FALSE(file[format::kEvents.key][0].contains(format::events::kCrossCheckTimesUs.key));
}

TEST_F(ProfJson, HasTheCrossChecksTimesOfTheLaunchesItKnows) {
  EventRecord& event = add_event(run_, "kernel", 0, 0);
  event.reserve(3);
  for (const std::uint32_t correlation_id : {7U, 0U, 9U}) {
    Sample taken = sample(0.01F, 0, 11);
    taken.correlation_id = correlation_id;
    static_cast<void>(event.add(std::move(taken)));
  }
  WriteFacts facts;
  facts.cross_check = CrossCheck{
      .version = 130001, .launches = 8, .dropped_records = 1, .times_us = {{7, 5.5}, {8, 6.5}}};
  const json file = written(run_, std::move(facts));
  EXPECT_EQ(file[format::kEvents.key].back()[format::events::kCrossCheckTimesUs.key],
            json::parse("[5.5, null, null]"));
  EXPECT_EQ(file[format::kCrossCheck.key], json::parse(R"({"source": "cupti", "version": 130001,
      "launches": 8, "launches_seen_by_us": 8, "dropped_records": 1})"));
}

}  // namespace
}  // namespace inline_prof::record
