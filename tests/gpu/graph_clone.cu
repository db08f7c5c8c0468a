// What the header does not say about clones of graphs (docs/gpu_results.md, section "Graphs").
//
// Prints one `NAME VALUE` a line:
//
//   nodes                   of the graph under test: a chain of short kernels
//   clone_us                host time of cudaGraphClone
//   clone_bytes_per_node    growth of this process' resident memory by many clones
//   instantiate_us          host time of instantiating and uploading the instrumented clone
//   exec_device_bytes       device memory that one more exec takes
//   replay_us               device time of the graph, median
//   instrumented_replay_us  the same of a clone with an event before and after its middle node
//   node_pair_us            that pair's own time, median
//   user_object_held_by_clone  1 if an object retained by the graph lives on in its clone, 0 if not
#include "gpu_check.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace {

using inline_prof::gpu_test::check;

constexpr int kNodes = 500;
constexpr int kMeasuredNode = kNodes / 2;
constexpr int kReplays = 50;
constexpr int kClones = 200;

__global__ void work(float* value) {
  float sum = *value;
  for (int i = 0; i < 500; ++i)
    sum = sum * 0.999F + 1.0F;
  *value = sum;
}

double host_us_of(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double size_pages = 0;
  double resident_pages = 0;
  statm >> size_pages >> resident_pages;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double free_device_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return static_cast<double>(free_bytes);
}

struct Chain {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> nodes;  // in order
};

Chain make_chain(float* value) {
  Chain chain;
  check(cudaGraphCreate(&chain.graph, 0), "cudaGraphCreate");
  void* arguments[] = {&value};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(work);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  for (int i = 0; i < kNodes; ++i) {
    cudaGraphNode_t node = nullptr;
    const cudaGraphNode_t* before = chain.nodes.empty() ? nullptr : &chain.nodes.back();
    check(
        cudaGraphAddKernelNode(&node, chain.graph, before, before == nullptr ? 0 : 1, &parameters),
        "cudaGraphAddKernelNode");
    chain.nodes.push_back(node);
  }
  return chain;
}

// A clone of `chain` in which `start` and `stop` are recorded around the measured node.
cudaGraph_t instrumented_clone(const Chain& chain, cudaEvent_t start, cudaEvent_t stop) {
  cudaGraph_t clone = nullptr;
  check(cudaGraphClone(&clone, chain.graph), "cudaGraphClone");
  cudaGraphNode_t before = nullptr;
  cudaGraphNode_t measured = nullptr;
  cudaGraphNode_t after = nullptr;
  check(cudaGraphNodeFindInClone(&before, chain.nodes[kMeasuredNode - 1], clone), "find");
  check(cudaGraphNodeFindInClone(&measured, chain.nodes[kMeasuredNode], clone), "find");
  check(cudaGraphNodeFindInClone(&after, chain.nodes[kMeasuredNode + 1], clone), "find");

#if CUDART_VERSION >= 13000
  check(cudaGraphRemoveDependencies(clone, &before, &measured, nullptr, 1), "remove dependency");
  check(cudaGraphRemoveDependencies(clone, &measured, &after, nullptr, 1), "remove dependency");
#else
  check(cudaGraphRemoveDependencies(clone, &before, &measured, 1), "remove dependency");
  check(cudaGraphRemoveDependencies(clone, &measured, &after, 1), "remove dependency");
#endif
  cudaGraphNode_t start_node = nullptr;
  cudaGraphNode_t stop_node = nullptr;
  check(cudaGraphAddEventRecordNode(&start_node, clone, &before, 1, start), "add event node");
  check(cudaGraphAddEventRecordNode(&stop_node, clone, &measured, 1, stop), "add event node");
#if CUDART_VERSION >= 13000
  check(cudaGraphAddDependencies(clone, &start_node, &measured, nullptr, 1), "add dependency");
  check(cudaGraphAddDependencies(clone, &stop_node, &after, nullptr, 1), "add dependency");
#else
  check(cudaGraphAddDependencies(clone, &start_node, &measured, 1), "add dependency");
  check(cudaGraphAddDependencies(clone, &stop_node, &after, 1), "add dependency");
#endif
  return clone;
}

double median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return static_cast<double>(values[values.size() / 2]);
}

