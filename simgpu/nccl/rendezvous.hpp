// How the kernels of all ranks of a communicator meet.
#pragma once

#include "nccl/region.hpp"
#include "nccl/vendor_nccl.hpp"
#include "simgpu.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace simgpu {

// Operations that a program asks of a communicator.

enum class OperationKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
};

// One call of the host's.
struct Operation {
  OperationKind kind;
  ncclComm_t comm;
  cudaStream_t stream;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // elements, as the call gives them
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0;  // or root
  double factor =
      1;  // of ncclRedOpCreatePreMulSum: what each part is multiplied with, equal on all ranks
};

// 0 for an unknown type.
[[nodiscard]] std::size_t bytes_of(ncclDataType_t type);

// The meetings of a rank's kernel: all collectives of a group are one meeting, sends and
// receives one each.
enum class Part { kCollective, kSend, kReceive };
struct Appointment {
  Part part;
  int peer;  // of a send or receive
  std::vector<Operation> operations;
};

// The numbers that operations of one rank get, in the order in which its kernels are launched.
// Its own mutex: a graph asks with the driver locked.
class Turns {
 public:
  explicit Turns(int ranks)
      : sends_(static_cast<std::size_t>(ranks)), receives_(static_cast<std::size_t>(ranks)) {}

  std::uint64_t next(const Appointment& appointment);

 private:
  std::mutex mutex_;
  std::uint64_t collectives_ = 0;
  std::vector<std::uint64_t> sends_, receives_;  // by peer
};

// One rank of a communicator, as far as its kernels know it: they may outlive it.
struct Seat {
  std::shared_ptr<Region> region;
  std::shared_ptr<Turns> turns;
  std::shared_ptr<std::atomic<bool>> is_aborted;
  int rank = 0;
  int ranks = 1;
};

// For one launch of a kernel, or for any number of them if a graph captures it.
enum class Launches { kOne, kOfAGraph };

struct Rendezvous;

// A launch hands this to the driver, which owns it from then on.  If the launch fails, `drop` it:
// the driver may have done so already.
struct MeetingToLaunch {
  simgpu_meeting contract;
  std::shared_ptr<Rendezvous> rendezvous;

  void drop() const;
};
[[nodiscard]] MeetingToLaunch meeting_for(const Seat& seat, std::vector<Appointment> appointments,
                                          Launches launches, double bytes);

// The bytes of collectives, sends and receives: each rank lays down what it gives when its kernel
// begins, and takes what it is to get once all are there.

// Returns the data that a rank stores for `operations`, all collectives of a group in turn.
[[nodiscard]] std::vector<std::byte> given(const std::vector<Operation>& operations, int rank,
                                           int ranks);

// Writes this rank's results.  `all[r]` is what rank r has given.  Rounds as an addition in float32
// does for types with fewer bits; the order of the ranks is that of their numbers.
void take(const std::vector<Operation>& operations, int rank, int ranks,
          const std::vector<std::vector<std::byte>>& all);

// Bytes that each rank lays down for `operations`.
[[nodiscard]] std::size_t given_bytes(const std::vector<Operation>& operations, int ranks);

}  // namespace simgpu
