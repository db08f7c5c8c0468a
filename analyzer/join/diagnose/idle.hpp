// Why a device is idle: each gap between its rows is laid to what begins after it.
//
// A launch that found its stream empty (a sample that is not tight) came late: the device waited
// for the thread that makes it.  Where that thread had just come back from a call that waits for
// the device, it waited for that; before the first launch of an iteration, for what the program
// does between iterations.  A launch that stood in the queue already waited for something else
// (docs/reading_a_report.md).
#pragma once

#include "join/place/placement.hpp"
#include "join/rows/row.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

// A cause for which a device waits while it is idle; the words are in idle.cpp.
enum class IdleReason : std::uint8_t {
  kLaunchingThread,    // the launch came late
  kBetweenIterations,  // that of an iteration's first work did
  kSynchronisation,    // the launch came late, its thread had waited for the device
  kOtherStreams,       // or ranks: the launch stood in the queue
  kStarts,             // the same, for no longer than the device takes to begin
  kNotKnown,
};
inline constexpr std::size_t kIdleReasons = 6;

// Idle time before the launches of one layer, or of one event without one.
struct IdleBehind {
  std::string place;
  double us = 0.0;
};

struct IdlePart {
  IdleReason reason = IdleReason::kNotKnown;
  double us = 0.0;  // of an iteration
  std::optional<Interval> ci95_us;
  std::vector<IdleBehind> behind;  // the largest first
};

// The idle time of one device; the parts add up.
struct Idle {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  double idle_us = 0.0;  // Shares::idle
  std::array<IdlePart, kIdleReasons> parts{};
};

// Returns what one device waits for, of whose iteration `idle_us` are idle.  Empty where the file
// does not say which launches came late.
[[nodiscard]] std::optional<Idle> find_idle(const std::vector<Run>& runs,
                                            const std::vector<Row>& rows,
                                            const Placement& placement, const DeviceKey& device,
                                            double idle_us);

// Returns that of all devices for which it is known.
[[nodiscard]] std::vector<Idle> find_idle(const std::vector<Run>& runs,
                                          const std::vector<Row>& rows, const Placement& placement,
                                          const DividedIteration& divided);

// Returns the part of which there is most; null where none is known.
[[nodiscard]] const IdlePart* largest_part(const Idle& idle);
// Returns the mean over devices; empty where it is known of none.
[[nodiscard]] std::optional<Idle> mean_idle(const std::vector<Idle>& of_devices);

// "the launching thread"
[[nodiscard]] std::string_view idle_reason_name(IdleReason reason);

// The time that the devices of several ranks wait for each other in collectives, as far as the
// files of all that meet are there.
//
// A collective ends on all of them together, so the one that takes least has come last: its time is
// what the transfer takes, what the others take above it is waiting.  Waiting beside which no other
// work of the device runs is exposed.

// The time that a device waits in an iteration for the one that comes last to collectives.
struct RankWait {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  std::size_t for_profile = 0;
  std::int64_t for_device_id = 0;
  double us = 0.0;
  double exposed_us = 0.0;  // of it, with nothing else to do
};

// Returns `rows` with waited_us of those of collectives that meet.
[[nodiscard]] std::vector<Row> with_waits(std::vector<Row> rows);
// Sums the waits up for each pair of devices; none where an iteration's time is not known.
[[nodiscard]] std::vector<RankWait> rank_waits(const std::vector<Row>& rows,
                                               const Placement& placement,
                                               const IterationShares& shares);

// A device that comes last to collectives.
struct LastDevice {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  double percent = 0.0;          // of the others' iterations that they wait for it, as a mean
  double exposed_percent = 0.0;  // of it, with nothing else to do
};
// Returns them with the one that costs most first.
[[nodiscard]] std::vector<LastDevice> last_devices(const std::vector<RankWait>& waits,
                                                   const std::vector<Run>& runs);
// "rank 1 (host, device 0)"
[[nodiscard]] std::string name_of(const LastDevice& device, const std::vector<Run>& runs);

// Rows of several ranks that are one collective.

// Indices into `candidates`, which are rows: those of each collective that several of them take
// part in.
[[nodiscard]] std::vector<std::vector<std::size_t>> meetings_of(
    const std::vector<Row>& rows, std::span<const std::size_t> candidates);

}  // namespace inline_prof::join
