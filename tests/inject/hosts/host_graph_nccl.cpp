// Two ranks in one thread, each of which replays a graph with a collective in it.  At the end NCCL
// must find that every graph that holds one of its launches is gone, or it would wait for ever.
//
//   host_graph_nccl keep|destroy     the graphs until the end, or once they are instantiated
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

struct Rank {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ncclComm_t comm = nullptr;
  void* memory = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

constexpr std::size_t kCount = 1 << 16;

void capture(Rank& rank) {
  CHECK(cuCtxSetCurrent(rank.context));
  CHECK(cuStreamBeginCapture(rank.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(ncclAllReduce(rank.memory, rank.memory, kCount, ncclFloat32, ncclSum, rank.comm,
                      reinterpret_cast<cudaStream_t>(rank.stream)));
  CHECK(cuStreamEndCapture(rank.stream, &rank.graph));
  CHECK(cuGraphInstantiateWithFlags(&rank.exec, rank.graph, 0));
}

}  // namespace

int main(int argc, char** argv) {
  const bool keeps_graphs = argc > 1 && std::strcmp(argv[1], "keep") == 0;
  std::array<Rank, 2> ranks;
  std::array<ncclComm_t, 2> comms{};
  for (int i = 0; i < 2; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.context = host::open_context(i);
    rank.stream = host::open_stream();
    rank.memory = host::device_memory(kCount * sizeof(float));
  }
  CHECK(ncclCommInitAll(comms.data(), 2, nullptr));
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[i].comm = comms[i];
    capture(ranks[i]);
    if (!keeps_graphs) CHECK(cuGraphDestroy(ranks[i].graph));
  }
  // The copies are made beside the program, however long that takes: it trains until it is
  // profiled.
  const auto is_profiled = [] { return access("prof.json", F_OK) == 0; };
  for (int step = 0; step < 200000 && (step % 1000 != 0 || !is_profiled()); ++step) {
    PROFILE_ITERATION();
    for (Rank& rank : ranks) {
      CHECK(cuCtxSetCurrent(rank.context));
      CHECK(cuGraphLaunch(rank.exec, rank.stream));
    }
    for (Rank& rank : ranks)
      CHECK(cuStreamSynchronize(rank.stream));
  }
  for (Rank& rank : ranks) {
    CHECK(cuCtxSetCurrent(rank.context));
    CHECK(cuGraphExecDestroy(rank.exec));
    if (keeps_graphs) CHECK(cuGraphDestroy(rank.graph));
  }
  for (Rank& rank : ranks)
    CHECK(ncclCommDestroy(rank.comm));
  std::printf("host ok\n");
  return 0;
}
