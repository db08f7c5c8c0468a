// Calls of cuDNN describe their launches (hosts/host_library_calls_cudnn.cpp).
#include "run_host.hpp"

#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using nlohmann::json;

const Texts kShortCudnn{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"};

json changed(json op, const json& changes) {
  op.update(changes);
  return op;
}

TEST(CudnnCalls, SayTheirShapes) {
  const ProfiledRun run("host_library_calls_cudnn", {.environment = kShortCudnn});
  EXPECT_EQ(run.output, "host ok\n");
  const auto operation = [&](const char* name, int occurrence = 0) {
    return event_named(run.profile, name, occurrence)["op"];
  };
  const json plain = json::parse(R"({"kind": "conv", "n": 4, "c": 8, "h": 20, "w": 30, "k": 16,
      "r": 3, "s": 5, "p": 18, "q": 26, "stride": 1, "pad": 0, "dilation": 1, "groups": 1,
      "type": "f32", "layout": "nchw", "direction": "forward", "algo": 1,
      "source": "cudnnConvolutionForward"})");
  EXPECT_EQ(operation("conv.forward"), plain);
  EXPECT_EQ(operation("conv.forward", 1),
            changed(plain, json::parse(R"({"s": 3, "p": 10, "q": 30, "stride": [2, 1], "pad": 1,
                "groups": 2, "type": "f16", "layout": "nhwc"})")));
  EXPECT_EQ(
      operation("conv.backward_data"),
      changed(plain, {{"direction", "backward_data"}, {"source", "cudnnConvolutionBackwardData"}}));
  EXPECT_EQ(operation("conv.backward_filter"),
            changed(plain, {{"direction", "backward_filter"},
                            {"source", "cudnnConvolutionBackwardFilter"}}));
  // Plans of the backend.
  EXPECT_EQ(operation("cudnn.execute"),
            json::parse(R"({"kind": "conv", "n": 8, "c": 64, "h": 28, "w": 56, "k": 128, "r": 3,
      "s": 3, "p": 28, "q": 56, "stride": 1, "pad": 1, "dilation": 1, "groups": 2, "type": "f16",
      "layout": "nhwc", "direction": "backward_data", "source": "cudnnBackendExecute"})"));
  EXPECT_EQ(operation("cudnn.execute", 1),
            json::parse(R"({"kind": "attention", "batch": 2, "heads": 8, "kv_heads": 4,
      "q_len": 48, "kv_len": 96, "head_dim": 64, "causal": false, "type": "f16",
      "pass": "forward", "source": "cudnnBackendExecute"})"));
}

TEST(CudnnCalls, ReturnTheVendorsError) {
  const ProfiledRun run(
      "host_library_calls_cudnn",
      {.arguments = {"--expect", "5003"},
       .environment =
           joined(kShortCudnn,
                  {"SIMGPU_FAIL=cudnnConvolutionForward:5003,cudnnConvolutionBackwardData:5003,"
                   "cudnnConvolutionBackwardFilter:5003,cudnnBackendExecute:5003"})});
}

}  // namespace
}  // namespace inline_prof::test
