#include "base/prometheus.hpp"
#include "base/text.hpp"
#include "export/formats.hpp"
#include "export/values.hpp"
#include "join/rollups.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace inline_prof::exports {
namespace {

struct ValueText {
  std::string operator()(const std::string& value) const { return base::csv_cell(value); }
  std::string operator()(const std::optional<join::Interval>& value) const {
    return csv_interval(value);
  }
  template <typename Value>
  std::string operator()(const Value& value) const {
    if constexpr (std::is_arithmetic_v<Value>) return fmt::format("{}", value);
    return {};
  }
};

}  // namespace

std::string csv_report(const join::Analysis& analysis) {
  std::string out = "file,host_name,rank";
  const auto columns = report::columns_in(&report::Shown<join::Row>::csv);
  for (const auto* column : columns) {
    for (const std::string& name : report::flat_names(column->name, column->type))
      out += "," + name;
  }
  out += '\n';
  for (const join::Row& row : analysis.rows) {
    const read::Profile& profile = analysis.runs[row.profile].profile;
    out += fmt::format("{},{},{}", base::csv_cell(profile.file), base::csv_cell(profile.host_name),
                       profile.rank ? fmt::format("{}", *profile.rank) : "");
    for (const auto* column : columns)
      out += "," + std::visit(ValueText(), column->value(row));
    out += '\n';
  }
  return out;
}

namespace {

using base::Gauge;
using base::Labels;

Labels run_labels(const join::Run& run) {
  Labels labels{{"host", run.profile.host_name}};
  if (run.profile.rank) labels = labels.with("rank", std::to_string(*run.profile.rank));
  return labels.with("file", run.profile.file);
}

std::optional<double> scaled(const std::optional<double>& value, double factor) {
  if (!value) return {};
  return *value * factor;
}

void add_shares(std::string& out, const join::Analysis& analysis) {
  if (!analysis.shares_percent) return;
  const join::Shares& percent = *analysis.shares_percent;
  Gauge gauge(out, "inline_prof_iteration_share_ratio",
              "Part of the iteration that is predicted, measured without a prediction, seen but "
              "not measured, or idle.");
  gauge.add(Labels{{"part", "predicted"}}, percent.predicted * 0.01);
  gauge.add(Labels{{"part", "measured"}}, percent.measured * 0.01);
  gauge.add(Labels{{"part", "seen"}}, percent.seen * 0.01);
  gauge.add(Labels{{"part", "idle"}}, percent.idle * 0.01);
}

void add_runs(std::string& out, const join::Analysis& analysis) {
  Gauge simulated(out, "inline_prof_simulated", "The GPU was simulated: times are a model's.");
  for (const join::Run& run : analysis.runs)
    if (run.profile.simulated) simulated.add(run_labels(run), 1.0);
  Gauge iteration(out, "inline_prof_iteration_seconds", "Median time of an iteration.");
  for (const join::Run& run : analysis.runs)
    iteration.add(run_labels(run), scaled(run.iteration.us, 1e-6));
  Gauge overhead(out, "inline_prof_overhead_ratio",
                 "Part by which profiling made iterations longer, as the run itself measured it.");
  for (const join::Run& run : analysis.runs) {
    if (run.profile.overhead)
      overhead.add(run_labels(run), scaled(run.profile.overhead->slowdown_percent, 0.01));
  }
}

void add_layers(std::string& out, const join::Analysis& analysis) {
  const std::vector<join::LayerSum> layers = join::layer_sums(analysis);
  const auto labels = [](const join::LayerSum& sum) { return Labels{{"layer", sum.layer}}; };
  Gauge time(out, "inline_prof_layer_seconds",
             "Time of a layer in an iteration, mean over devices.");
  for (const join::LayerSum& sum : layers)
    time.add(labels(sum), scaled(sum.time_us, 1e-6));
  Gauge ratio(out, "inline_prof_layer_measured_over_predicted_ratio",
              "Measured over predicted time of those rows of a layer that have both.");
  for (const join::LayerSum& sum : layers)
    ratio.add(labels(sum), sum.ratio);
}

}  // namespace

std::string prometheus_report(const join::Analysis& analysis) {
  std::string out;
  add_runs(out, analysis);
  add_shares(out, analysis);
  add_layers(out, analysis);
  return out;
}

}  // namespace inline_prof::exports
