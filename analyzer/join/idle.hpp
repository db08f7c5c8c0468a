// Why a device is idle: each gap between its works is laid to what begins after it.
//
// A launch that found its stream empty (a sample that is not tight) came late: the device waited
// for the thread that makes it.  Where that thread had just come back from a call that waits for
// the device, it waited for that; before the first launch of an iteration, for what the program
// does between iterations.  A launch that stood in the queue already waited for something else
// (docs/reading_a_report.md).
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <span>

namespace inline_prof::join {

// Of one device, whose outermost rows are `outermost`; `idle_us` of the iteration is idle.  Empty
// where the file does not say which launches came late.
[[nodiscard]] std::optional<Idle> find_idle(const Analysis& analysis, std::size_t profile,
                                            std::int64_t device_id,
                                            std::span<const std::size_t> outermost, double idle_us);

// The part of which there is most; null where none is known.
[[nodiscard]] const IdlePart* largest_part(const Idle& idle);
// Of all devices, weighted alike.  Empty where it is known of none.
[[nodiscard]] std::optional<Idle> mean_idle(const Analysis& analysis);

// "the launching thread"
[[nodiscard]] std::string_view idle_reason_name(IdleReason reason);

}  // namespace inline_prof::join
