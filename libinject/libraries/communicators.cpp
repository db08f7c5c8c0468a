#include "libraries/communicators.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace inline_prof::libraries {
namespace {

struct Communicator {
  std::optional<std::uint64_t> identity;
  std::int64_t ranks = 0;
  std::int64_t iteration = -1;
  std::int64_t collectives = 0;  // in that iteration
  std::uint64_t splits = 0;
};

// A communicator that NCCL creates at the group's end.
struct Pending {
  const void* thread;
  void** comm;
  Communicator communicator;
};

struct CommunicatorBook {
  std::mutex mutex;
  std::unordered_map<const void*, Communicator> known;
  std::vector<Pending> pending;
};

// Never destroyed: collectives may still be called during exit.
CommunicatorBook& communicator_book() {
  static auto* const communicators = new CommunicatorBook;
  return *communicators;
}

// Returns a pointer that identifies this thread.
const void* calling_thread() noexcept {
  return __builtin_thread_pointer();
}

void add(CommunicatorBook& communicators, void** comm, const Communicator& communicator) {
  if (comm == nullptr) return;
  if (*comm == nullptr) {
    communicators.pending.push_back({calling_thread(), comm, communicator});
  } else {
    communicators.known[*comm] = communicator;
  }
}

}  // namespace

std::uint64_t hash_of(const void* bytes, std::size_t size, std::uint64_t seed) noexcept {
  const auto* each = static_cast<const unsigned char*>(bytes);
  std::uint64_t hash = seed;
  for (std::size_t i = 0; i < size; ++i)
    hash = (hash ^ each[i]) * 0x100000001B3ULL;
  return hash;
}

void add_communicator(void** comm, std::uint64_t identity, std::int64_t ranks) {
  CommunicatorBook& communicators = communicator_book();
  const std::lock_guard lock(communicators.mutex);
  add(communicators, comm, {.identity = identity, .ranks = ranks});
}

void add_split(void* parent, int color, void** comm) {
  CommunicatorBook& communicators = communicator_book();
  const std::lock_guard lock(communicators.mutex);
  const auto known = communicators.known.find(parent);
  if (known == communicators.known.end() || !known->second.identity) return;
  // All ranks of the parent take part in each split, so that they agree on its number.
  const std::uint64_t number = known->second.splits++;
  std::uint64_t identity = hash_of(&number, sizeof number, *known->second.identity);
  identity = hash_of(&color, sizeof color, identity);
  add(communicators, comm, {.identity = identity});
}

void settle_communicators() {
  CommunicatorBook& communicators = communicator_book();
  const std::lock_guard lock(communicators.mutex);
  std::erase_if(communicators.pending, [&](const Pending& each) {
    if (each.thread != calling_thread()) return false;
    if (*each.comm != nullptr) communicators.known[*each.comm] = each.communicator;
    return true;
  });
}

void forget_communicator(const void* comm) {
  CommunicatorBook& communicators = communicator_book();
  const std::lock_guard lock(communicators.mutex);
  communicators.known.erase(comm);
}

CommunicatorFacts facts_of(const void* comm, std::int64_t iteration, bool is_collective,
                           CountRanks count_ranks, void* real) {
  CommunicatorBook& communicators = communicator_book();
  const std::lock_guard lock(communicators.mutex);
  Communicator& communicator = communicators.known[comm];
  if (communicator.ranks == 0) communicator.ranks = count_ranks(comm, real);
  CommunicatorFacts facts{.identity = communicator.identity, .ranks = communicator.ranks};
  if (!is_collective) return facts;
  if (communicator.iteration != iteration) {
    communicator.iteration = iteration;
    communicator.collectives = 0;
  }
  facts.sequence = communicator.collectives++;
  return facts;
}

}  // namespace inline_prof::libraries
