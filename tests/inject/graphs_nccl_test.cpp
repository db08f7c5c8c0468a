// Collectives inside graphs: NCCL waits until every graph that holds one of its launches is gone,
// copies of ours among them.
#include "run_host.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::test {
namespace {

using nlohmann::json;

struct NcclRun {
  HostRun run;
  json profile;
};

NcclRun run_ranks(const Workplace& place, const std::string& graphs) {
  NcclRun result;
  result.run = run_host(
      place, "host_graph_nccl",
      {.arguments = {graphs},
       .environment = {"SIMGPU_DEVICES=2", "SIMGPU_HANG_LIMIT_S=5", "INLINE_PROF_REPEAT=10",
                       "INLINE_PROF_OVERHEAD=0", "PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT=3"}});
  EXPECT_EQ(result.run.exit_status, 0) << result.run.output;
  EXPECT_NE(result.run.output.find("host ok"), std::string::npos) << result.run.output;
  result.profile = place.json();
  return result;
}

TEST(GraphsOfCollectives, AreTimedWhileTheHostKeepsThem) {
  const Workplace place;
  const auto [run, profile] = run_ranks(place, "keep");
  ASSERT_EQ(profile["events"].size(), 2U) << profile["events"].dump(1);
  for (const json& event : profile["events"]) {
    EXPECT_EQ(event["op"]["kind"], "collective");
    EXPECT_EQ(event["measured_times_ms"].size(), 10U);
  }
}

TEST(GraphsOfCollectives, HaveNoCopiesOnceTheHostHasDestroyedThem) {
  const Workplace place;
  const auto [run, profile] = run_ranks(place, "destroy");
  ASSERT_EQ(profile["events"].size(), 2U) << profile["events"].dump(1);
  for (const json& event : profile["events"]) {
    EXPECT_EQ(event["flags"], json::array({"graph_whole"}));
    EXPECT_EQ(event["reason"], "others wait until all its copies are gone (NCCL, user objects)");
    EXPECT_EQ(event["measured_times_ms"].size(), 10U);
  }
}

}  // namespace
}  // namespace inline_prof::test
