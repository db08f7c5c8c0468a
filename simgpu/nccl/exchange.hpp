// The bytes of collectives, sends and receives: each rank lays down what it gives when its kernel
// begins, and takes what it is to get once all are there.
#pragma once

#include "nccl/operation.hpp"

#include <vector>

namespace simgpu {

// What a rank lays down for `operations`, all collectives of a group one after the other.
[[nodiscard]] std::vector<std::byte> given(const std::vector<Operation>& operations, int rank,
                                           int ranks);

// Writes this rank's results.  `all[r]` is what rank r has given.  Rounds as an addition in float32
// does for types with fewer bits; the order of the ranks is that of their numbers.
void take(const std::vector<Operation>& operations, int rank, int ranks,
          const std::vector<std::vector<std::byte>>& all);

// Bytes that each rank lays down for `operations`.
[[nodiscard]] std::size_t given_bytes(const std::vector<Operation>& operations, int ranks);

}  // namespace simgpu
