// The times of an event over months, in bounded memory.
#pragma once

#include "watch/quantile_sketch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::watch {

// The samples of a stretch of time.
struct Bin {
  double start_s = 0;  // of its first sample, since profiling began
  double end_s = 0;    // of its last sample
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
  QuantileSketch sketch{};
};

// Bins of time: a minute wide when new, wider with age. Neighbours are merged to stay within the
// bound; after a month, bins a day old are about 8 hours wide.
class History {
 public:
  // 24 bins of an event are about 3,000 characters of JSON: 1,000 events stay below 4 MiB, with the
  // samples of their characterisation.
  static constexpr std::size_t kMostBins = 24;

  // Keeps up to `most_bins`, at least 2; fewer where the bins hold many buckets.
  explicit History(std::size_t most_bins = kMostBins);

  // Takes a sample. `time_s` never goes back; if it does, the sample counts at the newest time.
  // Iterations may: samples are read as they become ready.
  void add(double time_s, std::int64_t iteration, double value_ns);

  [[nodiscard]] const std::vector<Bin>& bins() const { return bins_; }  // oldest first
  [[nodiscard]] std::size_t bytes() const;

 private:
  void limit_bins();

  std::size_t most_bins_;
  std::vector<Bin> bins_{};
};

}  // namespace inline_prof::watch
