// From values to places along an axis, and the numbers beside it.
#pragma once

#include "report/plot/chart.hpp"

#include <string>
#include <vector>

namespace inline_prof::report {

// The values that an axis spans, from < to.
struct Span {
  double from = 0.0;
  double to = 1.0;
};

// Whether a value has a place on the scale at all.
[[nodiscard]] bool has_place(Scale scale, double value);

// The least span that holds all values, a little wider; something sensible if there are none.
// `with_zero`: a linear axis starts at 0, as bars want it.
[[nodiscard]] Span span_of(Scale scale, const std::vector<double>& values, bool with_zero);

// 0 at the start of the span, 1 at its end.
[[nodiscard]] double place(Scale scale, const Span& span, double value);

struct Tick {
  double value = 0.0;
  std::string text;
};

// At most `most` ticks, at round values.
[[nodiscard]] std::vector<Tick> ticks(Scale scale, const Span& span, int most);

}  // namespace inline_prof::report
