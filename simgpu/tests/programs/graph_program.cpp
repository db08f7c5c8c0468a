// A graph with two nodes of one kernel and a child graph, launched as it is and as an instrumented
// clone, with which an event pair times the second node.  Prints "node: ... us", or the first call
// that fails.
#include "scenes.hpp"

#include <cuda.h>

#include <vector>

namespace {

constexpr unsigned kBlocksFor10us = 8000;
constexpr unsigned kBlocksFor100us = 98000;

CUgraphNode add_kernel(CUgraph graph, const std::vector<CUgraphNode>& after, CUfunction kernel,
                       unsigned blocks) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = kernel;
  parameters.gridDimX = blocks;
  parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = 32;
  parameters.blockDimY = parameters.blockDimZ = 1;
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

void launch(CUgraph graph, CUstream stream) {
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
}

}  // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module,
                         "//\n.version 8.0\n.target sm_90\n.visible .entry work()\n{ ret; }\n"));
  CHECK(cuModuleGetFunction(&kernel, module, "work"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

  CUgraph child = nullptr;
  CHECK(cuGraphCreate(&child, 0));
  add_kernel(child, {}, kernel, kBlocksFor10us);
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  const CUgraphNode first = add_kernel(graph, {}, kernel, kBlocksFor100us);
  CUgraphNode timed = add_kernel(graph, {first}, kernel, kBlocksFor100us);
  CUgraphNode holder = nullptr;
  CHECK(cuGraphAddChildGraphNode(&holder, graph, &timed, 1, child));
  launch(graph, stream);

  CUgraph clone = nullptr;
  CHECK(cuGraphClone(&clone, graph));
  CUgraphNode before = nullptr;
  CHECK(cuGraphNodeFindInClone(&before, first, clone));
  CUgraphNode node = nullptr;
  CHECK(cuGraphNodeFindInClone(&node, timed, clone));
  CUevent start = nullptr;
  CUevent stop = nullptr;
  CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&stop, CU_EVENT_DEFAULT));
  CUgraphNode at_start = nullptr;
  CUgraphNode at_stop = nullptr;
  CHECK(cuGraphAddEventRecordNode(&at_start, clone, &before, 1, start));
  CHECK(cuGraphAddDependencies(clone, &at_start, &node, nullptr, 1));
  CHECK(cuGraphAddEventRecordNode(&at_stop, clone, &node, 1, stop));
  launch(clone, stream);
  float milliseconds = 0;
  CHECK(cuEventElapsedTime(&milliseconds, start, stop));
  std::printf("node: %.3f us\n", static_cast<double>(milliseconds) * 1e3);
  return 0;
}
