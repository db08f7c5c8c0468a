// Which rank this process is, and how ranks get to know one another.
#pragma once

#include "options.hpp"

#include <nccl.h>

#include <sys/types.h>
#include <vector>

namespace allreduce {

struct Place {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
};

// One process for each rank, made before any CUDA call: CUDA does not survive a fork.
class Ranks {
 public:
  // Returns in each rank's process, and in the parent of forked ones, which is none.
  explicit Ranks(const Options& options);

  [[nodiscard]] bool is_parent() const { return !children_.empty(); }
  [[nodiscard]] const Place& place() const { return place_; }

  // In the parent: waits for the ranks.  Returns the exit status, 0 if all of theirs are.
  [[nodiscard]] int wait() const;

  // In a rank: the id that rank 0 has made.
  [[nodiscard]] ncclUniqueId exchange_id() const;

 private:
  void fork_ranks(int count);

  Place place_;
  std::string id_file_;
  std::vector<pid_t> children_;
  int id_source_ = -1;         // of a forked rank other than 0
  std::vector<int> id_sinks_;  // of forked rank 0
};

}  // namespace allreduce
