#include "nccl_calls.hpp"

#include "gpu_check.hpp"
#include "named_calls.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace inline_prof::gpu_test {

thread_local const char* nccl_call_of_this_thread = nullptr;
bool nccl_calls_are_unsaid = false;

namespace {

constexpr int kMostRanks = 2;
constexpr std::size_t kCount = std::size_t{1} << 18U;  // elements of a message
constexpr std::size_t kBytes = kMostRanks * kCount * 4 * sizeof(float);

struct Rank {
  int number = 0;
  int ranks = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* from = nullptr;
  float* to = nullptr;
};

void accept(ncclResult_t result, const std::string& what) {
  if (result == ncclSuccess) return;
  throw Refused(what + " answers " + ncclGetErrorString(result));
}

// Says where the thread is while it is there.
template <typename Call>
void make(const char* name, const Call& call) {
  nccl_call_of_this_thread = nccl_calls_are_unsaid ? nullptr : name;
  const ncclResult_t result = call();
  nccl_call_of_this_thread = nullptr;
  accept(result, name);
}

void group_start() {
  make("ncclGroupStart", [] { return ncclGroupStart(); });
}
void group_end() {
  make("ncclGroupEnd", [] { return ncclGroupEnd(); });
}

void all_reduce(const Rank& rank, std::size_t count) {
  make("ncclAllReduce", [&] {
    return ncclAllReduce(rank.from, rank.to, count, ncclFloat32, ncclAvg, rank.comm, rank.stream);
  });
}

void reduce_scatter(const Rank& rank) {
  make("ncclReduceScatter", [&] {
    return ncclReduceScatter(rank.from, rank.to, kCount, ncclFloat32, ncclAvg, rank.comm,
                             rank.stream);
  });
}

void reduce(const Rank& rank) {
  make("ncclReduce", [&] {
    return ncclReduce(rank.from, rank.to, kCount / 2, ncclFloat32, ncclAvg, 0, rank.comm,
                      rank.stream);
  });
}

void all_gather(const Rank& rank) {
  make("ncclAllGather", [&] {
    return ncclAllGather(rank.from, rank.to, kCount, ncclFloat16, rank.comm, rank.stream);
  });
}

void broadcast(const Rank& rank) {
  make("ncclBroadcast", [&] {
    return ncclBroadcast(rank.from, rank.to, kCount, ncclBfloat16, 0, rank.comm, rank.stream);
  });
}

void send_around(const Rank& rank) {
  const int next = (rank.number + 1) % rank.ranks;
  make("ncclSend",
       [&] { return ncclSend(rank.from, kCount, ncclFloat32, next, rank.comm, rank.stream); });
  make("ncclRecv",
       [&] { return ncclRecv(rank.to, kCount, ncclFloat32, next, rank.comm, rank.stream); });
}

void reduce_three_buckets(const Rank& rank) {
  for (std::size_t bucket = 0; bucket < 3; ++bucket)
    all_reduce(rank, kCount << bucket);
}

struct Step {
  NcclCase facts;
  std::function<void(const Rank&)> call;
};

std::vector<Step> steps() {
  return {
      {{"all_reduce", false, true}, [](const Rank& rank) { all_reduce(rank, kCount / 4); }},
      {{"reduce_scatter", false, true}, reduce_scatter},
      {{"reduce", false, true}, reduce},
      {{"all_gather", false, false}, all_gather},
      {{"broadcast", false, false}, broadcast},
      {{"send and receive in a group", true, true}, send_around},
      {{"three all_reduces in a group", true, true}, reduce_three_buckets},
  };
}

void on_device_of(const Rank& rank) {
  check(cudaSetDevice(rank.number), "cudaSetDevice");
}

void make_in_a_group(const std::vector<Rank>& ranks, const Step& step) {
  group_start();
  for (const Rank& rank : ranks) {
    on_device_of(rank);
    step.call(rank);
  }
  group_end();
}

void make_on_threads(const std::vector<Rank>& ranks, const Step& step) {
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        on_device_of(ranks[i]);
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

void make_on_all(const std::vector<Rank>& ranks, const Step& step) {
  if (step.facts.is_grouped) {
    make_in_a_group(ranks, step);
  } else if (ranks.size() == 1) {
    step.call(ranks.front());
  } else {
    make_on_threads(ranks, step);
  }
}

float* take_memory() {
  void* memory = nullptr;
  check(cudaMalloc(&memory, kBytes), "cudaMalloc");
  check(cudaMemset(memory, 0, kBytes), "cudaMemset");
  return static_cast<float*>(memory);
}

}  // namespace

struct NcclCalls::Ranks {
  std::vector<Rank> all;
};

NcclCalls::NcclCalls() : ranks_(new Ranks) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  const int count = std::min(devices, kMostRanks);
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(count));
  accept(ncclCommInitAll(comms.data(), count, nullptr), "ncclCommInitAll");
  for (int i = 0; i < count; ++i) {
    Rank& rank = ranks_->all.emplace_back();
    rank.number = i;
    rank.ranks = count;
    rank.comm = comms[static_cast<std::size_t>(i)];
    on_device_of(rank);
    check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    rank.from = take_memory();
    rank.to = take_memory();
  }
}

NcclCalls::~NcclCalls() {
  for (const Rank& rank : ranks_->all)
    static_cast<void>(ncclCommDestroy(rank.comm));
  delete ranks_;
}

int NcclCalls::ranks() const {
  return static_cast<int>(ranks_->all.size());
}

void NcclCalls::each(const CloneRun& visit) const {
  for (const Step& step : steps())
    visit(step.facts, [this, step] { make_on_all(ranks_->all, step); });
}

void NcclCalls::synchronize() const {
  for (const Rank& rank : ranks_->all) {
    on_device_of(rank);
    check(cudaStreamSynchronize(rank.stream), "cudaStreamSynchronize");
  }
}

}  // namespace inline_prof::gpu_test
