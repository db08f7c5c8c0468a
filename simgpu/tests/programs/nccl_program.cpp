// Ranks of the simulated NCCL: threads of this process, processes, or both roles of one thread.
//
//   nccl_program threads|processes|one_thread|pairs|split|absent|arguments|captured|persistent
//
// Each rank prints "rank N: ... us", what an event pair around its collective read.  Rank 1 of two
// comes 1002 us late.
#include "scenes.hpp"

#include <cuda.h>
#include <nccl.h>

#include <array>
#include <barrier>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t kFloats = 9'000'000;  // 36 MB

// A stream of one device, a kernel for it, and a buffer.
struct Gpu {
  CUcontext context = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr buffer = 0;
  CUevent start = nullptr, stop = nullptr;

  explicit Gpu(int ordinal) {
    CUdevice device = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    use();
    CUmodule module = nullptr;
    CHECK(cuModuleLoadData(&module,
                           "//\n.version 8.0\n.target sm_90\n.visible .entry busy()\n{ ret; }\n"));
    CHECK(cuModuleGetFunction(&kernel, module, "busy"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&buffer, kFloats * sizeof(float)));
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&stop, CU_EVENT_DEFAULT));
  }
  void use() const { CHECK(cuCtxSetCurrent(context)); }
  // 1002 us
  void occupy() const {
    CHECK(cuLaunchKernel(kernel, 1'000'000, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  }
  void* data() const { return reinterpret_cast<void*>(buffer); }
  [[nodiscard]] double elapsed_us() const {
    CHECK(cuEventSynchronize(stop));
    float ms = 0;
    CHECK(cuEventElapsedTime(&ms, start, stop));
    return static_cast<double>(ms) * 1e3;
  }
};

double all_reduce_us(const Gpu& gpu, ncclComm_t comm, bool late) {
  if (late) gpu.occupy();
  CHECK(cuEventRecord(gpu.start, gpu.stream));
  CHECK(ncclAllReduce(gpu.data(), gpu.data(), kFloats, ncclFloat32, ncclSum, comm, gpu.stream));
  CHECK(cuEventRecord(gpu.stop, gpu.stream));
  return gpu.elapsed_us();
}

double run_rank(int rank, int device, const ncclUniqueId& id) {
  const Gpu gpu(device);
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, 2, id, rank));
  const double us = all_reduce_us(gpu, comm, rank == 1);
  CHECK(ncclCommDestroy(comm));
  return us;
}

void print(int rank, double us) {
  std::printf("rank %d: %.3f us\n", rank, us);
}

// Threads share the host's clock, and every call moves it.  So rank 1 begins its kernel right after
// rank 0 has begun to count, and no rank waits, which moves the clock far, before both have said
// all that they want.  In between they call at the same time.
double run_thread(int rank, const ncclUniqueId& id, std::barrier<>& together) {
  const Gpu gpu(rank);
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, 2, id, rank));
  if (rank == 0) CHECK(cuEventRecord(gpu.start, gpu.stream));
  together.arrive_and_wait();
  if (rank == 1) gpu.occupy();
  together.arrive_and_wait();
  if (rank == 1) CHECK(cuEventRecord(gpu.start, gpu.stream));
  CHECK(ncclAllReduce(gpu.data(), gpu.data(), kFloats, ncclFloat32, ncclSum, comm, gpu.stream));
  CHECK(cuEventRecord(gpu.stop, gpu.stream));
  together.arrive_and_wait();
  const double us = gpu.elapsed_us();
  CHECK(ncclCommDestroy(comm));
  return us;
}

void threads() {
  ncclUniqueId id{};
  CHECK(ncclGetUniqueId(&id));
  std::barrier together(2);
  std::array<double, 2> us{};
  std::thread other([&] { us[1] = run_thread(1, id, together); });
  us[0] = run_thread(0, id, together);
  other.join();
  print(0, us[0]);
  print(1, us[1]);
}

