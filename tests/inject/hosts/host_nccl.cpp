// Ranks in one process:
//
//   host_nccl calls          two: collectives alone, in groups, and a group of unlike calls
//   host_nccl copies         one, alone: NCCL copies for its collective, as it does by the copy
//   engines
//                            when it has no kernel to launch; then a copy of the program's own
//   host_nccl keep|destroy   two in one thread, each of which replays a graph with a collective in
//   it.
//                            The graphs are kept until the end, or destroyed once they are
//                            instantiated.  At the end NCCL must find that every graph with one of
//                            its launches is gone, or it would wait for ever
#include "host.hpp"

#include <nccl.h>

#include <sys/mman.h>

namespace {

struct Rank {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ncclComm_t comm = nullptr;   // by a unique id
  ncclComm_t other = nullptr;  // by ncclCommInitAll
  void* memory = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;

  [[nodiscard]] cudaStream_t on() const { return reinterpret_cast<cudaStream_t>(stream); }
};

using Ranks = std::array<Rank, 2>;
constexpr std::size_t kCount = 1024;

void all_reduce(const Rank& rank, std::size_t count, ncclDataType_t type, ncclComm_t comm) {
  CHECK(ncclAllReduce(rank.memory, rank.memory, count, type, ncclSum, comm, rank.on()));
}

// `call(rank, number)` for both, in one group.
template <typename Call>
void together(Ranks& ranks, const Call& call) {
  CHECK(ncclGroupStart());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(cuCtxSetCurrent(ranks[i].context));
    call(ranks[i], static_cast<int>(i));
  }
  CHECK(ncclGroupEnd());
}

Ranks open() {
  Ranks ranks;
  std::array<ncclComm_t, 2> others{};
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[i].context = host::open_context(static_cast<int>(i));
    ranks[i].stream = host::open_stream();
    ranks[i].memory = host::device_memory(1 << 20);
  }
  CHECK(ncclCommInitAll(others.data(), 2, nullptr));
  for (std::size_t i = 0; i < 2; ++i)
    ranks[i].other = others[i];
  return ranks;
}

void step(Ranks& ranks) {
  // Without a group: a thread a rank.
  std::vector<std::thread> threads;
  for (const Rank& rank : ranks) {
    threads.emplace_back([&rank] {
      CHECK(cuCtxSetCurrent(rank.context));
      all_reduce(rank, kCount, ncclFloat16, rank.other);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  together(ranks, [](const Rank& rank, int) {
    CHECK(ncclAllGather(rank.memory, rank.memory, kCount, ncclBfloat16, rank.comm, rank.on()));
  });
  together(ranks, [](const Rank& rank, int) {
    for (int bucket = 0; bucket < 3; ++bucket)
      all_reduce(rank, kCount << bucket, ncclFloat32, rank.comm);
  });
  together(ranks, [](const Rank& rank, int number) {
    // A group in a group launches at the outer one's end.
    CHECK(ncclGroupStart());
    CHECK(ncclSend(rank.memory, kCount, ncclUint8, 1 - number, rank.comm, rank.on()));
    CHECK(ncclRecv(rank.memory, kCount, ncclUint8, 1 - number, rank.comm, rank.on()));
    CHECK(ncclGroupEnd());
  });
  together(ranks, [](const Rank& rank, int) {
    CHECK(ncclBroadcast(rank.memory, rank.memory, kCount, ncclUint8, 0, rank.comm, rank.on()));
  });
  // On the devices' default streams, as PyTorch's DataParallel.
  together(ranks, [](const Rank& rank, int) {
    CHECK(
        ncclReduce(rank.memory, rank.memory, kCount, ncclFloat32, ncclSum, 0, rank.other, nullptr));
  });
}

int run_calls() {
  Ranks ranks = open();
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id));
  together(ranks,
           [&](Rank& rank, int number) { CHECK(ncclCommInitRank(&rank.comm, 2, id, number)); });
  for (int i = 0; i < 30; ++i) {
    PROFILE_ITERATION();
    step(ranks);
  }
  for (Rank& rank : ranks) {
    CHECK(cuCtxSetCurrent(rank.context));
    CHECK(cuCtxSynchronize());
    CHECK(ncclCommDestroy(rank.other));
    CHECK(ncclCommDestroy(rank.comm));
  }
  return host::finish();
}

int run_copies() {
  Rank rank;
  host::open_context();
  rank.stream = host::open_stream();
  rank.memory = host::device_memory(kCount * sizeof(float));
  void* to = host::device_memory(kCount * sizeof(float));
  CHECK(ncclCommInitAll(&rank.comm, 1, nullptr));
  // A rank without a colour gets no communicator, and may free the place for one before its next
  // group ends.
  void* const place =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ncclCommSplit(rank.comm, NCCL_SPLIT_NOCOLOR, 0, static_cast<ncclComm_t*>(place), nullptr));
  munmap(place, 4096);
  CHECK(ncclGroupStart());
  CHECK(ncclGroupEnd());
  const int status = host::train(30, [&] {
    CHECK(ncclAllReduce(rank.memory, to, kCount, ncclFloat32, ncclSum, rank.comm, rank.on()));
    CHECK(cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(rank.memory),
                            reinterpret_cast<CUdeviceptr>(to), kCount, rank.stream));
  });
  CHECK(ncclCommDestroy(rank.comm));
  return status;
}

int run_graphs(bool keeps_graphs) {
  Ranks ranks = open();
  for (Rank& rank : ranks) {
    CHECK(cuCtxSetCurrent(rank.context));
    rank.graph =
        host::captured(rank.stream, [&] { all_reduce(rank, 1 << 16, ncclFloat32, rank.other); });
    rank.exec = host::instantiated(rank.graph);
    if (!keeps_graphs) CHECK(cuGraphDestroy(rank.graph));
  }
  // The copies are made beside the program, however long that takes: it trains until it is
  // profiled.
  const auto is_profiled = [] { return access("prof.json", F_OK) == 0; };
  for (int i = 0; i < 200000 && (i % 1000 != 0 || !is_profiled()); ++i) {
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
    CHECK(ncclCommDestroy(rank.other));
  return host::finish();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "calls") return run_calls();
  if (mode == "copies") return run_copies();
  return run_graphs(mode == "keep");
}
