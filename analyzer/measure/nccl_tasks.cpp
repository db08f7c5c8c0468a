#include "measure/gpu.hpp"
#include "measure/tasks.hpp"

#include <nccl.h>

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace inline_prof::measure {
namespace {

struct NcclFunctions {
  DynamicLibrary library{"libnccl.so.2"};
  decltype(&ncclGetVersion) get_version = library.find("ncclGetVersion");
  decltype(&ncclGetErrorString) error_string = library.find("ncclGetErrorString");
  decltype(&ncclCommInitAll) start = library.find("ncclCommInitAll");
  decltype(&ncclGroupStart) group_start = library.find("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = library.find("ncclGroupEnd");
  decltype(&ncclAllReduce) all_reduce = library.find("ncclAllReduce");
  decltype(&ncclAllGather) all_gather = library.find("ncclAllGather");
  decltype(&ncclReduceScatter) reduce_scatter = library.find("ncclReduceScatter");
  decltype(&ncclBroadcast) broadcast = library.find("ncclBroadcast");
  decltype(&ncclReduce) reduce = library.find("ncclReduce");
  decltype(&ncclSend) send = library.find("ncclSend");
  decltype(&ncclRecv) receive = library.find("ncclRecv");

  void check_nccl(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess) return;
    throw Skipped(fmt::format("{} answers {}", what, error_string(result)));
  }
};

ncclDataType_t data_type(const std::string& type) {
  if (type == "f32") return ncclFloat32;
  if (type == "f16") return ncclFloat16;
  if (type == "bf16") return ncclBfloat16;
  if (type == "f64") return ncclFloat64;
  if (type == "i8") return ncclInt8;
  if (type == "i32") return ncclInt32;
  if (type == "i64") return ncclInt64;
  throw Skipped(fmt::format("collectives of {} are not measured", type));
}

struct Communicators {
  NcclFunctions nccl;
  std::vector<ncclComm_t> ranks;
  std::vector<cudaStream_t> streams;  // the first rank's is the GPU's own
  std::vector<void*> memory;          // of the other ranks
  std::size_t memory_bytes = 0;
  std::vector<int> devices;  // the first rank is on the one that is measured

  // Makes a communicator of all GPUs of the process.
  explicit Communicators(const Gpu& gpu) : devices{gpu.device()} {
    for (int device = 0; device < gpu.facts().device_count; ++device) {
      if (device != gpu.device()) devices.push_back(device);
    }
    ranks.resize(devices.size());
    nccl.check_nccl(nccl.start(ranks.data(), static_cast<int>(devices.size()), devices.data()),
                    "ncclCommInitAll");
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      cudaStream_t stream = gpu.stream();
      if (rank > 0) {
        check(cudaSetDevice(devices[rank]), "cudaSetDevice");
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
      }
      streams.push_back(stream);
    }
    check(cudaSetDevice(devices.front()), "cudaSetDevice");
    memory.resize(devices.size(), nullptr);
  }
  void give_others_memory(std::size_t bytes) {
    if (bytes <= memory_bytes) return;
    memory_bytes = bytes;
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      check(cudaFree(memory[rank]), "cudaFree");
      memory[rank] = nullptr;
      check(cudaSetDevice(devices[rank]), "cudaSetDevice");
      check(cudaMalloc(&memory[rank], bytes), "cudaMalloc");
    }
    check(cudaSetDevice(devices.front()), "cudaSetDevice");
  }
};

using Call = std::function<ncclResult_t(std::size_t rank, const void* from, void* to)>;

// Elements of a collective, and of the part that one rank has.
struct Counts {
  std::size_t whole, part;
};

