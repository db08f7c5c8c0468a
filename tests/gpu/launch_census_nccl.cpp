// An application that launches through NCCL only, on one GPU; see launch_census.cu.  Calls by
// themselves, in a group, and captured.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterations = 25;
constexpr std::size_t kCount = std::size_t{1} << 18;

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
  std::exit(1);
}

float* take_memory() {
  void* memory = nullptr;
  check(cudaMalloc(&memory, kCount * sizeof(float)), "cudaMalloc");
  check(cudaMemset(memory, 0, kCount * sizeof(float)), "cudaMemset");
  return static_cast<float*>(memory);
}

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const float* from = take_memory();
  float* to = take_memory();
  ncclComm_t rank = nullptr;
  const int device = 0;
  check_nccl(ncclCommInitAll(&rank, 1, &device), "ncclCommInitAll");

  const auto reduce = [&] {
    check_nccl(ncclAllReduce(from, to, kCount, ncclFloat32, ncclAvg, rank, stream),
               "ncclAllReduce");
  };
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  reduce();
  check(cudaStreamEndCapture(stream, &graph), "end capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    reduce();
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    reduce();
    check_nccl(ncclAllGather(from, to, kCount, ncclFloat32, rank, stream), "ncclAllGather");
    check_nccl(ncclReduceScatter(from, to, kCount, ncclFloat32, ncclSum, rank, stream),
               "ncclReduceScatter");
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  check_nccl(ncclCommDestroy(rank), "ncclCommDestroy");
  return 0;
}
