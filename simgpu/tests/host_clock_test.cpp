// SIMGPU_HOST_CLOCK=real: the host's clock is real time, here at half its speed.  How long a loaded
// machine takes is not known, so what it takes at least is asserted, and where the device must
// still be busy it is so for much longer than a thread is kept waiting.
#include "driver_fixture.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace simgpu {
namespace {

using std::chrono::milliseconds;
using Real = std::chrono::steady_clock;

constexpr unsigned kBlocksFor20ms = 20'000'000;

class RealHostClock : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    setenv("SIMGPU_HOST_CLOCK", "real", 1);
    setenv("SIMGPU_HOST_SPEED", "0.5", 1);
  }

  static void compute_for(milliseconds real) {
    for (const auto end = Real::now() + real; Real::now() < end;) {
    }
  }

  // Launches that are `real` apart, with an event behind each.
  std::vector<CUevent> launch_every(milliseconds real, int count, bool by_sleeping,
                                    std::barrier<>& both_have_begun) {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    CUstream stream = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    std::vector<CUevent> ends;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(launch(stream), CUDA_SUCCESS);
      ends.push_back(record(stream));
      if (i == 0) both_have_begun.arrive_and_wait();
      if (by_sleeping) {
        std::this_thread::sleep_for(real);
      } else {
        compute_for(real);
      }
    }
    return ends;
  }
};

TEST_F(RealHostClock, PassesForEachThreadWhetherItSleepsOrComputes) {
  std::array<std::vector<CUevent>, 2> ends;
  std::barrier both_have_begun(2);
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads[i] = std::thread(
        [&, i] { ends[i] = launch_every(milliseconds(4), 10, i == 0, both_have_begun); });
  }
  for (auto& thread : threads)
    thread.join();
  double sum_us = 0;
  for (const auto& of_thread : ends) {
    const double us = elapsed_us(of_thread.front(), of_thread.back());
    EXPECT_GE(us, 9 * 2000.0 - 10);  // the first kernel may have run when its end is recorded
    sum_us += us;
  }
  // Side by side: on one clock that both of them move it would be the sum.
  EXPECT_LT(elapsed_us(ends[0].front(), ends[1].back()), sum_us);
  EXPECT_LT(elapsed_us(ends[1].front(), ends[0].back()), sum_us);
}

TEST_F(RealHostClock, IsWaitedForInRealTime) {
  const auto begin = Real::now();
  ASSERT_EQ(launch(stream_, 15 * kBlocksFor20ms), CUDA_SUCCESS);
  const CUevent end = record(stream_);
  EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_GE(Real::now() - begin, milliseconds(600));
  EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

TEST_F(RealHostClock, LetsTheDeviceRunDryWhileTheHostComputes) {
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);  // 10 us
  const CUevent before = record(stream_);
  compute_for(milliseconds(10));
  const CUevent after = record(stream_);
  EXPECT_GE(elapsed_us(before, after), 5000.0 - 10);
}

TEST_F(RealHostClock, LeavesNoGapWhereTheHostIsAhead) {
  ASSERT_EQ(launch(stream_, 50 * kBlocksFor20ms), CUDA_SUCCESS);
  const CUevent before = record(stream_);
  compute_for(milliseconds(10));
  const CUevent after = record(stream_);
  EXPECT_DOUBLE_EQ(elapsed_us(before, after), 0.0);
}

TEST_F(RealHostClock, CallsTheHostWhenTheDeviceComesToIt) {
  const auto begin = Real::now();
  std::atomic<Real::time_point> called{begin};
  ASSERT_EQ(launch(stream_, kBlocksFor20ms), CUDA_SUCCESS);
  const auto note = [](void* to) {
    *static_cast<std::atomic<Real::time_point>*>(to) = Real::now();
  };
  ASSERT_EQ(cuLaunchHostFunc(stream_, note, &called), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_GE(called.load() - begin, milliseconds(40));
}

TEST_F(RealHostClock, IsAdvancedBySleeping) {
  const auto begin = Real::now();
  const auto virtual_begin = simgpu_host_now_ns();
  simgpu_advance_host_ns(5'000'000);
  EXPECT_GE(simgpu_host_now_ns() - virtual_begin, 5'000'000);
  EXPECT_GE(Real::now() - begin, milliseconds(10));
}

}  // namespace
}  // namespace simgpu
