// Why a device is idle: each gap between its rows is laid to what begins after it.
//
// A launch that found its stream empty (a sample that is not tight) came late: the device waited
// for the thread that makes it.  Where that thread had just come back from a call that waits for
// the device, it waited for that; before the first launch of an iteration, for what the program
// does between iterations.  A launch that stood in the queue already waited for something else
// (docs/reading_a_report.md).
#pragma once

#include "join/place/placement.hpp"
#include "join/place/shares.hpp"
#include "join/rows/row.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

}  // namespace inline_prof::join
