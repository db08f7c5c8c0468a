// NCCL's calls, alone, in groups, by copies and in graphs (hosts/host_nccl.cpp).
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

HostOptions ranks(const char* mode, const Texts& more = {}) {
  return {.arguments = {mode},
          .environment =
              joined({"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=2", "SIMGPU_DEVICES=2"}, more)};
}

// Operations in order of appearance on the device.
std::vector<json> operations_of(const json& profile, int device) {
  std::map<int, json> ordered;
  for (const json& event : profile["events"]) {
    if (event["device_id"] != device) continue;
    json& op = ordered[event["start_index"].get<int>()] = event["op"];
    op["event"] = event["event_name"];
  }
  std::vector<json> found;
  found.reserve(ordered.size());
  for (const auto& [index, op] : ordered)
    found.push_back(op);
  return found;
}

// Every member of `expected` is in `found`.
void expect_members(const json& found, const json& expected) {
  for (const auto& [key, value] : expected.items())
    EXPECT_EQ(found.value(key, json()), value) << key << " in " << found;
}

TEST(Collectives, SayWhatTheyMoveAndWithWhom) {
  const ProfiledRun run("host_nccl", ranks("calls"));
  ASSERT_EQ(run.output, "host ok\n");
  const auto first = operations_of(run.profile, 0);
  const auto second = operations_of(run.profile, 1);
  ASSERT_EQ(first.size(), 6U);
  ASSERT_EQ(second.size(), 5U);

  json alone = first[0];
  EXPECT_EQ(alone["comm"], second[0]["comm"]) << "ncclCommInitAll";
  EXPECT_NE(alone["comm"], first[1]["comm"]);
  alone.erase("comm");
  EXPECT_EQ(alone, json::parse(R"({"kind": "collective", "event": "all_reduce", "op": "all_reduce",
      "count": 1024, "bytes": 2048, "type": "f16", "ranks": 2, "sequence": 0,
      "source": "ncclAllReduce"})"));

  // One identity on all ranks; the message's size as nccl-tests give it, of both ranks' parts.
  EXPECT_THAT(first[1]["comm"].get<std::string>(), MatchesRegex("0x[0-9a-f]{16}"));
  for (const auto& all : {first, second}) {
    for (std::size_t i = 1; i < 5; ++i)
      EXPECT_EQ(all[i]["comm"], first[1]["comm"]) << all[i];
    expect_members(
        all[1], {{"op", "all_gather"}, {"count", 1024}, {"bytes", 2 * 1024 * 2}, {"sequence", 0}});
  }
  // A group of equal calls is their sum, with the number of the first.
  expect_members(second[2], {{"event", "all_reduce"},
                             {"op", "all_reduce"},
                             {"grouped", 3},
                             {"count", 7 * 1024},
                             {"bytes", 7 * 1024 * 4},
                             {"sequence", 1}});
  expect_members(second[3],
                 {{"event", "send_recv"}, {"op", "send_recv"}, {"grouped", 2}, {"bytes", 1024}});
  EXPECT_FALSE(second[3].contains("sequence")) << "ranks make different sends";
  // After one gather and three reductions; its type has no name.
  expect_members(second[4], {{"op", "broadcast"}, {"bytes", 1024}, {"sequence", 4}});
  EXPECT_FALSE(second[4].contains("type"));
  // Both ranks' on streams of one handle, but the bytes of one.
  expect_members(first[5], {{"op", "reduce"}, {"count", 1024}, {"bytes", 4096}, {"sequence", 1}});
  EXPECT_FALSE(first[5].contains("grouped"));
}

TEST(ACollectiveByCopies, IsOneEventThatTheCopiesBelongTo) {
  const ProfiledRun run("host_nccl", ranks("copies", {"SIMGPU_DEVICES=1"}));
  ASSERT_EQ(run.profile["events"].size(), 2U) << run.profile["events"];
  const json& collective = run.profile["events"][0];
  EXPECT_EQ(collective["event_name"], "all_reduce");
  expect_members(collective["op"], {{"kind", "collective"}, {"bytes", 4096}});
  EXPECT_EQ(collective["calls"], 1);
  EXPECT_EQ(collective["measured_times_ms"].size(), 2U);
  EXPECT_GT(collective["measured_times_ms"][0].get<double>(), 0.0);
  const json& copy = run.profile["events"][1];
  EXPECT_EQ(copy["event_name"], "memcpy_DtoD");
  expect_members(copy["op"], {{"kind", "copy"}, {"bytes", 1024}});
  EXPECT_EQ(copy["calls"], 1);
}

TEST(ACollectiveThatFails, GivesTheHostNcclsError) {
  const HostRun run =
      run_host("host_nccl", ranks("calls", {"SIMGPU_FAIL=ncclAllGather:5:after=8"}));
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.output, HasSubstr("ncclAllGather"));
  EXPECT_THAT(run.output, HasSubstr("(5)"));
}

// NCCL waits until every graph that holds one of its launches is gone, copies of ours among them.
class GraphsOfCollectives : public TestWithParam<const char*> {};

TEST_P(GraphsOfCollectives, AreCopiedOnlyWhileTheHostKeepsThem) {
  const ProfiledRun run(
      "host_nccl",
      ranks(GetParam(), {"SIMGPU_HANG_LIMIT_S=5", "INLINE_PROF_WARMUP=10", "INLINE_PROF_REPEAT=10",
                         "INLINE_PROF_OVERHEAD=0", "PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT=3"}));
  EXPECT_THAT(run.output, HasSubstr("host ok"));
  ASSERT_EQ(run.profile["events"].size(), 2U) << run.profile["events"].dump(1);
  for (const json& event : run.profile["events"]) {
    EXPECT_EQ(event["measured_times_ms"].size(), 10U);
    if (std::string(GetParam()) == "keep") {
      EXPECT_EQ(event["op"]["kind"], "collective");
    } else {
      EXPECT_EQ(event["flags"], json::array({"graph_whole"}));
      EXPECT_EQ(event["reason"], "others wait until all its copies are gone (NCCL, user objects)");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TheHost, GraphsOfCollectives, Values("keep", "destroy"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace inline_prof::test
