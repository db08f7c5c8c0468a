#include "nccl/rendezvous.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace simgpu {
namespace {

// Every rank's part has the same size, whether it gives something or not: so all know the places.
std::size_t place_bytes(const Operation& o, int ranks) {
  const std::size_t bytes = o.count * bytes_of(o.type);
  switch (o.kind) {
    case OperationKind::kReduceScatter:
    case OperationKind::kAllToAll:
    case OperationKind::kScatter:
      return bytes * static_cast<std::size_t>(ranks);
    default:
      return bytes;
  }
}

bool gives(const Operation& o, int rank) {
  if (o.kind == OperationKind::kBroadcast || o.kind == OperationKind::kScatter)
    return o.peer == rank;
  return o.kind != OperationKind::kReceive;
}

float from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const auto fraction = static_cast<float>(half & 0x3ff);
  const float size = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                      : std::ldexp(fraction + 1024.0F, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

std::uint16_t to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(size)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = -14;
  if (size >= std::ldexp(1.0F, -14)) exponent = std::ilogb(size);
  // A fraction that rounds up carries into the exponent, as it should.
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (steps + ((exponent + 14) << 10)));
}

float from_bfloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename Number>
Number combine(Number a, Number b, ncclRedOp_t reduction) {
  switch (reduction) {
    case ncclProd:
      return static_cast<Number>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<Number>(a + b);
  }
}

template <typename Stored, typename Number, typename Load, typename Store>
void reduce_as(const Operation& o, std::size_t at, const std::vector<std::vector<std::byte>>& all,
               Load load, Store store) {
  for (std::size_t i = 0; i < o.count; ++i) {
    Number total{};
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      Stored stored;
      std::memcpy(&stored, all[rank].data() + at + i * sizeof stored, sizeof stored);
      auto part = static_cast<Number>(load(stored));
      if (o.factor != 1) part = static_cast<Number>(static_cast<double>(part) * o.factor);
      total = rank == 0 ? part : combine(total, part, o.reduction);
    }
    if (o.reduction == ncclAvg)
      total = static_cast<Number>(total / static_cast<Number>(all.size()));
    const Stored result = store(total);
    std::memcpy(static_cast<std::byte*>(o.receive) + i * sizeof result, &result, sizeof result);
  }
}

template <typename Number>
void reduce_plain(const Operation& o, std::size_t at,
                  const std::vector<std::vector<std::byte>>& all) {
  const auto same = [](Number value) { return value; };
  reduce_as<Number, Number>(o, at, all, same, same);
}

void reduce(const Operation& o, std::size_t at, const std::vector<std::vector<std::byte>>& all) {
  switch (o.type) {
    case ncclInt8:
      return reduce_plain<std::int8_t>(o, at, all);
    case ncclUint8:
      return reduce_plain<std::uint8_t>(o, at, all);
    case ncclInt32:
      return reduce_plain<std::int32_t>(o, at, all);
    case ncclUint32:
      return reduce_plain<std::uint32_t>(o, at, all);
    case ncclInt64:
      return reduce_plain<std::int64_t>(o, at, all);
    case ncclUint64:
      return reduce_plain<std::uint64_t>(o, at, all);
    case ncclFloat32:
      return reduce_plain<float>(o, at, all);
    case ncclFloat64:
      return reduce_plain<double>(o, at, all);
    case ncclFloat16:
      return reduce_as<std::uint16_t, float>(o, at, all, from_half, to_half);
    case ncclBfloat16:
      return reduce_as<std::uint16_t, float>(o, at, all, from_bfloat, to_bfloat);
    default:
      return;  // float8: nothing is added up, and the buffer stays as it is
  }
}

}  // namespace

std::size_t given_bytes(const std::vector<Operation>& operations, int ranks) {
  std::size_t bytes = 0;
  for (const Operation& o : operations)
    bytes += place_bytes(o, ranks);
  return bytes;
}

std::vector<std::byte> given(const std::vector<Operation>& operations, int rank, int ranks) {
  std::vector<std::byte> all(given_bytes(operations, ranks));
  std::size_t at = 0;
  for (const Operation& o : operations) {
    const std::size_t bytes = place_bytes(o, ranks);
    if (gives(o, rank) && bytes > 0) std::memcpy(all.data() + at, o.send, bytes);
    at += bytes;
  }
  return all;
}

void take(const std::vector<Operation>& operations, int rank, int ranks,
          const std::vector<std::vector<std::byte>>& all) {
  const auto me = static_cast<std::size_t>(rank);
  std::size_t at = 0;
  for (const Operation& o : operations) {
    const std::size_t bytes = o.count * bytes_of(o.type);
    auto* result = static_cast<std::byte*>(o.receive);
    const auto root = static_cast<std::size_t>(o.peer);
    const auto copy = [&](std::size_t place, std::size_t from, std::size_t offset) {
      if (bytes > 0) std::memcpy(result + place * bytes, all[from].data() + at + offset, bytes);
    };
    switch (o.kind) {
      case OperationKind::kAllReduce:
        reduce(o, at, all);
        break;
      case OperationKind::kReduceScatter:
        reduce(o, at + me * bytes, all);
        break;
      case OperationKind::kReduce:
        if (me == root) reduce(o, at, all);
        break;
      case OperationKind::kBroadcast:
        copy(0, root, 0);
        break;
      case OperationKind::kScatter:
        copy(0, root, me * bytes);
        break;
      case OperationKind::kGather:
        if (me != root) break;
        [[fallthrough]];
      case OperationKind::kAllGather:
        for (std::size_t from = 0; from < all.size(); ++from)
          copy(from, from, 0);
        break;
      case OperationKind::kAllToAll:
        for (std::size_t from = 0; from < all.size(); ++from)
          copy(from, from, me * bytes);
        break;
      case OperationKind::kReceive:
        copy(0, 0, 0);
        break;
      case OperationKind::kSend:
        break;
    }
    at += place_bytes(o, ranks);
  }
}

// A kernel's simgpu_meeting points to one.  It owns itself until the driver is done with it.
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

// The limit for one rank and operation.  More are not moved: each byte takes time that a GPU would
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