// Median device time of one replay in us.  `node_pair_us` collects the pair inside, if there is
// one.
double replay_us(cudaGraphExec_t exec, cudaStream_t stream, cudaEvent_t node_start,
                 cudaEvent_t node_stop, std::vector<float>* node_pair_us) {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<float> times_us;
  for (int i = 0; i < kReplays; ++i) {
    check(cudaEventRecord(start, stream), "cudaEventRecord");
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaEventRecord(stop, stream), "cudaEventRecord");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    times_us.push_back(ms * 1e3F);
    if (node_pair_us == nullptr) continue;
    check(cudaEventElapsedTime(&ms, node_start, node_stop), "cudaEventElapsedTime");
    node_pair_us->push_back(ms * 1e3F);
  }
  return median(times_us);
}

void CUDART_CB count_destruction(void* counter) {
  ++*static_cast<int*>(counter);
}

// Whether an object that a graph retains outlives the graph in its clone.
bool clone_holds_user_object(float* value) {
  static int destroyed = 0;
  const Chain chain = make_chain(value);
  cudaUserObject_t object = nullptr;
  check(cudaUserObjectCreate(&object, &destroyed, count_destruction, 1,
                             cudaUserObjectNoDestructorSync),
        "cudaUserObjectCreate");
  check(cudaGraphRetainUserObject(chain.graph, object, 1, cudaGraphUserObjectMove), "retain");
  cudaGraph_t clone = nullptr;
  check(cudaGraphClone(&clone, chain.graph), "cudaGraphClone");
  check(cudaGraphDestroy(chain.graph), "cudaGraphDestroy");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  usleep(100'000);  // destructors run on a thread of the driver's
  const bool held = destroyed == 0;
  check(cudaGraphDestroy(clone), "cudaGraphDestroy");
  return held;
}

void measure_clones(const Chain& chain) {
  std::vector<cudaGraph_t> clones(kClones);
  const double before_bytes = resident_bytes();
  const auto start = std::chrono::steady_clock::now();
  for (cudaGraph_t& clone : clones)
    check(cudaGraphClone(&clone, chain.graph), "cudaGraphClone");
  std::printf("clone_us %.1f\n", host_us_of(start) / kClones);
  std::printf("clone_bytes_per_node %.0f\n", (resident_bytes() - before_bytes) / kClones / kNodes);
  for (const cudaGraph_t clone : clones)
    check(cudaGraphDestroy(clone), "cudaGraphDestroy");
}

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  cudaStream_t stream = nullptr;
  float* value = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaMalloc(&value, sizeof *value), "cudaMalloc");
  check(cudaMemset(value, 0, sizeof *value), "cudaMemset");

  const Chain chain = make_chain(value);
  std::printf("nodes %d\n", kNodes);
  measure_clones(chain);

  cudaGraphExec_t plain = nullptr;
  check(cudaGraphInstantiate(&plain, chain.graph, 0), "cudaGraphInstantiate");
  std::printf("replay_us %.2f\n", replay_us(plain, stream, nullptr, nullptr, nullptr));

  cudaEvent_t node_start = nullptr;
  cudaEvent_t node_stop = nullptr;
  check(cudaEventCreate(&node_start), "cudaEventCreate");
  check(cudaEventCreate(&node_stop), "cudaEventCreate");
  const cudaGraph_t clone = instrumented_clone(chain, node_start, node_stop);
  cudaGraphExec_t instrumented = nullptr;
  const double free_before = free_device_bytes();
  const auto start = std::chrono::steady_clock::now();
  check(cudaGraphInstantiate(&instrumented, clone, 0), "cudaGraphInstantiate");
  check(cudaGraphUpload(instrumented, stream), "cudaGraphUpload");
  std::printf("instantiate_us %.1f\n", host_us_of(start));
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::printf("exec_device_bytes %.0f\n", free_before - free_device_bytes());
  std::vector<float> node_pair_us;
  std::printf("instrumented_replay_us %.2f\n",
              replay_us(instrumented, stream, node_start, node_stop, &node_pair_us));
  std::printf("node_pair_us %.2f\n", median(node_pair_us));
  std::printf("user_object_held_by_clone %d\n", clone_holds_user_object(value) ? 1 : 0);
  check(cudaGraphExecDestroy(instrumented), "cudaGraphExecDestroy");
  check(cudaGraphExecDestroy(plain), "cudaGraphExecDestroy");
  return 0;
}
