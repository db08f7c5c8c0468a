// Events and the order of streams in virtual time.
#include "driver_fixture.hpp"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace simgpu {
namespace {

class Events : public DriverTest {};
class Streams : public DriverTest {};

TEST_F(Events, PairBehindWorkReadsTheKernelsTime) {
  occupy(stream_);
  const CUevent start = record(stream_);
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  const CUevent end = record(stream_);
  EXPECT_NEAR(elapsed_us(start, end), 10.0, 1e-3);
}

TEST_F(Events, EmptyPairBehindWorkReadsNothing) {
  occupy(stream_);
  const CUevent start = record(stream_);
  EXPECT_NEAR(elapsed_us(start, record(stream_)), 0.0, 1e-6);
}

TEST_F(Events, PairOnAnIdleStreamReadsTheHostsGapToo) {
  const CUevent start = record(stream_);
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);  // reaches the device 2 us later
  EXPECT_NEAR(elapsed_us(start, record(stream_)), 12.0, 0.5);
}

TEST_F(Events, UnrecordedEventIsReadyButHasNoTime) {
  const CUevent event = new_event();
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Events, AreNotReadyBeforeTheDeviceGetsThere) {
  occupy(stream_);
  const CUevent event = record(stream_);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
}

TEST_F(Events, BecomeReadyAsTheHostsClockPasses) {
  occupy(stream_);
  const CUevent event = record(stream_);
  ASSERT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  simgpu_advance_host_ns(2000000);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
}

TEST_F(Events, WithoutTimingHaveNoTime) {
  const CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
  ASSERT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Events, OfAnotherContextAreRefused) {
  const CUevent event = new_event();
  CUcontext other = out(cuCtxCreate, nullptr, 0, device_);
  CUstream there = out(cuStreamCreate, CU_STREAM_DEFAULT);
  EXPECT_EQ(cuEventRecord(event, there), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(Events, InterprocessEventsMustNotHaveTiming) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Events, DestroyedHandlesAreRefused) {
  const CUevent event = new_event();
  ASSERT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Events, WaitUsesTheRecordAtTheTimeOfTheCall) {
  CUstream other = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
  const CUevent event = record(stream_);  // done at once
  ASSERT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
  occupy(stream_);
  ASSERT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);  // later records do not matter
  EXPECT_EQ(cuStreamQuery(other), CUDA_SUCCESS);
}

TEST_F(Streams, RunTheirWorkInOrder) {
  occupy(stream_);
  const CUevent start = record(stream_);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  EXPECT_NEAR(elapsed_us(start, record(stream_)), 30.0, 1e-3);
}

TEST_F(Streams, RunBesideEachOther) {
  CUstream other = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
  occupy(stream_);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(other), CUDA_SUCCESS);
}

TEST_F(Streams, WaitForEventsOfOthers) {
  CUstream other = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
  occupy(stream_);
  const CUevent end_of_first = record(stream_);
  ASSERT_EQ(cuStreamWaitEvent(other, end_of_first, 0), CUDA_SUCCESS);
  ASSERT_EQ(launch(other, kBlocksFor10us), CUDA_SUCCESS);
  EXPECT_NEAR(elapsed_us(end_of_first, record(other)), 10.0, 1e-3);
}

TEST_F(Streams, TheLegacyOneAndBlockingOnesWaitForEachOther) {
  CUstream blocking = out(cuStreamCreate, CU_STREAM_DEFAULT);
  for (const auto& [first, second] :
       {std::pair{blocking, CU_STREAM_LEGACY}, std::pair{CUstream{nullptr}, blocking}}) {
    occupy(first);
    const CUevent end = record(first);
    ASSERT_EQ(launch(second, kBlocksFor10us), CUDA_SUCCESS);
    EXPECT_NEAR(elapsed_us(end, record(second)), 10.0, 1e-3);
  }
}

TEST_F(Streams, NonBlockingOnesIgnoreTheLegacyStream) {
  occupy(nullptr);
  EXPECT_EQ(launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
}

TEST_F(Streams, PerThreadDefaultStreamIsAStreamOfItsOwn) {
  occupy(CU_STREAM_PER_THREAD);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);  // it is a blocking stream
}

TEST_F(Streams, DestroyedOnesFinishTheirWork) {
  occupy(stream_);
  const CUevent end = record(stream_);
  ASSERT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(launch(stream_), CUDA_ERROR_INVALID_HANDLE);
}

// The default queue_depth of the model is 1024 launches.
TEST_F(Streams, TakeSoManyLaunchesAndThenTheHostWaits) {
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  auto before = simgpu_host_now_ns();
  ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  EXPECT_EQ(simgpu_host_now_ns() - before, 2000);  // a call, no waiting
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  before = simgpu_host_now_ns();
  ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  EXPECT_EQ(simgpu_host_now_ns() - before, 100000);  // as long as the device takes for one kernel
}

TEST_F(Streams, CallTheHostInOrder) {
  int seen = 0;
  occupy(stream_);
  ASSERT_EQ(cuLaunchHostFunc(
                stream_, [](void* data) { *static_cast<int*>(data) = 7; }, &seen),
            CUDA_SUCCESS);
  const CUevent after = record(stream_);
  ASSERT_EQ(cuEventSynchronize(after), CUDA_SUCCESS);
  EXPECT_EQ(seen, 7);
}

// JAX waits for the second, and calls the driver no more.
TEST_F(Streams, CallTheHostAgainWithoutAFurtherCallOfTheDriver) {
  std::promise<void> called;
  occupy(stream_);
  ASSERT_EQ(cuLaunchHostFunc(
                stream_, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); },
                nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuLaunchHostFunc(
                stream_, [](void* data) { static_cast<std::promise<void>*>(data)->set_value(); },
                &called),
            CUDA_SUCCESS);
  EXPECT_EQ(called.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace simgpu
