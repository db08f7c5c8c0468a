// Calls that must come close upon each other, as a program in C++ makes them: a list of steps, made
// in a row (gpu.py).
#include <inline_prof/profile.hpp>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>

namespace {

enum Kind : int { kLaunch, kRecord, kQuery, kReplay, kPush, kPop };

struct Step {
  Kind kind;
  unsigned blocks;
  unsigned threads;
  int is_pending;  // what kQuery answers
  void* object;    // a kernel, an event, an executable graph, or the name of a range
  void** arguments;
  CUstream stream;
};

CUresult make(Step& step) {
  switch (step.kind) {
    case kLaunch:
      return cuLaunchKernel(static_cast<CUfunction>(step.object), step.blocks, 1, 1, step.threads,
                            1, 1, 0, step.stream, step.arguments, nullptr);
    case kRecord:
      return cuEventRecord(static_cast<CUevent>(step.object), step.stream);
    case kQuery:
      step.is_pending = cuEventQuery(static_cast<CUevent>(step.object)) == CUDA_ERROR_NOT_READY;
      return CUDA_SUCCESS;
    case kReplay:
      return cuGraphLaunch(static_cast<CUgraphExec>(step.object), step.stream);
    case kPush:
      nvtxRangePushA(static_cast<const char*>(step.object));
      return CUDA_SUCCESS;
    case kPop:
      nvtxRangePop();
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void mark_iteration() {
  PROFILE_ITERATION();
}

// Writes how long all took; returns what the first step answers that fails.
EXPORTED CUresult make_steps(double* took_ns, Step* steps, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const CUresult result = make(steps[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  *took_ns = took.count();
  return CUDA_SUCCESS;
}
