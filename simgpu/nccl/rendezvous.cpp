#include "nccl/rendezvous.hpp"

#include "nccl/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

namespace simgpu {

// What a kernel's simgpu_meeting points to.  Holds itself until the driver is done with it.
struct Rendezvous {
  // An operation of this rank's, and the beginnings of others that it waits for.
  struct Promise {
    Beginning* own;
    std::vector<const Beginning*> others;  // of a collective: of all ranks
    std::uint64_t ordinal;
    const std::vector<Operation>* operations;
  };

  std::shared_ptr<Rendezvous> self;
  Seat seat;
  std::vector<Appointment> appointments;
  std::vector<Promise> promises;  // empty for what stands in a graph
  bool is_posted = false;
  bool is_done = false;

  void promise();
  void lay_down();
  void take_all();
};

namespace {

// Of one rank and operation.  More are not moved: each byte takes processor time that a GPU would
// not, and the gradients of a large layer would take seconds a step.
#ifdef __SANITIZE_THREAD__  // looks at each of them
constexpr std::size_t kMostMovedBytes = 64U << 10U;
#else
constexpr std::size_t kMostMovedBytes = 8U << 20U;
#endif

bool are_moved(const Rendezvous::Promise& promise, const Seat& seat) {
  return given_bytes(*promise.operations, seat.ranks) <= kMostMovedBytes;
}

// The file of the region is in memory, of which there may be little.
void say_once_of_room() {
  static std::atomic_flag said;
  if (said.test_and_set()) return;
  std::fprintf(stderr,
               "simgpu: no room for the bytes that ranks exchange, which stay as they were\n");
}

}  // namespace

void Rendezvous::promise() {
  const int rank = seat.rank;
  Region& region = *seat.region;
  for (const Appointment& appointment : appointments) {
    Promise promise{.own = nullptr,
                    .others = {},
                    .ordinal = seat.turns->next(appointment),
                    .operations = &appointment.operations};
    switch (appointment.part) {
      case Part::kSend:
        promise.own = &region.sending(rank, appointment.peer, promise.ordinal);
        promise.others = {&region.receiving(rank, appointment.peer, promise.ordinal)};
        break;
      case Part::kReceive:
        promise.own = &region.receiving(appointment.peer, rank, promise.ordinal);
        promise.others = {&region.sending(appointment.peer, rank, promise.ordinal)};
        break;
      case Part::kCollective:
        promise.own = &region.collective(rank, promise.ordinal);
        for (int other = 0; other < seat.ranks; ++other)
          promise.others.push_back(&region.collective(other, promise.ordinal));
        break;
    }
    promises.push_back(std::move(promise));
  }
}

void Rendezvous::lay_down() {
  for (const Promise& promise : promises) {
    if (!are_moved(promise, seat)) continue;
    const auto bytes = given(*promise.operations, seat.rank, seat.ranks);
    if (!bytes.empty() && !seat.region->lay_down(*promise.own, bytes)) say_once_of_room();
  }
}

void Rendezvous::take_all() {
  for (const Promise& promise : promises) {
    if (!are_moved(promise, seat)) continue;
    std::vector<std::vector<std::byte>> all;
    for (const Beginning* other : promise.others) {
      all.emplace_back(given_bytes(*promise.operations, seat.ranks));
      if (!seat.region->read(*other, all.back())) return say_once_of_room();
    }
    take(*promise.operations, seat.rank, seat.ranks, all);
  }
}

namespace {

int meet(void* state, std::int64_t begun_ns, std::int64_t* all_there_ns) {
  auto& rendezvous = *static_cast<Rendezvous*>(state);
  if (!rendezvous.is_posted) {
    rendezvous.lay_down();
    for (const Rendezvous::Promise& promise : rendezvous.promises)
      promise.own->post(promise.ordinal, begun_ns);
    rendezvous.is_posted = true;
  }
  *all_there_ns = begun_ns;
  if (rendezvous.seat.is_aborted->load()) return 1;
  for (const Rendezvous::Promise& promise : rendezvous.promises) {
    for (const Beginning* other : promise.others) {
      if (!other->has_begun(promise.ordinal)) return 0;
      *all_there_ns = std::max(*all_there_ns, other->begun_ns);
    }
  }
  if (!rendezvous.is_done) rendezvous.take_all();
  rendezvous.is_done = true;
  return 1;
}

void leave(void* state) {
  static_cast<Rendezvous*>(state)->self.reset();
}

std::shared_ptr<Rendezvous> new_rendezvous(const Seat& seat,
                                           std::vector<Appointment> appointments) {
  auto made = std::make_shared<Rendezvous>();
  made->self = made;
  made->seat = seat;
  made->appointments = std::move(appointments);
  return made;
}

// The launches of a graph get their numbers when they are launched, all ranks in the same order.
void* again(void* state) {
  const auto& captured = *static_cast<const Rendezvous*>(state);
  const auto launched = new_rendezvous(captured.seat, captured.appointments);
  launched->promise();
  return launched.get();
}

}  // namespace

std::uint64_t Turns::next(const Appointment& appointment) {
  const std::lock_guard lock(mutex_);
  switch (appointment.part) {
    case Part::kSend:
      return sends_[static_cast<std::size_t>(appointment.peer)]++;
    case Part::kReceive:
      return receives_[static_cast<std::size_t>(appointment.peer)]++;
    default:
      return collectives_++;
  }
}

MeetingToLaunch meeting_for(const Seat& seat, std::vector<Appointment> appointments,
                            Launches launches, double bytes) {
  const auto made = new_rendezvous(seat, std::move(appointments));
  if (launches == Launches::kOne) made->promise();
  return {.contract = {.work = {.flops = 0, .bytes = bytes},
                       .state = made.get(),
                       .meet = &meet,
                       .leave = &leave,
                       .again = &again},
          .rendezvous = made};
}

void MeetingToLaunch::drop() const {
  rendezvous->self.reset();
}

}  // namespace simgpu
