// Two runs of a program, layer by layer: is the second one slower?
#pragma once

#include "join/analysis.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

enum class Change { kSame, kFaster, kSlower, kAmbiguous };
[[nodiscard]] std::string_view change_name(Change change);  // "SAME"

// A time with the interval that holds it with 95 %.
struct Estimate {
  double value = 0.0;
  std::optional<Interval> ci95;
};

// One layer, or one event on all devices; times are corrected medians of an iteration.
struct ComparedTime {
  std::string layer;
  std::string event;  // empty: the layer as a whole
  std::int64_t occurrence = 0;
  std::optional<double> share_percent;  // of the first run's iteration
  Estimate before_us;
  Estimate after_us;
  std::optional<double> ratio;  // after / before
  std::optional<Interval> ratio_ci95;
  Change change = Change::kAmbiguous;
  std::string reason;  // why ambiguous; else empty
};

// A difference that may make two runs differ although the program is the same.
struct Difference {
  std::string what;  // clocks, driver, mig, libraries, events or gpu: a word for CompareOptions
  std::string text;  // "libraries: cublas 13.1.0 before, 13.2.0 after"
};

struct CompareOptions {
  double margin = 0.05;              // ratios from 1 / (1 + margin) to 1 + margin are the same
  std::vector<std::string> despite;  // differences that the user knows of: Difference::what
};

struct Comparison {
  double margin = 0.0;
  Interval same_ratios;      // that lie within it
  std::string phase_before;  // "phase 2 of 3: ..."; empty where the run has one
  std::string phase_after;
  std::optional<ComparedTime> iteration;
  std::vector<ComparedTime> layers;      // largest share first
  std::vector<ComparedTime> events;      // the same
  std::vector<std::string> only_before;  // events that the other run does not have
  std::vector<std::string> only_after;
  std::vector<Difference> differences;
};

// With an interval of the ratio that lies within the margin the change is kSame, beyond it kFaster
// or kSlower; an interval that spans a border of the margin, or a difference that is not in
// `despite`, leaves it kAmbiguous.
//
// The interval comes from those of the two medians, in logarithms: G. Y. Zou, A. Donner,
// "Construction of confidence limits about effect measures: a general approach", Statistics in
// Medicine 27(10), 2008, doi:10.1002/sim.3095.  A layer is the sum of its outermost events, its
// interval made of theirs in the same way.
//
// Throws std::invalid_argument if the two have no event in common.
[[nodiscard]] Comparison compare_runs(const Analysis& before, const Analysis& after,
                                      const CompareOptions& options);

}  // namespace inline_prof::join
