#include "model/occupancy.hpp"

#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kThreadsPerBlock = 1024;
constexpr std::int64_t kRegistersPerThread = 255;
constexpr std::int64_t kRegisterGranularity = 256;  // a warp's registers come in such pieces
constexpr std::int64_t kKib = 1024;

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return ceil_div(value, to) * to;
}

struct Architecture {
  std::string_view compute_capability;
  SmLimits sm;
};

constexpr Architecture pascal(std::string_view name, std::int64_t partitions,
                              std::int64_t shared_kib) {
  return {name, {2048, 32, 65536, partitions, shared_kib * kKib, 48 * kKib, 0, 256}};
}
constexpr Architecture volta(std::string_view name, std::int64_t threads, std::int64_t blocks,
                             std::int64_t shared_kib) {
  return {name, {threads, blocks, 65536, 4, shared_kib * kKib, shared_kib * kKib, 0, 256}};
}
// From Ampere on, the driver takes one KiB of each block.
constexpr Architecture ampere(std::string_view name, std::int64_t threads, std::int64_t blocks,
                              std::int64_t shared_kib) {
  return {name, {threads, blocks, 65536, 4, shared_kib * kKib, (shared_kib - 1) * kKib, kKib, 128}};
}

constexpr std::array kArchitectures = {
    pascal("6.0", 2, 64),          pascal("6.1", 4, 96),          volta("7.0", 2048, 32, 96),
    volta("7.5", 1024, 16, 64),    ampere("8.0", 2048, 32, 164),  ampere("8.6", 1536, 16, 100),
    ampere("8.9", 1536, 24, 100),  ampere("9.0", 2048, 32, 228),  ampere("10.0", 2048, 32, 228),
    ampere("10.3", 2048, 32, 228), ampere("12.0", 1536, 24, 100), ampere("12.1", 1536, 24, 100),
};

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t by_registers(const BlockResources& block, const SmLimits& sm, std::int64_t warps) {
  if (block.registers_per_thread > kRegistersPerThread) return 0;
  const std::int64_t per_warp = round_up(block.registers_per_thread * kWarp, kRegisterGranularity);
  // A launch is refused if the block needs more than there is with its warps rounded up to four
  // partitions; a GP100 (6.0), which has two, refuses what the other Pascals do.
  if (per_warp * round_up(warps, 4) > sm.registers) return 0;
  if (per_warp == 0) return kNoLimit;
  const std::int64_t warps_per_partition = sm.registers / sm.partitions / per_warp;
  return warps_per_partition * sm.partitions / warps;
}

std::int64_t by_shared_memory(const BlockResources& block, const SmLimits& sm) {
  const std::int64_t allocated =
      round_up(block.shared_bytes + sm.reserved_bytes, sm.shared_granularity);
  if (block.shared_bytes > sm.shared_bytes_per_block) return 0;
  return allocated == 0 ? kNoLimit : sm.shared_bytes / allocated;
}

}  // namespace

std::optional<SmLimits> sm_limits(std::string_view compute_capability) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.compute_capability == compute_capability) return architecture.sm;
  }
  return std::nullopt;
}

std::string_view occupancy_limit_name(OccupancyLimit limit) {
  constexpr std::array<std::string_view, 4> names{"threads", "blocks", "registers",
                                                  "shared memory"};
  return names.at(static_cast<std::size_t>(limit));
}

Occupancy resident_blocks(const BlockResources& block, const SmLimits& sm) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // far above any GPU, far below overflow
  if (block.threads <= 0 || block.registers_per_thread < 0 || block.shared_bytes < 0 ||
      block.threads > most || block.registers_per_thread > most || block.shared_bytes > most) {
    throw std::invalid_argument("a block needs threads, and no negative registers or bytes");
  }
  const std::int64_t warps = ceil_div(block.threads, kWarp);
  const std::int64_t by_threads = block.threads > kThreadsPerBlock ? 0 : sm.threads / kWarp / warps;
  Occupancy occupancy{.blocks_per_sm = by_threads, .limit = OccupancyLimit::kThreads};
  for (const auto& [blocks, limit] :
       {std::pair(sm.blocks, OccupancyLimit::kBlocks),
        std::pair(by_registers(block, sm, warps), OccupancyLimit::kRegisters),
        std::pair(by_shared_memory(block, sm), OccupancyLimit::kSharedMemory)}) {
    if (blocks < occupancy.blocks_per_sm) occupancy = {blocks, limit};
  }
  return occupancy;
}

}  // namespace inline_prof::model
