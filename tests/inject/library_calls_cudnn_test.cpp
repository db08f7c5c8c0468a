// What cuDNN's calls say of their launches (hosts/host_library_calls_cudnn.cpp).
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kShortCudnn{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"};

json operation(const json& profile, const std::string& name, int occurrence) {
  for (const json& event : profile["events"]) {
    if (event["event_name"] == name && event["met_times_within_this_stream"] == occurrence) {
      return event["op"];
    }
  }
  throw std::runtime_error("no event " + name);
}

json changed(json op, const json& changes) {
  op.update(changes);
  return op;
}

TEST(AConvolution, SaysItsShape) {
  const Workplace place;
  const HostRun run = run_host(place, "host_library_calls_cudnn", {.environment = kShortCudnn});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok\n");
  const json profile = place.json();
  const json plain = json::parse(R"({"kind": "conv", "n": 4, "c": 8, "h": 20, "w": 30, "k": 16,
      "r": 3, "s": 5, "p": 18, "q": 26, "stride": 1, "pad": 0, "dilation": 1, "groups": 1,
      "type": "f32", "layout": "nchw", "direction": "forward", "algo": 1,
      "source": "cudnnConvolutionForward"})");
  EXPECT_EQ(operation(profile, "conv.forward", 0), plain);
  EXPECT_EQ(operation(profile, "conv.forward", 1), changed(plain, {{"s", 3},
                                                                   {"p", 10},
                                                                   {"q", 30},
                                                                   {"stride", {2, 1}},
                                                                   {"pad", 1},
                                                                   {"groups", 2},
                                                                   {"type", "f16"},
                                                                   {"layout", "nhwc"}}));
  EXPECT_EQ(
      operation(profile, "conv.backward_data", 0),
      changed(plain, {{"direction", "backward_data"}, {"source", "cudnnConvolutionBackwardData"}}));
  EXPECT_EQ(operation(profile, "conv.backward_filter", 0),
            changed(plain, {{"direction", "backward_filter"},
                            {"source", "cudnnConvolutionBackwardFilter"}}));
}

TEST(AConvolution, OfABackendPlanSaysItsShape) {
  const Workplace place;
  const HostRun run = run_host(place, "host_library_calls_cudnn", {.environment = kShortCudnn});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(operation(place.json(), "cudnn.execute", 0),
            json::parse(R"({"kind": "conv", "n": 8, "c": 64, "h": 28, "w": 56, "k": 128, "r": 3,
      "s": 3, "p": 28, "q": 56, "stride": 1, "pad": 1, "dilation": 1, "groups": 2, "type": "f16",
      "layout": "nhwc", "direction": "backward_data", "source": "cudnnBackendExecute"})"));
}

TEST(Attention, OfABackendPlanSaysItsShape) {
  const Workplace place;
  const HostRun run = run_host(place, "host_library_calls_cudnn", {.environment = kShortCudnn});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(operation(place.json(), "cudnn.execute", 1),
            json::parse(R"({"kind": "attention", "batch": 2, "heads": 8, "kv_heads": 4,
      "q_len": 48, "kv_len": 96, "head_dim": 64, "causal": false, "type": "f16",
      "pass": "forward", "source": "cudnnBackendExecute"})"));
}

TEST(AConvolution, ReturnsTheVendorsError) {
  const Workplace place;
  std::vector<std::string> environment = kShortCudnn;
  environment.emplace_back(
      "SIMGPU_FAIL=cudnnConvolutionForward:5003,cudnnConvolutionBackwardData:5003,"
      "cudnnConvolutionBackwardFilter:5003,cudnnBackendExecute:5003");
  const HostRun run = run_host(place, "host_library_calls_cudnn",
                               {.arguments = {"--expect", "5003"}, .environment = environment});
  EXPECT_EQ(run.exit_status, 0) << run.output;
}

}  // namespace
}  // namespace inline_prof::test
