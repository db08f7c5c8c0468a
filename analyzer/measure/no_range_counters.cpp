// In place of range_counters.cpp where CUPTI is older than its range profiler (CUDA 12.6).
#include "measure/range_counters.hpp"

namespace inline_prof::measure {

struct RangeCounters::Session {};

const std::vector<std::string_view>& counter_columns() {
  static const std::vector<std::string_view> none;
  return none;
}

RangeCounters::RangeCounters(const Gpu& gpu) : gpu_(gpu) {
  throw Skipped("built without cupti_range_profiler.h");
}

RangeCounters::~RangeCounters() = default;

std::vector<double> RangeCounters::count(const Work&) {
  return {};
}

}  // namespace inline_prof::measure