// The children start before any CUDA call, as ranks do.
template <typename Work>
std::vector<int> in_two_processes(Work&& work) {
  ncclUniqueId id{};
  CHECK(ncclGetUniqueId(&id));
  std::array<pid_t, 2> children{};
  for (int rank = 0; rank < 2; ++rank) {
    children[static_cast<std::size_t>(rank)] = fork();
    if (children[static_cast<std::size_t>(rank)] == 0) {
      work(rank, id);
      std::fflush(stdout);
      std::exit(0);
    }
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return statuses;
}

void processes() {
  const auto statuses = in_two_processes(
      [](int rank, const ncclUniqueId& id) { print(rank, run_rank(rank, 0, id)); });
  if (statuses != std::vector{0, 0}) std::exit(1);
}

// Rank 1 joins and dies: rank 0 gets an error instead of waiting for ever.
void absent() {
  in_two_processes([](int rank, const ncclUniqueId& id) {
    const Gpu gpu(0);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 2, id, rank));
    if (rank == 1) _exit(0);
    CHECK(ncclAllReduce(gpu.data(), gpu.data(), 4, ncclFloat32, ncclSum, comm, gpu.stream));
    std::printf("synchronise %d\n", static_cast<int>(cuStreamSynchronize(gpu.stream)));
    CHECK(ncclCommAbort(comm));
    std::printf("after the abort %d\n", static_cast<int>(cuStreamSynchronize(gpu.stream)));
  });
}

void one_thread() {
  const Gpu first(0), second(1);
  std::array<ncclComm_t, 2> comms{};
  CHECK(ncclCommInitAll(comms.data(), 2, nullptr));
  second.use();
  second.occupy();
  const std::array<const Gpu*, 2> gpus{&first, &second};
  for (const Gpu* gpu : gpus) {
    gpu->use();
    CHECK(cuEventRecord(gpu->start, gpu->stream));
  }
  CHECK(ncclGroupStart());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(ncclAllReduce(gpus[i]->data(), gpus[i]->data(), kFloats, ncclFloat32, ncclSum, comms[i],
                        gpus[i]->stream));
  }
  CHECK(ncclGroupEnd());
  for (std::size_t i = 0; i < 2; ++i) {
    gpus[i]->use();
    CHECK(cuEventRecord(gpus[i]->stop, gpus[i]->stream));
  }
  for (int i = 0; i < 2; ++i)
    print(i, gpus[static_cast<std::size_t>(i)]->elapsed_us());
  for (const ncclComm_t comm : comms)
    CHECK(ncclCommDestroy(comm));
}

// Both send and receive in one group: one kernel each.
void pairs() {
  in_two_processes([](int rank, const ncclUniqueId& id) {
    const Gpu gpu(0);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 2, id, rank));
    if (rank == 1) gpu.occupy();
    void* registered = nullptr;
    CHECK(ncclCommRegister(comm, gpu.data(), kFloats * sizeof(float), &registered));
    CHECK(cuEventRecord(gpu.start, gpu.stream));
    CHECK(ncclGroupStart());
    CHECK(ncclSend(gpu.data(), kFloats / 2, ncclFloat32, 1 - rank, comm, gpu.stream));
    CHECK(ncclRecv(gpu.data(), kFloats / 2, ncclFloat32, 1 - rank, comm, gpu.stream));
    CHECK(ncclGroupEnd());
    CHECK(cuEventRecord(gpu.stop, gpu.stream));
    CHECK(ncclCommDeregister(comm, registered));
    print(rank, gpu.elapsed_us());
    CHECK(ncclCommDestroy(comm));
  });
}

// Each rank alone, then both in the other order.
void split() {
  in_two_processes([](int rank, const ncclUniqueId& id) {
    const Gpu gpu(0);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 2, id, rank));
    for (const bool is_alone : {true, false}) {
      ncclComm_t part = nullptr;
      int count = 0, own = -1;
      CHECK(ncclCommSplit(comm, is_alone ? rank : 0, -rank, &part, nullptr));
      CHECK(ncclCommCount(part, &count));
      CHECK(ncclCommUserRank(part, &own));
      std::printf("rank %d: %d of %d\n", rank, own, count);
      CHECK(ncclCommDestroy(part));
    }
    ncclComm_t none = comm;
    CHECK(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &none, nullptr));
    if (none != nullptr) std::printf("rank %d: a communicator\n", rank);
    CHECK(ncclCommDestroy(comm));
  });
}

