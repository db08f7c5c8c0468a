// The ranks of a communicator meet in a file that all of them map, whether they are threads of
// one process or processes.  It holds when each rank's part of a collective began, in virtual time.
#pragma once

#include "nccl/vendor_nccl.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace simgpu {

inline constexpr int kMostRanks = 64;
// A rank begins collective n + 1 after it has seen that all have begun n, so the slots of n - 1 are
// read by nobody.
inline constexpr std::uint64_t kCollectiveSlots = 4;
// Sends to one peer, or receives from one, that a group may hold.
inline constexpr std::uint64_t kPairSlots = 64;

// One rank's beginning of the operation number `ordinal`.
struct Beginning {
  std::atomic<std::uint64_t> number{0};  // ordinal + 1: then begun_ns is valid
  std::int64_t begun_ns = 0;

  void post(std::uint64_t ordinal, std::int64_t at) {
    begun_ns = at;
    number.store(ordinal + 1, std::memory_order_release);
  }
  [[nodiscard]] bool has_begun(std::uint64_t ordinal) const {
    return number.load(std::memory_order_acquire) == ordinal + 1;
  }
};

class Region {
 public:
  // Takes place `rank` of `ranks`.  `id` is what ncclGetUniqueId made.
  static ncclResult_t join(const ncclUniqueId& id, int ranks, int rank,
                           std::shared_ptr<Region>& region);
  // Waits in real time, for as long as SIMGPU_HANG_LIMIT_S says.  Afterwards all ranks have the
  // same virtual host clock.
  ncclResult_t wait_for_all();

  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  [[nodiscard]] Beginning& collective(int rank, std::uint64_t ordinal);
  [[nodiscard]] Beginning& sending(int from, int to, std::uint64_t ordinal);
  [[nodiscard]] Beginning& receiving(int from, int to, std::uint64_t ordinal);

  // Stores a rank's data for others at the beginning of an operation.  Whoever begins the next but
  // one knows that all have read this one, so that places are used again.
  bool lay_down(const Beginning& beginning, const std::vector<std::byte>& bytes);
  bool read(const Beginning& beginning, std::vector<std::byte>& bytes) const;

  // A name that all ranks know, for the communicators that are split off this one.
  [[nodiscard]] ncclUniqueId name_of_part(const std::string& part) const;

  void leave(int rank);
  // A rank is gone that has not left: its process died.
  [[nodiscard]] bool has_lost_a_rank() const;

 private:
  struct Header;
  Region(std::string path, int file, Header* header, std::size_t bytes);
  [[nodiscard]] off_t place_of(const Beginning& beginning) const;

  std::string path_;
  int file_;  // open, for what is laid down
  Header* header_;
  std::size_t bytes_;
};

// A name that no other communicator has.
[[nodiscard]] ncclUniqueId new_unique_id();

}  // namespace simgpu
