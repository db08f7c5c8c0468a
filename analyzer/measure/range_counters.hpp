// The GPU's own counters over one run of a work, by CUPTI's range profiler.
//
// Counting changes clocks and what can run side by side, so it is done apart from timing, in runs
// of its own: one for each pass that the counters need.
#pragma once

#include "measure/gpu.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::measure {

// Columns of a table, one for each counter, in the order of RangeCounters::count.
[[nodiscard]] const std::vector<std::string_view>& counter_columns();

class RangeCounters {
 public:
  // Throws Skipped in one sentence where they cannot be read: no CUPTI, an older one, a GPU that it
  // does not know, no privilege, another tool that has them.
  explicit RangeCounters(const Gpu& gpu);
  ~RangeCounters();
  RangeCounters(const RangeCounters&) = delete;
  RangeCounters& operator=(const RangeCounters&) = delete;

  // Runs the work once a pass.  Throws Skipped.
  [[nodiscard]] std::vector<double> count(const Work& work);

 private:
  struct Session;
  const Gpu& gpu_;
  std::unique_ptr<Session> session_;
};

}  // namespace inline_prof::measure
