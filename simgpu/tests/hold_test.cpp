// Streams that wait for a word in memory.
#include "driver_fixture.hpp"

#include <array>
#include <thread>

namespace simgpu {
namespace {

class Hold : public DriverTest {};

TEST_F(Hold, KeepsSixteenPairsUntilTheHostStores) {
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  std::array<std::array<CUevent, 2>, 16> pairs{};
  for (auto& [start, end] : pairs) {
    start = record(stream_);
    ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
    end = record(stream_);
  }
  simgpu_advance_host_ns(1000000000);
  EXPECT_EQ(cuEventQuery(pairs[0][0]), CUDA_ERROR_NOT_READY);  // no time lets it go
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);

  *word = 1;
  for (const auto& [start, end] : pairs)
    EXPECT_NEAR(elapsed_us(start, end), 10.0, 1e-3);
}

TEST_F(Hold, GoesOnFromTheHostsClock) {
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  const CUevent before = record(stream_);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  const CUevent after = record(stream_);
  simgpu_advance_host_ns(5000000);
  *word = 1;
  EXPECT_NEAR(elapsed_us(before, after), 5000.0, 5.0);
}

TEST_F(Hold, DoesNothingIfTheWordIsThereAlready) {
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  *word = 3;
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 2, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  simgpu_advance_host_ns(1000);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

// cuda.h: the default condition is a cyclic comparison of (int32_t)(*addr - value) with 0.
TEST_F(Hold, ComparesCyclically) {
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  *word = 2;
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 0xfffffff0U, CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  simgpu_advance_host_ns(1000);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(Hold, IsReleasedByAnotherStream) {
  CUdeviceptr address = 0;
  new_word(address);
  CUstream other = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  const CUevent held = record(stream_);
  occupy(other);
  const CUevent done = record(other);
  ASSERT_EQ(cuStreamWriteValue32(other, address, 1, CU_STREAM_WRITE_VALUE_DEFAULT), CUDA_SUCCESS);
  EXPECT_NEAR(elapsed_us(done, held), 0.0, 1e-3);  // at the device's time, not the host's
}

TEST_F(Hold, LetsASynchronisingHostThreadGoWhenAnotherOneStores) {
  CUdeviceptr address = 0;
  auto* word = const_cast<std::uint32_t*>(new_word(address));
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  std::thread releaser([word] { __atomic_store_n(word, 1U, __ATOMIC_RELEASE); });
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  releaser.join();
}

TEST_F(Hold, NeedsMemoryThatTheDriverKnows) {
  std::uint32_t word = 1;
  EXPECT_EQ(cuStreamWaitValue32(stream_, reinterpret_cast<CUdeviceptr>(&word), 1, 0),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simgpu
