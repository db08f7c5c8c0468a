// Collectives, sends and receives of known sizes on the first one or two GPUs, each once an
// iteration.
//
// One rank copies if it can.  It launches a kernel to scale (the mean of f32) and to send to
// itself; two ranks always launch.
#include "named_calls.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <exception>
#include <thread>

namespace {

using namespace inline_prof::gpu_test;

constexpr int kIterations = 40;
constexpr int kMostRanks = 2;
constexpr std::size_t kCount = std::size_t{1} << 18U;  // elements of a message
constexpr std::size_t kBytes = kMostRanks * kCount * 4 * sizeof(float);

struct Rank {
  int number = 0;
  int ranks = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  void* from = nullptr;
  void* to = nullptr;
};

void accept(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(ncclGetErrorString(result));
}

void all_reduce(const Rank& rank, std::size_t count) {
  accept(ncclAllReduce(rank.from, rank.to, count, ncclFloat32, ncclAvg, rank.comm, rank.stream));
}

struct Step {
  const char* name;
  bool is_grouped;  // else each rank has a thread
  void (*call)(const Rank&);
};
constexpr Step kSteps[]{
    {"all_reduce", false, [](const Rank& rank) { all_reduce(rank, kCount / 4); }},
    {"reduce_scatter", false,
     [](const Rank& rank) {
       accept(ncclReduceScatter(rank.from, rank.to, kCount, ncclFloat32, ncclAvg, rank.comm,
                                rank.stream));
     }},
    {"reduce", false,
     [](const Rank& rank) {
       accept(ncclReduce(rank.from, rank.to, kCount / 2, ncclFloat32, ncclAvg, 0, rank.comm,
                         rank.stream));
     }},
    {"all_gather", false,
     [](const Rank& rank) {
       accept(ncclAllGather(rank.from, rank.to, kCount, ncclFloat16, rank.comm, rank.stream));
     }},
    {"broadcast", false,
     [](const Rank& rank) {
       accept(ncclBroadcast(rank.from, rank.to, kCount, ncclBfloat16, 0, rank.comm, rank.stream));
     }},
    {"send and receive in a group", true,
     [](const Rank& rank) {
       const int next = (rank.number + 1) % rank.ranks;
       accept(ncclSend(rank.from, kCount, ncclFloat32, next, rank.comm, rank.stream));
       accept(ncclRecv(rank.to, kCount, ncclFloat32, next, rank.comm, rank.stream));
     }},
    {"three all_reduces in a group", true,
     [](const Rank& rank) {
       for (std::size_t bucket = 0; bucket < 3; ++bucket)
         all_reduce(rank, kCount << bucket);
     }},
};

void make_on_threads(const std::vector<Rank>& ranks, const Step& step) {
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        check(cudaSetDevice(ranks[i].number), "cudaSetDevice");
        step.call(ranks[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void make(const std::vector<Rank>& ranks, const Step& step) {
  if (!step.is_grouped && ranks.size() > 1) return make_on_threads(ranks, step);
  if (step.is_grouped) accept(ncclGroupStart());
  for (const Rank& rank : ranks) {
    check(cudaSetDevice(rank.number), "cudaSetDevice");
    step.call(rank);
  }
  if (step.is_grouped) accept(ncclGroupEnd());
}

std::vector<Rank> make_ranks() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  const int count = std::min(devices, kMostRanks);
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(count));
  accept(ncclCommInitAll(comms.data(), count, nullptr));
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) {
    check(cudaSetDevice(i), "cudaSetDevice");
    Rank rank{.number = i, .ranks = count, .comm = comms[static_cast<std::size_t>(i)]};
    rank.stream = make_stream();
    rank.from = take_memory(kBytes);
    rank.to = take_memory(kBytes);
    ranks.push_back(rank);
  }
  return ranks;
}

void synchronize(const std::vector<Rank>& ranks) {
  for (const Rank& rank : ranks)
    wait(rank.stream);
}

}  // namespace

int main(int argc, char** argv) {
  skip_without_gpu();
  NamedCalls calls(argc, argv);
  try {
    const std::vector<Rank> ranks = make_ranks();
    std::printf("ranks %d\n", static_cast<int>(ranks.size()));
    for (const Step& step : kSteps)
      calls.add(step.name, [&] { return [&] { make(ranks, step); }; });
    synchronize(ranks);
    const bool is_good = calls.make_all(kIterations);
    synchronize(ranks);
    for (const Rank& rank : ranks)
      static_cast<void>(ncclCommDestroy(rank.comm));
    return is_good ? 0 : 1;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "ncclCommInitAll answers %s\n", error.what());
    return 1;
  }
}
