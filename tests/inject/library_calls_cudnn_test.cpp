// A plan of cuDNN's backend describes its launches (hosts/host_library_calls_cudnn.cpp).
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

const Texts kShortCudnn{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"};

TEST(CudnnCalls, SayTheirShapes) {
  const ProfiledRun run("host_library_calls_cudnn", {.environment = kShortCudnn});
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_EQ(event_named(run.profile, "cudnn.execute")["op"],
            json::parse(R"({"kind": "attention", "batch": 2, "heads": 8, "kv_heads": 4,
      "q_len": 48, "kv_len": 96, "head_dim": 64, "causal": false, "type": "f16",
      "pass": "forward", "source": "cudnnBackendExecute"})"));
}

TEST(CudnnCalls, ReturnTheVendorsError) {
  const ProfiledRun run(
      "host_library_calls_cudnn",
      {.arguments = {"--expect=5003"},
       .environment = joined(kShortCudnn, {"SIMGPU_FAIL=cudnnBackendExecute:5003"})});
}

}  // namespace
}  // namespace inline_prof::test
