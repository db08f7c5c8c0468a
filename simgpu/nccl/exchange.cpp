#include "nccl/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

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

}  // namespace simgpu