// Records the program's all-reduce into a graph.
CUgraph capture_all_reduce(const Gpu& gpu, ncclComm_t comm) {
  CHECK(cuStreamBeginCapture(gpu.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(ncclAllReduce(gpu.data(), gpu.data(), kFloats, ncclFloat32, ncclSum, comm, gpu.stream));
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(gpu.stream, &graph));
  return graph;
}

// Each rank launches its graph twice; rank 1 is late for the second.
void captured() {
  in_two_processes([](int rank, const ncclUniqueId& id) {
    const Gpu gpu(0);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 2, id, rank));
    const CUgraph graph = capture_all_reduce(gpu, comm);
    CUgraphExec exec = nullptr;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, gpu.stream));
    CHECK(cuStreamSynchronize(gpu.stream));
    if (rank == 1) gpu.occupy();
    CHECK(cuEventRecord(gpu.start, gpu.stream));
    CHECK(cuGraphLaunch(exec, gpu.stream));
    CHECK(cuEventRecord(gpu.stop, gpu.stream));
    print(rank, gpu.elapsed_us());
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(ncclCommDestroy(comm));
  });
}

// The communicator waits for the graph, and for a clone of it.
void persistent() {
  const Gpu gpu(0);
  std::array<ncclComm_t, 2> comms{};
  CHECK(ncclCommInitAll(comms.data(), 2, nullptr));
  gpu.use();
  const CUgraph graph = capture_all_reduce(gpu, comms[0]);
  CUgraph clone = nullptr;
  CHECK(cuGraphClone(&clone, graph));
  CHECK(cuGraphDestroy(graph));
  std::printf("with a clone: %s\n", ncclGetErrorString(ncclCommDestroy(comms[0])));
  CHECK(cuGraphDestroy(clone));
  std::printf("without: %s\n", ncclGetErrorString(ncclCommDestroy(comms[0])));
  CHECK(ncclCommDestroy(comms[1]));
}

void show(const char* what, ncclResult_t result) {
  std::printf("%s: %s\n", what, ncclGetErrorString(result));
}

void arguments() {
  int version = 0;
  CHECK(ncclGetVersion(&version));
  std::printf("version %s\n", version == NCCL_VERSION_CODE ? "of the header" : "unknown");
  const Gpu gpu(0);
  std::array<ncclComm_t, 2> comms{};
  CHECK(ncclCommInitAll(comms.data(), 2, nullptr));
  int count = 0, rank = 0, device = 0;
  CHECK(ncclCommCount(comms[1], &count));
  CHECK(ncclCommUserRank(comms[1], &rank));
  CHECK(ncclCommCuDevice(comms[1], &device));
  std::printf("rank %d of %d on device %d\n", rank, count, device);
  const auto reduce = [&](ncclComm_t comm, ncclDataType_t type, ncclRedOp_t op) {
    return ncclReduce(gpu.data(), gpu.data(), 4, type, op, 0, comm, gpu.stream);
  };
  show("no communicator", reduce(nullptr, ncclFloat32, ncclSum));
  show("type", reduce(comms[0], ncclNumTypes, ncclSum));
  show("reduction", reduce(comms[0], ncclFloat32, ncclNumOps));
  show("root", ncclBcast(gpu.data(), 4, ncclFloat32, 2, comms[0], gpu.stream));
  show("buffer", ncclAllGather(nullptr, gpu.data(), 4, ncclFloat32, comms[0], gpu.stream));
  show("nothing to do", ncclAllGather(nullptr, nullptr, 0, ncclFloat32, comms[0], gpu.stream));
  show("group end", ncclGroupEnd());
  float half = 0.5F;
  ncclRedOp_t scaled{};
  CHECK(ncclRedOpCreatePreMulSum(&scaled, &half, ncclFloat32, ncclScalarHostImmediate, comms[0]));
  CHECK(ncclRedOpDestroy(scaled, comms[0]));
  show("destroyed reduction", reduce(comms[0], ncclFloat32, scaled));
  CHECK(ncclCommFinalize(comms[1]));
  for (const ncclComm_t comm : comms)
    CHECK(ncclCommDestroy(comm));
}

}  // namespace

int main(int, char** argv) {
  return play(argv[1], {{"threads", threads},
                        {"processes", processes},
                        {"one_thread", one_thread},
                        {"pairs", pairs},
                        {"split", split},
                        {"absent", absent},
                        {"captured", captured},
                        {"persistent", persistent},
                        {"arguments", arguments}});
}
