// Tests whether a pair of events around a launch with programmatic stream serialization takes its
// overlap away (claim 18).
//
// A kernel of 200 us lets its successor start at once; the successor, of 200 us too, waits for
// nothing.  If they overlap, both together take well less than the two one after the other.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <cuda_runtime.h>

#include <vector>

namespace {

using namespace inline_prof::gpu_test;

constexpr double kLengthUs = 200;
constexpr int kRepeats = 30;

__global__ void leads(std::int64_t cycles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  spin_cycles(cycles);
}

__global__ void follows(std::int64_t cycles) {
  spin_cycles(cycles);
}

enum class Between { kNothing, kPair, kOrder };

class Overlap {
 public:
  Overlap() {
    for (cudaEvent_t& event : events_)
      check(cudaEventCreate(&event), "cudaEventCreate");
    int clock_khz = 0;
    check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
    cycles_ = static_cast<std::int64_t>(kLengthUs * clock_khz * 1e-3);
  }

  // Returns the median time of both kernels; kOrder has no attribute, so that one follows the
  // other.
  double both_us(Between between) {
    std::vector<double> times_us;
    for (int i = 0; i < kRepeats; ++i) {
      leads<<<1, 1, 0, stream_>>>(cycles_);  // keeps the stream busy
      record(0);
      leads<<<1, 1, 0, stream_>>>(cycles_);
      if (between == Between::kPair) record(1);
      launch_follower(between != Between::kOrder);
      if (between == Between::kPair) record(2);
      record(3);
      wait(stream_);
      float ms = 0;
      check(cudaEventElapsedTime(&ms, events_[0], events_[3]), "cudaEventElapsedTime");
      times_us.push_back(static_cast<double>(ms) * 1e3);
    }
    return median(times_us);
  }

 private:
  void record(int event) { check(cudaEventRecord(events_[event], stream_), "cudaEventRecord"); }

  void launch_follower(bool may_overlap) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.stream = stream_;
    config.attrs = &attribute;
    config.numAttrs = may_overlap ? 1 : 0;
    check(cudaLaunchKernelEx(&config, follows, cycles_), "cudaLaunchKernelEx");
  }

  cudaStream_t stream_ = make_stream();
  cudaEvent_t events_[4] = {};
  std::int64_t cycles_ = 0;
};

}  // namespace

int main() {
  skip_without_gpu();
  Answers answers;
  Overlap overlap;
  const double ordered_us = overlap.both_us(Between::kOrder);
  const double overlapping_us = overlap.both_us(Between::kNothing);
  const double with_pair_us = overlap.both_us(Between::kPair);
  const std::string figures = text_of(
      "two kernels one after the other %.1f us, with programmatic stream serialization %.1f us, "
      "with a pair around the second %.1f us",
      ordered_us, overlapping_us, with_pair_us);
  // A tenth of a kernel is more than launches and events take.
  constexpr double kMarginUs = kLengthUs / 10;
  if (overlapping_us > ordered_us - kMarginUs) {
    std::fprintf(stderr, "skipped: this GPU does not overlap them: %s\n", figures.c_str());
    return kSkipped;
  }
  answers.expect(with_pair_us > ordered_us - kMarginUs,
                 "18: a pair takes the overlap away: " + figures);
  return answers.exit_status();
}