// Returns the call that each rank makes.
Call call_of(const Communicators& all, const std::string& name, ncclDataType_t type,
             std::int64_t element_bytes, const Counts& counts) {
  const std::size_t whole = counts.whole;  // a lambda of clang 14 captures no structured binding
  const std::size_t part = counts.part;
  const NcclFunctions& nccl = all.nccl;
  if (name == "all_reduce") {
    return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
      return nccl.all_reduce(from, to, whole, type, ncclSum, all.ranks[rank], all.streams[rank]);
    };
  }
  if (name == "all_gather") {
    return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
      return nccl.all_gather(from, to, part, type, all.ranks[rank], all.streams[rank]);
    };
  }
  if (name == "reduce_scatter") {
    return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
      return nccl.reduce_scatter(from, to, part, type, ncclSum, all.ranks[rank], all.streams[rank]);
    };
  }
  if (name == "broadcast") {
    return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
      return nccl.broadcast(from, to, whole, type, 0, all.ranks[rank], all.streams[rank]);
    };
  }
  if (name == "reduce") {
    return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
      return nccl.reduce(from, to, whole, type, ncclSum, 0, all.ranks[rank], all.streams[rank]);
    };
  }
  if (name != "all_to_all") throw Skipped(fmt::format("collective {} is not measured", name));
  return [=, &all, &nccl](std::size_t rank, const void* from, void* to) {
    const std::size_t step = part * static_cast<std::size_t>(element_bytes);
    for (std::size_t peer = 0; peer < all.ranks.size(); ++peer) {
      const auto* sent = static_cast<const std::byte*>(from) + peer * step;
      auto* received = static_cast<std::byte*>(to) + peer * step;
      const int other = static_cast<int>(peer);
      ncclResult_t result = nccl.send(sent, part, type, other, all.ranks[rank], all.streams[rank]);
      if (result == ncclSuccess)
        result = nccl.receive(received, part, type, other, all.ranks[rank], all.streams[rank]);
      if (result != ncclSuccess) return result;
    }
    return ncclSuccess;
  };
}

}  // namespace

// `bytes` is what nccl-tests prints: the part of a rank, or that of all ranks for gathers, scatters
// and exchanges.
Work collective_work(const read::Op& op, Gpu& gpu) {
  static auto& all = *new Communicators(gpu);
  const auto ranks = static_cast<std::int64_t>(all.ranks.size());
  const std::int64_t asked = integer_or(op, "num_gpus", integer_or(op, "ranks", ranks));
  if (asked != ranks) {
    throw Skipped(fmt::format("a collective of {} ranks: this process has {} GPUs", asked, ranks));
  }
  const std::string type = text_or(op, "type", "f32");
  const ncclDataType_t data = data_type(type);
  const std::int64_t element = type == "i8"                      ? 1
                               : type == "f16" || type == "bf16" ? 2
                               : type == "f32" || type == "i32"  ? 4
                                                                 : 8;
  const std::int64_t bytes = integer(op, "bytes");
  const std::int64_t count = bytes / element;
  const std::int64_t part = count / ranks;
  if (part < 1) throw Skipped("less than an element for each rank");
  const auto whole_bytes = static_cast<std::size_t>(count * element);
  void* first = gpu.take(2 * whole_bytes);
  all.give_others_memory(2 * whole_bytes);
  all.memory[0] = first;
  const NcclFunctions& nccl = all.nccl;
  const auto call =
      call_of(all, text_or(op, "op", ""), data, element,
              {.whole = static_cast<std::size_t>(count), .part = static_cast<std::size_t>(part)});
  const auto run = [&nccl, call, whole_bytes](cudaStream_t) {
    nccl.check_nccl(nccl.group_start(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < all.ranks.size(); ++rank) {
      auto* from = static_cast<std::byte*>(all.memory[rank]);
      nccl.check_nccl(call(rank, from, from + whole_bytes), "the collective");
    }
    nccl.check_nccl(nccl.group_end(), "ncclGroupEnd");
  };
  int version = 0;
  nccl.check_nccl(nccl.get_version(&version), "ncclGetVersion");
  return {.run = run,
          .library =
              fmt::format("nccl {}.{}.{}", version / 10000, version % 10000 / 100, version % 100)};
}

}  // namespace inline_prof::measure
