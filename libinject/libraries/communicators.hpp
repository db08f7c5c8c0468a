// NCCL's communicators, as the ranks of a run can agree on them: an identity that is equal on all
// ranks, and how many collectives an iteration has had on each so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace inline_prof::hook {

// FNV-1a (Fowler, Noll, Vo; RFC 9923): the same bytes give the same number on every rank.
[[nodiscard]] std::uint64_t hash_of(const void* bytes, std::size_t size,
                                    std::uint64_t seed = 0xCBF29CE484222325ULL) noexcept;

// None of these throws but for memory.  Inside a group NCCL may fill `comm` in at the group's end;
// `settle` is called there, on the thread that made the group.  `ranks`: 0 where the call does not
// say.
void add_communicator(void** comm, std::uint64_t identity, std::int64_t ranks);
void add_split(void* parent, int color, void** comm);
void settle_communicators();
void forget_communicator(const void* comm);

struct CommunicatorFacts {
  std::optional<std::uint64_t> identity;  // empty where it was made before we could see it
  std::int64_t ranks = 0;
  std::int64_t sequence = -1;  // of this collective in the iteration, from 0
};

// `count_ranks` is asked once, where nothing was said of them.  A collective is counted; a send or
// a receive is not, since ranks make different ones.
using CountRanks = std::int64_t (*)(const void* comm, void* real);
[[nodiscard]] CommunicatorFacts facts_of(const void* comm, std::int64_t iteration,
                                         bool is_collective, CountRanks count_ranks, void* real);

}  // namespace inline_prof::hook
