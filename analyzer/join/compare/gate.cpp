#include "join/compare/gate.hpp"

#include "base/text.hpp"
#include "read/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace inline_prof::join {
namespace {

// A value and the interval that holds it with 95 %.
struct Measured {
  double value = 0.0;
  std::optional<Interval> ci95;
};

struct RowMetric {
  std::string_view name;
  std::function<std::optional<Measured>(const MergedRow&)> of;
};

// A number of the whole run: its interval is a point, unless it is known better.
struct RunMetric {
  std::string_view name;
  std::function<std::optional<Measured>(const Analysis&)> of;
};

std::optional<Measured> exactly(const std::optional<double>& value) {
  if (!value) return {};
  return Measured{*value, Interval{*value, *value}};
}

std::optional<Measured> corrected_time(const MergedRow& row) {
  if (!row.corrected_us) return {};
  Measured time{*row.corrected_us, {}};
  if (row.raw_ci95_us) {
    const double bias_us = *row.raw_us - *row.corrected_us;
    time.ci95 =
        Interval{std::max(0.0, row.raw_ci95_us->lower - bias_us), row.raw_ci95_us->upper - bias_us};
  }
  return time;
}

std::optional<Measured> ratio(const MergedRow& row) {
  auto time = corrected_time(row);
  if (!time || !row.predicted_us) return {};
  time->value /= *row.predicted_us;
  if (time->ci95) {
    time->ci95->lower /= *row.predicted_us;
    time->ci95->upper /= *row.predicted_us;
  }
  return time;
}

std::optional<Measured> iteration_ms(const Analysis& analysis) {
  const auto& [us, ci95_us] = analysis.iteration;
  if (!us) return {};
  Measured time{*us / 1e3, {}};
  if (ci95_us) time.ci95 = Interval{ci95_us->lower / 1e3, ci95_us->upper / 1e3};
  return time;
}

// Returns the overhead of the file that paid most.
std::optional<Measured> overhead_percent(const Analysis& analysis) {
  std::optional<Measured> worst;
  for (const Run& run : analysis.runs) {
    const auto& overhead = run.profile.overhead;
    if (!overhead || !overhead->slowdown_percent) return {};
    if (worst && worst->value >= *overhead->slowdown_percent) continue;
    worst = Measured{*overhead->slowdown_percent, {}};
    if (const auto& ci95 = overhead->slowdown_percent_ci95) {
      worst->ci95 = Interval{ci95->first, ci95->second};
    }
  }
  return worst;
}

std::optional<Measured> share(const Analysis& analysis, double Shares::*part) {
  if (!analysis.shares_percent) return {};
  return exactly((*analysis.shares_percent).*part);
}

const std::vector<RowMetric>& row_metrics() {
  static const std::vector<RowMetric> metrics{
      {"ratio", ratio}, {"time_us", corrected_time}, {"share_percent", [](const MergedRow& row) {
                                                        return exactly(row.share_percent);
                                                      }}};
  return metrics;
}

const std::vector<RunMetric>& run_metrics() {
  static const std::vector<RunMetric> metrics{
      {"iteration_ms", iteration_ms},
      {"overhead_percent", overhead_percent},
      {"predicted_percent", [](const Analysis& a) { return share(a, &Shares::predicted); }},
      {"measured_percent", [](const Analysis& a) { return share(a, &Shares::measured); }},
      {"seen_percent", [](const Analysis& a) { return share(a, &Shares::seen); }},
      {"idle_percent", [](const Analysis& a) { return share(a, &Shares::idle); }},
      {"mape_percent",
       [](const Analysis& a) {
         return a.errors ? exactly(100 * a.errors->mape) : std::optional<Measured>{};
       }},
      {"gmae_percent", [](const Analysis& a) {
         return a.errors ? exactly(100 * a.errors->gmae) : std::optional<Measured>{};
       }}};
  return metrics;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

bool holds(const Gate& gate, double value) {
  if (value == gate.limit) return gate.includes_limit;
  return gate.is_upper_limit ? value < gate.limit : value > gate.limit;
}

GateResult check(const Gate& gate, const Measured& measured) {
  if (!measured.ci95) return GateResult::kUndecided;
  const bool lower_holds = holds(gate, measured.ci95->lower);
  const bool upper_holds = holds(gate, measured.ci95->upper);
  if (lower_holds != upper_holds) return GateResult::kUndecided;
  return lower_holds ? GateResult::kPassed : GateResult::kFailed;
}

std::string describe(const Measured& measured) {
  if (!measured.ci95) {
    return fmt::format("{:.4g}, too few samples for an interval", measured.value);
  }
  if (measured.ci95->lower == measured.ci95->upper) return fmt::format("{:.4g}", measured.value);
  return fmt::format("{:.4g}, 95 % interval [{:.4g}, {:.4g}]", measured.value, measured.ci95->lower,
                     measured.ci95->upper);
}

GateOutcome check_rows(const Gate& gate, const RowMetric& metric, const Analysis& analysis) {
  std::size_t checked = 0;
  GateOutcome outcome;
  outcome.result = GateResult::kPassed;
  for (const MergedRow& row : analysis.merged) {
    if (!gate.layers.empty() && !base::glob_matches(gate.layers, row.layer)) continue;
    const auto measured = metric.of(row);
    if (!measured) continue;
    ++checked;
    const GateResult result = check(gate, *measured);
    const bool is_worse = result == GateResult::kFailed ? outcome.result != GateResult::kFailed
                                                        : result == GateResult::kUndecided &&
                                                              outcome.result == GateResult::kPassed;
    if (!is_worse) continue;
    outcome = {result,
               fmt::format("{}{}{} is {}", row.layer, row.layer.empty() ? "" : " ", row.event,
                           describe(*measured)),
               measured->value, measured->ci95};
  }
  if (checked == 0) {
    return {GateResult::kUndecided, fmt::format("no row has a {}{}", gate.metric,
                                                gate.layers.empty() ? "" : " in " + gate.layers)};
  }
  if (outcome.result == GateResult::kPassed) {
    outcome.detail = fmt::format("{} row{}", checked, checked == 1 ? "" : "s");
  }
  return outcome;
}

}  // namespace

std::string gate_metrics() {
  std::vector<std::string_view> names;
  for (const RowMetric& metric : row_metrics())
    names.push_back(metric.name);
  for (const RunMetric& metric : run_metrics())
    names.push_back(metric.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Gate parse_gate(const std::string& text) {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(fmt::format("\"{}\": {}", text, what));
  };
  Gate gate;
  gate.text = text;
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string::npos) {
    throw fail("expected METRIC < NUMBER, or one of <= > >= in between, found none of them");
  }
  gate.is_upper_limit = text[at] == '<';
  gate.includes_limit = at + 1 < text.size() && text[at + 1] == '=';
  gate.metric = trimmed(std::string_view(text).substr(0, at));
  const bool has_layers = gate.metric.ends_with(']');
  if (const std::size_t open = gate.metric.find('['); open != std::string::npos || has_layers) {
    if (!has_layers || open == std::string::npos) {
      throw fail(fmt::format("expected METRIC[LAYER], found {}", gate.metric));
    }
    gate.layers =
        trimmed(std::string_view(gate.metric).substr(open + 1, gate.metric.size() - open - 2));
    gate.metric = trimmed(gate.metric.substr(0, open));
  }
  const bool is_of_rows = std::ranges::any_of(
      row_metrics(), [&](const RowMetric& metric) { return metric.name == gate.metric; });
  const bool is_of_run = std::ranges::any_of(
      run_metrics(), [&](const RunMetric& metric) { return metric.name == gate.metric; });
  if (!is_of_rows && !is_of_run) {
    throw fail(fmt::format("expected one of {}, found \"{}\"", gate_metrics(), gate.metric));
  }
  if (has_layers && !is_of_rows) {
    throw fail(fmt::format("{} is a number of the whole run and takes no layer", gate.metric));
  }
  const std::string number =
      trimmed(std::string_view(text).substr(at + (gate.includes_limit ? 2 : 1)));
  const char* end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, gate.limit);
  if (error != std::errc{} || rest != end || !std::isfinite(gate.limit)) {
    throw fail(fmt::format("expected a number after {}, found \"{}\"",
                           text.substr(at, gate.includes_limit ? 2 : 1), number));
  }
  return gate;
}

GateOutcome check_gate(const Gate& gate, const Analysis& analysis) {
  for (const RowMetric& metric : row_metrics()) {
    if (metric.name == gate.metric) return check_rows(gate, metric, analysis);
  }
  for (const RunMetric& metric : run_metrics()) {
    if (metric.name != gate.metric) continue;
    const auto measured = metric.of(analysis);
    if (!measured) return {GateResult::kUndecided, fmt::format("{} is not known", gate.metric)};
    return {check(gate, *measured), describe(*measured), measured->value, measured->ci95};
  }
  throw std::invalid_argument(fmt::format("{} is no metric", gate.metric));
}

}  // namespace inline_prof::join
