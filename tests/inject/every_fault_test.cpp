// Each call that we make of the driver fails in turn, with each code that it may plausibly give.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using testing::EndsWith;
using testing::StartsWith;

struct Fault {
  const char* function;
  // How many calls fail, from the first: where the application makes the call as well, the ones
  // that come before its own (calibration, when the context is made).
  int count;
};

constexpr int kAll = 1'000'000;

// CUDA_ERROR_...: INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, DEINITIALIZED, NO_DEVICE,
// INVALID_DEVICE, INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, ILLEGAL_ADDRESS, LAUNCH_FAILED,
// NOT_SUPPORTED, STREAM_CAPTURE_UNSUPPORTED, CONTEXT_IS_DESTROYED, UNKNOWN.
// A run takes a second under a sanitizer, which sees our code do the same after most of them.
const std::vector<int> kCodes =
    INLINE_PROF_TEST_SANITIZED
        ? std::vector{1, 2, 600, 700, 999}
        : std::vector{1, 2, 3, 4, 100, 101, 201, 400, 600, 700, 719, 801, 900, 709, 999};

class ADriverCallThatFails : public testing::TestWithParam<Fault> {};

TEST_P(ADriverCallThatFails, WithAnyCodeIsNotTheHostsAffair) {
  const auto [function, count] = GetParam();
  for (const int code : kCodes) {
    const Workplace place;
    const std::string rule = std::string("SIMGPU_FAIL=") + function + ":" + std::to_string(code) +
                             ":count=" + std::to_string(count);
    const HostRun run =
        run_host(place, "host_training",
                 {.arguments = {"--iterations=40"},
                  .environment = {rule, "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5"}});
    EXPECT_EQ(run.exit_status, 0) << rule << ": " << run.output;
    EXPECT_THAT(run.output, EndsWith("host ok, 200 launches\n")) << rule;
    // What is said beside is ours, and says so.
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("host ok", 0) == 0) continue;
      EXPECT_THAT(line, StartsWith("inline_prof: ")) << rule;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ADriverCallThatFails,
    testing::Values(Fault{"cuEventCreate", kAll}, Fault{"cuEventDestroy", kAll},
                    Fault{"cuEventRecord", kAll}, Fault{"cuEventQuery", kAll},
                    Fault{"cuEventElapsedTime", kAll}, Fault{"cuCtxPushCurrent", kAll},
                    Fault{"cuCtxPopCurrent", kAll}, Fault{"cuCtxGetDevice", kAll},
                    Fault{"cuStreamIsCapturing", kAll}, Fault{"cuDeviceGetAttribute", kAll},
                    Fault{"cuDeviceGetName", kAll}, Fault{"cuDeviceGetUuid", kAll},
                    Fault{"cuDeviceTotalMem", kAll}, Fault{"cuDriverGetVersion", kAll},
                    Fault{"cuThreadExchangeStreamCaptureMode", kAll}, Fault{"cuStreamGetCtx", kAll},
                    Fault{"cuStreamDestroy", kAll}, Fault{"cuStreamWaitValue32", kAll},
                    Fault{"cuMemHostAlloc", kAll}, Fault{"cuMemHostGetDevicePointer", kAll},
                    Fault{"cuMemFreeHost", kAll}, Fault{"cuModuleUnload", kAll},
                    Fault{"cuFuncGetName", kAll}, Fault{"cuKernelGetName", kAll},
                    Fault{"cuFuncGetAttribute", kAll},
                    Fault{"cuOccupancyMaxActiveBlocksPerMultiprocessor", kAll},
                    Fault{"cuDevicePrimaryCtxGetState", kAll}, Fault{"cuStreamCreate", 1},
                    Fault{"cuModuleLoadData", 1}, Fault{"cuModuleGetFunction", 1},
                    Fault{"cuLaunchKernel", 1}),
    [](const auto& row) { return std::string(row.param.function); });

}  // namespace
}  // namespace inline_prof::test
