// Times work on the GPU by event pairs behind work that holds the stream back.
#pragma once

#include "measure/gpu.hpp"
#include "measure/pacing.hpp"

#include <array>
#include <vector>

namespace inline_prof::measure {

class Stopwatch {
 public:
  explicit Stopwatch(Gpu& gpu);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Returns raw times in microseconds.  Work in front of each pair keeps the stream busy, so that
  // neither host nor launch is in it: a kernel that waits, for kCold one that overwrites the L2, or
  // the work itself, `runs_in_front` times.  Ends when there are enough repeats, or after `most_s`.
  [[nodiscard]] std::vector<double> times_us(const Work& work, L2State l2,
                                             const RepeatLimits& limits, double most_s,
                                             std::size_t runs_in_front = 0);
  // Runs the work back to back until power and clocks settle.  Returns how many runs keep the
  // stream busy while a pair is queued.  Throws Skipped for work that the host cannot launch fast
  // enough.
  [[nodiscard]] std::size_t load(const Work& work, double seconds);
  // Measures the median of pairs with nothing between them, behind work.
  [[nodiscard]] double measure_floor_us();

 private:
  static constexpr std::size_t kPairs = 8;

  struct Pair {
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;
  };

  // Work that keeps the stream busy in front of a pair.
  struct Front {
    bool hold_back = true;
    std::size_t runs = 0;
  };

  void queue(const Work& work, const Pair& pair, const Front& front, L2State l2);
  void read(std::size_t count, std::vector<double>& times);

  Gpu& gpu_;
  std::array<Pair, kPairs> pairs_;
};

}  // namespace inline_prof::measure
