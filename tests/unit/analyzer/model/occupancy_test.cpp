#include "model/occupancy.hpp"

#include "testing.hpp"

// The vendor's own calculator, where there is a toolkit: a header of plain C.
#ifdef INLINE_PROF_HAS_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace inline_prof::model {
namespace {

SmLimits hopper() {
  return *sm_limits("9.0");
}

TEST(Occupancy, IsWhatTheScarcestResourceAllows) {
  const struct {
    BlockResources block;
    std::int64_t blocks;
    OccupancyLimit limit;
  } rows[] = {// 2048 threads / 512 = 4; 32 registers * 512 = 16384 of 65536 would be 4 too.
              {{.threads = 512, .registers_per_thread = 16}, 4, OccupancyLimit::kThreads},
              {{.threads = 32, .registers_per_thread = 16}, 32, OccupancyLimit::kBlocks},
              // 128 registers * 32 threads = 4096 a warp; a partition of 16384 holds 4 warps, the
              // SM 16: two
              // blocks of 8.
              {{.threads = 256, .registers_per_thread = 128}, 2, OccupancyLimit::kRegisters},
              // 100 KiB and the driver's one of 228 KiB.
              {{.threads = 128, .registers_per_thread = 32, .shared_bytes = 102400},
               2,
               OccupancyLimit::kSharedMemory}};
  for (const auto& [block, blocks, limit] : rows) {
    const Occupancy o = resident_blocks(block, hopper());
    EXPECT_EQ(o.blocks_per_sm, blocks) << block.threads;
    EXPECT_EQ(o.limit, limit) << block.threads;
  }
}

TEST(Occupancy, IsNoneForABlockThatDoesNotFit) {
  EXPECT_EQ(resident_blocks({.threads = 1025}, hopper()).blocks_per_sm, 0);
  EXPECT_EQ(resident_blocks({.threads = 32, .registers_per_thread = 256}, hopper()).blocks_per_sm,
            0);
  EXPECT_EQ(resident_blocks({.threads = 32, .shared_bytes = 233472}, hopper()).blocks_per_sm, 0);
}

TEST(Occupancy, GivesTheTitanXpsBlocksOfAGemm) {
  // A 128x128 tile with 256 threads and 127 registers: two blocks an SM, SEER's 60 on 30 of them.
  const Occupancy o = resident_blocks(
      {.threads = 256, .registers_per_thread = 127, .shared_bytes = 16384}, *sm_limits("6.1"));
  EXPECT_EQ(o.blocks_per_sm * 30, 60);
}

TEST(Occupancy, RefusesWhatIsNoBlock) {
  EXPECT_THROW(static_cast<void>(resident_blocks({.threads = 0}, hopper())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(resident_blocks({.threads = 32, .shared_bytes = -1}, hopper())),
               std::invalid_argument);
}

TEST(Occupancy, DoesNotKnowOtherArchitectures) {
  EXPECT_FALSE(sm_limits("3.5"));
  EXPECT_FALSE(sm_limits("90"));
  EXPECT_FALSE(sm_limits(""));
}

#ifdef INLINE_PROF_HAS_CUDA_OCCUPANCY
// The vendor's answer for the same SM.
int vendor_blocks(int major, int minor, const SmLimits& sm, const BlockResources& block) {
  cudaOccDeviceProp device;
  device.computeMajor = major;
  device.computeMinor = minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = static_cast<int>(sm.threads);
  device.regsPerBlock = static_cast<int>(sm.registers);
  device.regsPerMultiprocessor = static_cast<int>(sm.registers);
  device.warpSize = 32;
  device.sharedMemPerBlock = 49152;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(sm.shared_bytes_per_block);
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(sm.shared_bytes);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(sm.reserved_bytes);
  device.numSms = 1;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = 1024;
  function.numRegs = static_cast<int>(block.registers_per_thread);
  function.sharedSizeBytes = 0;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block.shared_bytes);
  const cudaOccDeviceState state;
  cudaOccResult result;
  const auto status = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &function, &state, static_cast<int>(block.threads),
      static_cast<std::size_t>(block.shared_bytes));
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
}

TEST(Occupancy, AgreesWithTheVendorsCalculator) {
  const struct {
    int major;
    int minor;
  } capabilities[] = {{6, 0}, {6, 1}, {7, 0}, {7, 5},  {8, 0},
                      {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};
  int compared = 0;
  for (const auto& [major, minor] : capabilities) {
    const std::string name = std::to_string(major) + '.' + std::to_string(minor);
    const SmLimits sm = *sm_limits(name);
    for (const std::int64_t threads :
         {1, 32, 33, 64, 96, 128, 192, 256, 320, 384, 512, 768, 1024}) {
      for (std::int64_t registers = 0; registers <= 255; registers += 5) {
        for (const std::int64_t shared : {0, 1, 500, 4096, 10000, 16384, 24000, 32768, 49152, 60000,
                                          98304, 100000, 166912, 200000, 232448, 233000}) {
          const BlockResources block{threads, registers, shared};
          EXPECT_EQ(resident_blocks(block, sm).blocks_per_sm,
                    vendor_blocks(major, minor, sm, block))
              << name << ": " << threads << " threads, " << registers << " registers, " << shared
              << " bytes";
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 100000);
}
#endif

}  // namespace
}  // namespace inline_prof::model
