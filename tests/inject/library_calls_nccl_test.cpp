// What NCCL's calls say of their launches, alone and in groups (hosts/host_library_calls_nccl.cpp).
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace inline_prof::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kTwoRanks{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=2",
                                         "SIMGPU_DEVICES=2"};

class ACollective : public testing::Test {
 protected:
  void SetUp() override {
    const HostRun run = run_host(place_, "host_library_calls_nccl", {.environment = kTwoRanks});
    ASSERT_EQ(run.exit_status, 0) << run.output;
    ASSERT_EQ(run.output, "host ok\n");
    profile_ = place_.json();
  }

  // In order of appearance on the device.
  [[nodiscard]] std::vector<json> operations(int device) const {
    std::map<int, json> ordered;
    for (const json& event : profile_["events"]) {
      if (event["device_id"] != device) continue;
      json op = event["op"];
      op["event"] = event["event_name"];
      ordered[event["start_index"].get<int>()] = op;
    }
    std::vector<json> found;
    found.reserve(ordered.size());
    for (const auto& [index, op] : ordered)
      found.push_back(op);
    return found;
  }

  Workplace place_;
  json profile_;
};

TEST_F(ACollective, OutsideAGroupIsAnOperationOfItsOwn) {
  json alone = operations(0).at(0);
  EXPECT_EQ(alone["comm"], operations(1).at(0)["comm"]) << "ncclCommInitAll";
  EXPECT_NE(alone["comm"], operations(0).at(1)["comm"]);
  alone.erase("comm");
  EXPECT_EQ(alone, json::parse(R"({"kind": "collective", "event": "all_reduce", "op": "all_reduce",
      "count": 1024, "bytes": 2048, "type": "f16", "ranks": 2, "sequence": 0,
      "source": "ncclAllReduce"})"));
}

TEST_F(ACollective, HasOneIdentityOnAllRanks) {
  const json comm = operations(0).at(1)["comm"];
  EXPECT_THAT(comm.get<std::string>(), testing::MatchesRegex("0x[0-9a-f]{16}"));
  for (const int device : {0, 1}) {
    const auto all = operations(device);
    ASSERT_EQ(all.size(), 5U);
    for (std::size_t i = 1; i < all.size(); ++i)
      EXPECT_EQ(all[i]["comm"], comm) << all[i];
  }
}

TEST_F(ACollective, CountsTheMessageAsNcclTestsDo) {
  for (const int device : {0, 1}) {
    const json gathered = operations(device).at(1);
    EXPECT_EQ(gathered["op"], "all_gather");
    EXPECT_EQ(gathered["count"], 1024);
    EXPECT_EQ(gathered["bytes"], 2 * 1024 * 2) << "both ranks' parts";
    EXPECT_EQ(gathered["sequence"], 0);
  }
}

TEST_F(ACollective, InAGroupOfEqualOnesIsTheirSum) {
  const json buckets = operations(1).at(2);
  EXPECT_EQ(buckets["event"], "all_reduce");
  EXPECT_EQ(buckets["op"], "all_reduce");
  EXPECT_EQ(buckets["grouped"], 3);
  EXPECT_EQ(buckets["count"], 7 * 1024);
  EXPECT_EQ(buckets["bytes"], 7 * 1024 * 4);
  EXPECT_EQ(buckets["sequence"], 1) << "the first of them";
}

TEST_F(ACollective, InAGroupOfUnlikeOnesIsAGroup) {
  const json exchange = operations(1).at(3);
  EXPECT_EQ(exchange["event"], "group");
  EXPECT_EQ(exchange["op"], "group");
  EXPECT_EQ(exchange["grouped"], 2);
  EXPECT_EQ(exchange["bytes"], 2 * 1024);
  EXPECT_FALSE(exchange.contains("sequence")) << "ranks make different sends";
}

TEST_F(ACollective, OfATypeWithoutANameHasItsBytesOnly) {
  const json broadcast = operations(1).at(4);
  EXPECT_EQ(broadcast["op"], "broadcast");
  EXPECT_EQ(broadcast["bytes"], 1024);
  EXPECT_FALSE(broadcast.contains("type"));
  EXPECT_EQ(broadcast["sequence"], 4) << "after one gather and three reductions";
}

TEST(ACollectiveByCopies, IsOneEventThatTheCopiesBelongTo) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_nccl_alone",
      {.environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=2", "SIMGPU_DEVICES=1"}});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  ASSERT_EQ(profile["events"].size(), 2U) << profile["events"];
  const json& collective = profile["events"][0];
  EXPECT_EQ(collective["event_name"], "all_reduce");
  EXPECT_EQ(collective["op"]["kind"], "collective");
  EXPECT_EQ(collective["op"]["bytes"], 4096);
  EXPECT_EQ(collective["calls"], 1);
  EXPECT_EQ(collective["measured_times_ms"].size(), 2U);
  EXPECT_GT(collective["measured_times_ms"][0].get<double>(), 0.0);
  const json& copy = profile["events"][1];
  EXPECT_EQ(copy["event_name"], "memcpy_DtoD");
  EXPECT_EQ(copy["op"]["kind"], "copy");
  EXPECT_EQ(copy["op"]["bytes"], 1024);
  EXPECT_EQ(copy["calls"], 1);
}

TEST(ACollectiveThatFails, GivesTheHostNcclsError) {
  const Workplace place;
  std::vector<std::string> environment = kTwoRanks;
  environment.emplace_back("SIMGPU_FAIL=ncclAllGather:5:after=8");
  const HostRun run = run_host(place, "host_library_calls_nccl", {.environment = environment});
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.output, testing::HasSubstr("ncclAllGather"));
  EXPECT_THAT(run.output, testing::HasSubstr("(5)"));
}

}  // namespace
}  // namespace inline_prof::test
