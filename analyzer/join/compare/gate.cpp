#include "base/text.hpp"
#include "join/compare/compare.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::join {
namespace {

// A number of a row, or of the whole run: the interval of the latter is a point, unless it is known
// better.
struct Metric {
  std::string_view name;
  std::optional<Estimate> (*of_row)(const MergedRow& row) = nullptr;
  std::optional<Estimate> (*of_run)(const Analysis& analysis) = nullptr;
};

std::optional<Estimate> exactly(const std::optional<double>& value) {
  if (!value) return {};
  return Estimate{*value, Interval{*value, *value}};
}

Estimate scaled(const Estimate& estimate, double factor) {
  Estimate other{estimate.value / factor, {}};
  if (const auto& ci95 = estimate.ci95)
    other.ci95 = Interval{ci95->lower / factor, ci95->upper / factor};
  return other;
}

std::optional<Estimate> corrected_time(const MergedRow& row) {
  if (!row.corrected_us) return {};
  Estimate time{*row.corrected_us, {}};
  const double bias_us = *row.raw_us - *row.corrected_us;
  if (const auto& ci95 = row.raw_ci95_us)
    time.ci95 = Interval{std::max(0.0, ci95->lower - bias_us), ci95->upper - bias_us};
  return time;
}

std::optional<Estimate> ratio(const MergedRow& row) {
  const auto time = corrected_time(row);
  if (!time || !row.predicted_us) return {};
  return scaled(*time, *row.predicted_us);
}

std::optional<Estimate> iteration_ms(const Analysis& analysis) {
  const auto& [us, ci95_us] = analysis.iteration;
  if (!us) return {};
  return scaled({*us, ci95_us}, 1e3);
}

// Returns the overhead of the file that paid most.
std::optional<Estimate> overhead_percent(const Analysis& analysis) {
  std::optional<Estimate> worst;
  for (const Run& run : analysis.runs) {
    const auto& overhead = run.profile.overhead;
    if (!overhead || !overhead->slowdown_percent) return {};
    if (worst && worst->value >= *overhead->slowdown_percent) continue;
    worst = Estimate{*overhead->slowdown_percent, {}};
    if (const auto& ci95 = overhead->slowdown_percent_ci95)
      worst->ci95 = Interval{ci95->first, ci95->second};
  }
  return worst;
}

template <double Shares::*kPart>
std::optional<Estimate> share(const Analysis& analysis) {
  if (!analysis.shares_percent) return {};
  return exactly((*analysis.shares_percent).*kPart);
}

template <double Errors::*kError>
std::optional<Estimate> error_percent(const Analysis& analysis) {
  if (!analysis.errors) return {};
  return exactly(100 * (*analysis.errors).*kError);
}

constexpr Metric kMetrics[] = {
    {.name = "ratio", .of_row = ratio},
    {.name = "time_us", .of_row = corrected_time},
    {.name = "share_percent",
     .of_row = [](const MergedRow& row) { return exactly(row.share_percent); }},
    {.name = "iteration_ms", .of_run = iteration_ms},
    {.name = "overhead_percent", .of_run = overhead_percent},
    {.name = "predicted_percent", .of_run = share<&Shares::predicted>},
    {.name = "measured_percent", .of_run = share<&Shares::measured>},
    {.name = "seen_percent", .of_run = share<&Shares::seen>},
    {.name = "idle_percent", .of_run = share<&Shares::idle>},
    {.name = "mape_percent", .of_run = error_percent<&Errors::mape>},
    {.name = "gmae_percent", .of_run = error_percent<&Errors::gmae>}};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

bool holds(const Gate& gate, double value) {
  if (value == gate.limit) return gate.includes_limit;
  return gate.is_upper_limit ? value < gate.limit : value > gate.limit;
}

GateResult check(const Gate& gate, const Estimate& measured) {
  if (!measured.ci95) return GateResult::kUndecided;
  const bool lower_holds = holds(gate, measured.ci95->lower);
  const bool upper_holds = holds(gate, measured.ci95->upper);
  if (lower_holds != upper_holds) return GateResult::kUndecided;
  return lower_holds ? GateResult::kPassed : GateResult::kFailed;
}

std::string describe(const Estimate& measured) {
  if (!measured.ci95) return fmt::format("{:.4g}, too few samples for an interval", measured.value);
  if (measured.ci95->lower == measured.ci95->upper) return fmt::format("{:.4g}", measured.value);
  return fmt::format("{:.4g}, 95 % interval [{:.4g}, {:.4g}]", measured.value, measured.ci95->lower,
                     measured.ci95->upper);
}

GateOutcome check_rows(const Gate& gate, const Metric& metric, const Analysis& analysis) {
  std::size_t checked = 0;
  GateOutcome outcome;
  outcome.result = GateResult::kPassed;
  for (const MergedRow& row : analysis.merged) {
    if (!gate.layers.empty() && !base::glob_matches(gate.layers, row.layer)) continue;
    const auto measured = metric.of_row(row);
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
  if (checked == 0)
    return {GateResult::kUndecided, fmt::format("no row has a {}{}", gate.metric,
                                                gate.layers.empty() ? "" : " in " + gate.layers)};
  if (outcome.result == GateResult::kPassed)
    outcome.detail = fmt::format("{} row{}", checked, checked == 1 ? "" : "s");
  return outcome;
}

}  // namespace

std::string gate_metrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics)
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
  if (at == std::string::npos)
    throw fail("expected METRIC < NUMBER, or one of <= > >= in between, found none of them");
  gate.is_upper_limit = text[at] == '<';
  gate.includes_limit = at + 1 < text.size() && text[at + 1] == '=';
  gate.metric = trimmed(std::string_view(text).substr(0, at));
  const bool has_layers = gate.metric.ends_with(']');
  if (const std::size_t open = gate.metric.find('['); open != std::string::npos || has_layers) {
    if (!has_layers || open == std::string::npos)
      throw fail(fmt::format("expected METRIC[LAYER], found {}", gate.metric));
    gate.layers =
        trimmed(std::string_view(gate.metric).substr(open + 1, gate.metric.size() - open - 2));
    gate.metric = trimmed(gate.metric.substr(0, open));
  }
  const auto* const metric = std::ranges::find(kMetrics, gate.metric, &Metric::name);
  if (metric == std::end(kMetrics))
    throw fail(fmt::format("expected one of {}, found \"{}\"", gate_metrics(), gate.metric));
  if (has_layers && metric->of_row == nullptr)
    throw fail(fmt::format("{} is a number of the whole run and takes no layer", gate.metric));
  const std::string number =
      trimmed(std::string_view(text).substr(at + (gate.includes_limit ? 2 : 1)));
  const auto limit = read::number_of(number);
  if (!limit)
    throw fail(fmt::format("expected a number after {}, found \"{}\"",
                           text.substr(at, gate.includes_limit ? 2 : 1), number));
  gate.limit = *limit;
  return gate;
}

GateOutcome check_gate(const Gate& gate, const Analysis& analysis) {
  const auto* const metric = std::ranges::find(kMetrics, gate.metric, &Metric::name);
  if (metric == std::end(kMetrics))
    throw std::invalid_argument(fmt::format("{} is no metric", gate.metric));
  if (metric->of_row != nullptr) return check_rows(gate, *metric, analysis);
  const auto measured = metric->of_run(analysis);
  if (!measured) return {GateResult::kUndecided, fmt::format("{} is not known", gate.metric)};
  return {check(gate, *measured), describe(*measured), measured->value, measured->ci95};
}

}  // namespace inline_prof::join
