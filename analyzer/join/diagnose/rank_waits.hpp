// The time that the devices of several ranks wait for each other in collectives, as far as the
// files of all that meet are there.
//
// A collective ends on all of them together, so the one that takes least has come last: its time is
// what the transfer takes, what the others take above it is waiting.  Waiting beside which no other
// work of the device runs is exposed.
#pragma once

#include "join/place/placement.hpp"
#include "join/place/shares.hpp"
#include "join/rows/row.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

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
