#include "measure/stopwatch.hpp"

#include "measure/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace inline_prof::measure {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the host needs to queue two records and a few launches.
constexpr double kHoldUs = 40;
constexpr std::size_t kFloorRepeats = 64;
// Length of the work in front of each pair under sustained load.
constexpr double kFrontUs = 2000;
// The host launches a library's kernel in less.  Shorter work would leave gaps and draw little
// power.
constexpr double kLeastLoadUs = 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Stopwatch::Stopwatch(Gpu& gpu) : gpu_(gpu) {
  for (Pair& pair : pairs_) {
    check(cudaEventCreate(&pair.start), "cudaEventCreate");
    check(cudaEventCreate(&pair.stop), "cudaEventCreate");
  }
}

Stopwatch::~Stopwatch() {
  for (const Pair& pair : pairs_) {
    static_cast<void>(cudaEventDestroy(pair.start));
    static_cast<void>(cudaEventDestroy(pair.stop));
  }
}

void Stopwatch::queue(const Work& work, const Pair& pair, const Front& front, L2State l2) {
  const cudaStream_t stream = gpu_.stream();
  if (l2 == L2State::kCold) launch_write(stream, gpu_.flush_memory(), gpu_.flush_bytes());
  if (front.hold_back) launch_hold(stream, gpu_.cycles(kHoldUs));
  for (std::size_t i = 0; i < front.runs; ++i)
    work.run(stream);
  check(cudaEventRecord(pair.start, stream), "cudaEventRecord");
  work.run(stream);
  check(cudaEventRecord(pair.stop, stream), "cudaEventRecord");
  check(cudaGetLastError(), "launch");
}

void Stopwatch::read(std::size_t count, std::vector<double>& times) {
  check(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize");
  for (std::size_t i = 0; i < count; ++i) {
    float time_ms = 0;
    check(cudaEventElapsedTime(&time_ms, pairs_[i].start, pairs_[i].stop), "cudaEventElapsedTime");
    times.push_back(static_cast<double>(time_ms) * 1e3);
  }
}

std::vector<double> Stopwatch::times_us(const Work& work, L2State l2, const RepeatLimits& limits,
                                        double most_s, std::size_t runs_in_front) {
  const Front front{.hold_back = runs_in_front == 0, .runs = runs_in_front};
  const auto start = Clock::now();
  std::vector<double> times;
  // Starts with one pair at a time, so that a case of a second is not repeated eight times.
  std::size_t batch = 1;
  do {
    for (std::size_t i = 0; i < batch; ++i)
      queue(work, pairs_[i], front, l2);
    read(batch, times);
    batch = std::min(kPairs, 2 * batch);
  } while (!is_enough(times, limits) &&
           (seconds_since(start) < most_s || times.size() < limits.least));
  return times;
}

std::size_t Stopwatch::load(const Work& work, double seconds) {
  const auto start = Clock::now();
  std::size_t runs = 1;
  do {
    const cudaStream_t stream = gpu_.stream();
    check(cudaEventRecord(pairs_[0].start, stream), "cudaEventRecord");
    for (std::size_t i = 0; i < runs; ++i)
      work.run(stream);
    check(cudaEventRecord(pairs_[0].stop, stream), "cudaEventRecord");
    std::vector<double> times;
    read(1, times);
    const double run_us = times.front() / static_cast<double>(runs);
    if (runs > 1 && run_us < kLeastLoadUs) {
      throw Skipped(fmt::format("takes {:.1f} us: too short to load the GPU, {} us are needed",
                                run_us, kLeastLoadUs));
    }
    runs = static_cast<std::size_t>(std::clamp(kFrontUs / std::max(run_us, 1.0), 1.0, 100.0)) + 1;
  } while (seconds_since(start) < seconds);
  return runs;
}

double Stopwatch::measure_floor_us() {
  const RepeatLimits all{.least = kFloorRepeats, .most = kFloorRepeats, .precision = 0};
  const Work nothing{.run = [](cudaStream_t) {}, .library = {}};
  return median_of(times_us(nothing, L2State::kWarm, all, 1)).median;
}

}  // namespace inline_prof::measure
