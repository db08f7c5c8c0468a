// Two ranks in one process: collectives alone, in groups, and a group of unlike calls.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

struct Rank {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ncclComm_t comm = nullptr;   // by a unique id
  ncclComm_t other = nullptr;  // by ncclCommInitAll
  void* memory = nullptr;

  [[nodiscard]] cudaStream_t on() const { return reinterpret_cast<cudaStream_t>(stream); }
};

using Ranks = std::array<Rank, 2>;
constexpr std::size_t kCount = 1024;

Ranks open() {
  Ranks ranks;
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id));
  for (int i = 0; i < 2; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.context = host::open_context(i);
    rank.stream = host::open_stream();
    rank.memory = host::device_memory(1 << 20);
  }
  std::array<ncclComm_t, 2> others{};
  CHECK(ncclCommInitAll(others.data(), 2, nullptr));
  for (std::size_t i = 0; i < 2; ++i)
    ranks[i].other = others[i];
  CHECK(ncclGroupStart());
  for (int i = 0; i < 2; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    CHECK(cuCtxSetCurrent(rank.context));
    CHECK(ncclCommInitRank(&rank.comm, 2, id, i));
  }
  CHECK(ncclGroupEnd());
  return ranks;
}

// `call(rank, number)` for both, in one group.
template <typename Call>
void together(const Ranks& ranks, const Call& call) {
  CHECK(ncclGroupStart());
  for (int i = 0; i < 2; ++i) {
    const Rank& rank = ranks[static_cast<std::size_t>(i)];
    CHECK(cuCtxSetCurrent(rank.context));
    call(rank, i);
  }
  CHECK(ncclGroupEnd());
}

void step(const Ranks& ranks) {
  // Without a group: a thread a rank.
  std::vector<std::thread> threads;
  for (const Rank& rank : ranks) {
    threads.emplace_back([&rank] {
      CHECK(cuCtxSetCurrent(rank.context));
      CHECK(ncclAllReduce(rank.memory, rank.memory, kCount, ncclFloat16, ncclSum, rank.other,
                          rank.on()));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  together(ranks, [](const Rank& rank, int) {
    CHECK(ncclAllGather(rank.memory, rank.memory, kCount, ncclBfloat16, rank.comm, rank.on()));
  });
  together(ranks, [](const Rank& rank, int) {
    for (int bucket = 0; bucket < 3; ++bucket) {
      CHECK(ncclAllReduce(rank.memory, rank.memory, kCount << bucket, ncclFloat32, ncclSum,
                          rank.comm, rank.on()));
    }
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
}

}  // namespace

int main() {
  Ranks ranks = open();
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
  std::printf("host ok\n");
  return 0;
}
