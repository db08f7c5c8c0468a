#include "report/plot/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace inline_prof::report {
namespace {

double base_of(Scale scale) {
  return scale == Scale::kBytes ? 2.0 : 10.0;
}

double log_in(Scale scale, double value) {
  return scale == Scale::kBytes ? std::log2(value) : std::log10(value);
}

// "4 KiB"; powers of two only.
std::string bytes_text(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:g} {}", bytes, units[unit]);
}

// 1, 2 and 5 times powers of ten, where powers alone would be too few.
std::vector<Tick> narrow_log_ticks(const Span& span) {
  std::vector<Tick> found;
  for (double power = std::pow(10.0, std::floor(std::log10(span.from))); power <= span.to;
       power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if (value >= span.from && value <= span.to)
        found.push_back({value, fmt::format("{:g}", value)});
    }
  }
  return found;
}

std::vector<Tick> log_ticks(Scale scale, const Span& span, int most) {
  constexpr double hair = 1e-9;
  const int first = static_cast<int>(std::ceil(log_in(scale, span.from) - hair));
  const int last = static_cast<int>(std::floor(log_in(scale, span.to) + hair));
  if (scale == Scale::kLog10 && last - first < 2) return narrow_log_ticks(span);
  const int step = std::max(1, (last - first + most) / most);
  std::vector<Tick> found;
  for (int power = first; power <= last; ++power) {
    if (power % step != 0) continue;
    const double value = std::pow(base_of(scale), power);
    found.push_back(
        {value, scale == Scale::kBytes ? bytes_text(value) : fmt::format("{:g}", value)});
  }
  return found;
}

// Steps of 1, 2 or 5 times a power of ten.
std::vector<Tick> linear_ticks(const Span& span, int most) {
  const double least_step = (span.to - span.from) / most;
  const double power = std::pow(10.0, std::floor(std::log10(least_step)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least_step) {
      step = factor * power;
      break;
    }
  }
  std::vector<Tick> found;
  const double first = std::ceil(span.from / step - 1e-9);
  for (double i = first; i * step <= span.to + 1e-9 * step; ++i) {
    const double value = i * step;
    found.push_back({value, fmt::format("{:g}", std::abs(value) < 1e-9 * step ? 0.0 : value)});
  }
  return found;
}

}  // namespace

bool has_place(Scale scale, double value) {
  return std::isfinite(value) && (scale == Scale::kLinear || value > 0);
}

Span span_of(Scale scale, const std::vector<double>& values, bool with_zero) {
  std::vector<double> usable;
  std::ranges::copy_if(values, std::back_inserter(usable),
                       [&](double value) { return has_place(scale, value); });
  if (with_zero && scale == Scale::kLinear) usable.push_back(0.0);
  if (usable.empty()) return scale == Scale::kLinear ? Span{0, 1} : Span{1, 10};
  const auto [least, most] = std::ranges::minmax(usable);
  constexpr double margin = 0.04;
  if (scale != Scale::kLinear) {
    const double room = std::max(margin * std::log(most / least), 0.1);
    return {least * std::exp(-room), most * std::exp(room)};
  }
  const double room = most > least ? margin * (most - least) : std::max(1.0, std::abs(most));
  return {with_zero && least >= 0 ? 0.0 : least - room, most + room};
}

double place(Scale scale, const Span& span, double value) {
  if (scale == Scale::kLinear) return (value - span.from) / (span.to - span.from);
  return std::log(value / span.from) / std::log(span.to / span.from);
}

std::vector<Tick> ticks(Scale scale, const Span& span, int most) {
  return scale == Scale::kLinear ? linear_ticks(span, most) : log_ticks(scale, span, most);
}

}  // namespace inline_prof::report
