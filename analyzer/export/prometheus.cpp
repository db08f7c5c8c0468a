#include "export/prometheus.hpp"

#include "base/text.hpp"
#include "join/layer_sums.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::exports {
namespace {

// Backslash, quote and end of line are escaped in a label's value; the rest is UTF-8.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : base::printable(text)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

std::string run_labels(const join::Run& run) {
  std::string labels = fmt::format("host=\"{}\"", label_value(run.profile.host_name));
  if (run.profile.rank) labels += fmt::format(",rank=\"{}\"", *run.profile.rank);
  return labels + fmt::format(",file=\"{}\"", label_value(run.profile.file));
}

// One metric: its head stands once, before its values, and not at all if there are none.
class Gauge {
 public:
  Gauge(std::string& out, std::string_view name, std::string_view help)
      : out_(out), name_(name), help_(help) {}

  void add(const std::string& labels, const std::optional<double>& value) {
    if (!value) return;
    if (!has_head_) {
      fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name_, help_);
      has_head_ = true;
    }
    fmt::format_to(std::back_inserter(out_), "{}{} {:.9g}\n", name_,
                   labels.empty() ? "" : "{" + labels + "}", *value);
  }

 private:
  std::string& out_;
  std::string_view name_;
  std::string_view help_;
  bool has_head_ = false;
};

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
  gauge.add("part=\"predicted\"", percent.predicted * 0.01);
  gauge.add("part=\"measured\"", percent.measured * 0.01);
  gauge.add("part=\"seen\"", percent.seen * 0.01);
  gauge.add("part=\"idle\"", percent.idle * 0.01);
}

void add_runs(std::string& out, const join::Analysis& analysis) {
  Gauge iteration(out, "inline_prof_iteration_seconds", "Median time of an iteration.");
  for (const join::Run& run : analysis.runs)
    iteration.add(run_labels(run), scaled(run.iteration_us, 1e-6));
  Gauge overhead(out, "inline_prof_overhead_ratio",
                 "Part by which profiling made iterations longer, as the run itself measured it.");
  for (const join::Run& run : analysis.runs) {
    if (run.profile.overhead) {
      overhead.add(run_labels(run), scaled(run.profile.overhead->slowdown_percent, 0.01));
    }
  }
}

void add_layers(std::string& out, const join::Analysis& analysis) {
  const std::vector<join::LayerSum> layers = join::layer_sums(analysis);
  const auto labels = [](const join::LayerSum& sum) {
    return fmt::format("layer=\"{}\"", label_value(sum.layer));
  };
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
