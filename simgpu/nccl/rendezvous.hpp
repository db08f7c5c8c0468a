// How the kernels of all ranks of a communicator meet.
#pragma once

#include "nccl/operation.hpp"
#include "nccl/region.hpp"
#include "simgpu.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace simgpu {

// What a rank's kernel takes part in: all collectives of a group are one meeting, sends and
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

// What a launch hands to the driver, which has it from then on.  Where the launch fails, `drop` it:
// the driver may have done so already.
struct MeetingToLaunch {
  simgpu_meeting contract;
  std::shared_ptr<Rendezvous> rendezvous;

  void drop() const;
};
[[nodiscard]] MeetingToLaunch meeting_for(const Seat& seat, std::vector<Appointment> appointments,
                                          Launches launches, double bytes);

}  // namespace simgpu
