#include "nccl/rendezvous.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::simgpu {

// What a kernel's simgpu_meeting points to.  Holds itself until the driver is done with it.
struct Rendezvous {
  // An operation of this rank's, and the beginnings of others that it waits for.
  struct Promise {
    Beginning* own;
    std::vector<const Beginning*> others;
    std::uint64_t ordinal;
  };

  std::shared_ptr<Rendezvous> self;
  Seat seat;
  std::vector<Appointment> appointments;
  std::vector<Promise> promises;  // empty for what stands in a graph
  bool is_posted = false;

  void promise();
};

void Rendezvous::promise() {
  const int rank = seat.rank;
  Region& region = *seat.region;
  for (const Appointment& appointment : appointments) {
    Promise promise{.own = nullptr, .others = {}, .ordinal = seat.turns->next(appointment)};
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

namespace {

int meet(void* state, std::int64_t begun_ns, std::int64_t* all_there_ns) {
  auto& rendezvous = *static_cast<Rendezvous*>(state);
  if (!rendezvous.is_posted) {
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

}  // namespace inline_prof::simgpu
