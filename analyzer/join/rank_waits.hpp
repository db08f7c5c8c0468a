// What the devices of several ranks wait for each other in collectives, where the files of those
// that meet are there.
//
// A collective ends on all of them together, so the one that takes least has come last: its time is
// what the transfer takes, what the others take above it is waiting.  Waiting beside which no other
// work of the device runs is exposed.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace inline_prof::join {

// Sets waited_us of the rows of collectives that meet.
void find_waits(std::vector<Row>& rows);
// Sums them up for each device.  After the shares: rows have their times in the iteration.
void find_rank_waits(Analysis& analysis);

// A device that comes last to collectives.
struct LastDevice {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  double percent = 0.0;          // of the others' iterations that they wait for it, as a mean
  double exposed_percent = 0.0;  // of it, with nothing else to do
};
// The one that costs most first.
[[nodiscard]] std::vector<LastDevice> last_devices(const Analysis& analysis);
// "rank 1 (host, device 0)"
[[nodiscard]] std::string name_of(const LastDevice& device, const Analysis& analysis);

}  // namespace inline_prof::join
