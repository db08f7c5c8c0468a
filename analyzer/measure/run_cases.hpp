// Times cases one after the other, until all are done or the time is up.
#pragma once

#include "measure/case.hpp"
#include "measure/pacing.hpp"
#include "measure/result_table.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::measure {

struct RunOptions {
  int device = 0;
  double memory_gb = 16;  // that may be taken on the GPU
  double budget_s = 480;
  double load_s = 1;    // of back-to-back work before a sustained case
  double case_s = 0.2;  // for the repeats of one case, once there are enough of them to count
  RepeatLimits repeats;
  std::uint64_t seed = 1;  // of the order
};

struct RunOutcome {
  std::size_t measured = 0;
  std::size_t left_over = 0;                   // the time was up
  std::map<std::string, std::size_t> skipped;  // by reason
};

// Measures the cases that no table has yet.  Saves tables every few seconds and at the end, also
// when an error ends the run.  Throws Skipped if nothing can be measured at all, and GpuError.
[[nodiscard]] RunOutcome run_cases(std::vector<Case> cases,
                                   std::map<std::string, ResultTable>& tables,
                                   const RunOptions& options);

}  // namespace inline_prof::measure
