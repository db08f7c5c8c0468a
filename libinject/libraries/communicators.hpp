// Tracks NCCL communicators: an identity that is the same on all ranks, and the number of
// collectives so far in the iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace inline_prof::libraries {

// FNV-1a (Fowler, Noll, Vo; RFC 9923): the same bytes give the same number on every rank.
[[nodiscard]] std::uint64_t hash_of(const void* bytes, std::size_t size,
                                    std::uint64_t seed = 0xCBF29CE484222325ULL) noexcept;

// These throw std::bad_alloc only.  Inside a group NCCL may set `comm` at the group's end, where
// settle_communicators() is to be called on the same thread.  `ranks`: 0 if unknown.
void add_communicator(void** comm, std::uint64_t identity, std::int64_t ranks);
void add_split(void* parent, int color, void** comm);
void settle_communicators();
void forget_communicator(const void* comm);

struct CommunicatorFacts {
  std::optional<std::uint64_t> identity;  // empty if it was created before profiling began
  std::int64_t ranks = 0;
  std::int64_t sequence = -1;  // of this collective in the iteration, from 0
};

// `count_ranks` is called once if the number of ranks is unknown.  Collectives are counted; sends
// and receives are not, since ranks make different ones.
using CountRanks = std::int64_t (*)(const void* comm, void* real);
[[nodiscard]] CommunicatorFacts facts_of(const void* comm, std::int64_t iteration,
                                         bool is_collective, CountRanks count_ranks, void* real);

}  // namespace inline_prof::libraries
