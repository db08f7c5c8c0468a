#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace inline_prof::model {

// A block's needs.
struct BlockResources {
  std::int64_t threads = 0;               // a block; greater than 0
  std::int64_t registers_per_thread = 0;  // as cuFuncGetAttribute says: before rounding up
  std::int64_t shared_bytes = 0;          // static and dynamic
};

// The resources of an SM.
struct SmLimits {
  std::int64_t threads = 0;
  std::int64_t blocks = 0;
  std::int64_t registers = 0;
  std::int64_t partitions = 0;              // warps and registers belong to one of these
  std::int64_t shared_bytes = 0;            // with the largest carve-out
  std::int64_t shared_bytes_per_block = 0;  // after opting in
  std::int64_t reserved_bytes = 0;          // of shared memory, taken by the driver for each block
  std::int64_t shared_granularity = 0;
};

// Returns the limits of a compute capability, "9.0"; empty if it is not known here (before 6.0, or
// newer than this file). Source: CUDA C++ Programming Guide 13.0, table "Technical Specifications
// per Compute Capability"; granularities, partitions and blocks a multiprocessor: cuda_occupancy.h
// of CUDA 13.0.
[[nodiscard]] std::optional<SmLimits> sm_limits(std::string_view compute_capability);

enum class OccupancyLimit { kThreads, kBlocks, kRegisters, kSharedMemory };
[[nodiscard]] std::string_view occupancy_limit_name(OccupancyLimit limit);

struct Occupancy {
  std::int64_t blocks_per_sm = 0;  // 0: the kernel cannot be launched
  OccupancyLimit limit =
      OccupancyLimit::kThreads;  // what keeps another block out; the first of several
};

// Returns how many blocks of a kernel one SM holds at once, with the largest shared memory
// carve-out. Blocks of a cluster, which have to be placed together, are not counted for. Throws
// std::invalid_argument for negative resources or no threads.
[[nodiscard]] Occupancy resident_blocks(const BlockResources& block, const SmLimits& sm);

}  // namespace inline_prof::model
