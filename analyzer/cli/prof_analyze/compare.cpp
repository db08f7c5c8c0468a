// prof-analyze compare BEFORE AFTER: is the second run slower?
#include "join/compare/compare.hpp"

#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::cli {
namespace {

struct CompareOptions;
using CompareText = std::string (*)(const join::Comparison& comparison,
                                    const CompareOptions& options);
std::string compared_table(const join::Comparison& comparison, const CompareOptions& options);

struct CompareOptions {
  std::string before;
  std::string after;
  AnalysisArguments analysis;
  CompareText format = compared_table;
  std::string output = "-";
  bool force = false;
  std::size_t top = 10;
  double margin_percent = 5.0;
  std::optional<double> fail_on_percent;
  double min_share_percent = 1.0;
  std::vector<std::string> despite;
};

std::string compared_table(const join::Comparison& comparison, const CompareOptions& options) {
  return report::compare_table(
      comparison,
      {.top = options.top, .width = terminal_width(), .colour = wants_colour(options.output)});
}

// Judges the iteration and the layers that are large enough to matter.
int gate_status(const join::Comparison& comparison) {
  std::vector<const join::ComparedTime*> gated;
  if (comparison.iteration) gated.push_back(&*comparison.iteration);
  for (const join::ComparedTime& layer : comparison.layers) {
    if (layer.share_percent.value_or(100.0) >= comparison.min_share_percent)
      gated.push_back(&layer);
  }
  std::size_t slower = 0;
  std::size_t ambiguous = 0;
  std::size_t resized = 0;
  for (const join::ComparedTime* time : gated) {
    if (time->change == join::Change::kSlower) ++slower;
    if (time->change == join::Change::kAmbiguous) ++ambiguous;
    if (time->change == join::Change::kAmbiguous && !time->sizes.empty()) ++resized;
  }
  std::fputs(fmt::format("prof-analyze: the iteration and {} layers: {} slower, {} undecided{}\n",
                         gated.size() - (comparison.iteration ? 1 : 0), slower, ambiguous,
                         resized > 0 ? fmt::format(", {} of them for other sizes", resized) : "")
                 .c_str(),
             stderr);
  if (slower > 0) return kGateFailed;
  return ambiguous > 0 || gated.empty() ? kGateUndecided : 0;
}

void set_doubts(join::Comparison& comparison, const join::Analysis& before,
                const join::Analysis& after) {
  comparison.is_simulated =
      !report::simulated_words(before).empty() || !report::simulated_words(after).empty();
  if (comparison.is_simulated) comparison.doubts = report::kSimulatedWords;
  const std::string of_before = report::doubts_of(before);
  const std::string of_after = report::doubts_of(after);
  if (!of_before.empty()) comparison.doubts += "Before: " + of_before;
  if (!of_after.empty()) comparison.doubts += "After: " + of_after;
}

int run_compare(const CompareOptions& options) {
  const AnalysisResult before = analyse({options.before}, options.analysis);
  // In the other run, the phase that launches the same may have another number.
  AnalysisArguments same_phase = options.analysis;
  same_phase.phase.reset();
  same_phase.like = before.launched;
  const AnalysisResult after = analyse({options.after}, same_phase);
  join::CompareOptions compare_options;
  compare_options.margin = options.fail_on_percent.value_or(options.margin_percent) / 100.0;
  compare_options.min_share_percent = options.min_share_percent;
  compare_options.despite = options.despite;
  join::Comparison comparison;
  try {
    comparison = join::compare_runs(before.analysis, after.analysis, compare_options);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        fmt::format("{} and {}: {}", options.before, options.after, error.what()));
  }
  set_doubts(comparison, before.analysis, after.analysis);
  write_result(options.output, options.format(comparison, options), options.force);
  return options.fail_on_percent ? gate_status(comparison) : 0;
}

}  // namespace

void declare_compare(Command& command, int& status) {
  const auto options = std::make_shared<CompareOptions>();
  command
      .add_option("BEFORE", options->before,
                  "prof.json file, trace of torch.profiler, or folder of one run's files")
      .required();
  command.add_option("AFTER", options->after, "The same of the other run").required();
  declare_analysis(command, options->analysis);
  command
      .add_option("--margin", options->margin_percent,
                  "Percent by which times may differ and still be the same")
      .check(between(0.0, 1000.0))
      .shows_default();
  command
      .add_option("--fail-on", options->fail_on_percent,
                  "Like --margin, and exit with 3 if the iteration or a layer is slower, with 4 if "
                  "one cannot be decided and none is slower")
      .check(between(0.0, 1000.0));
  command
      .add_option("--min-share", options->min_share_percent,
                  "Percent of the iteration that a layer must have to count for --fail-on")
      .check(between(0.0, 100.0))
      .shows_default();
  command
      .add_option(
          "--despite", options->despite,
          "Judge although the runs differ in this: gpu, clocks, mig, driver, libraries or sizes; "
          "may be repeated")
      .check(one_of({"gpu", "clocks", "mig", "driver", "libraries", "sizes"}))
      .separates(',')
      .takes_one_value();
  using Compared = const join::Comparison&;
  using Options = const CompareOptions&;
  const NamedValues<CompareText> formats{
      {"table", compared_table},
      {"md", [](Compared of, Options with) { return report::compare_markdown(of, with.top); }},
      {"html", [](Compared of, Options with) { return report::compare_html(of, with.top); }},
      {"json", [](Compared of, Options) { return exports::compare_json(of); }},
      {"csv", [](Compared of, Options) { return exports::compare_csv(of); }}};
  command.add_option("--format", options->format,
                     "What to print; md and html: for a pull request, json and csv: everything",
                     formats);
  command.add_output(options->output, options->force);
  command
      .add_option("--top", options->top,
                  "Print this many layers and kernels, those that changed most")
      .check(between(std::size_t{1}, std::size_t{1000000}))
      .shows_default();
  command.on_run([options, &status] { status = run_compare(*options); });
}

// prof-analyze check FILE --gate 'ratio<1.3': does a run meet its conditions?

namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<std::string> gates;
  AnalysisArguments analysis;
  report::GridFormat format = report::GridFormat::kTable;
};

std::string result_name(join::GateResult result) {
  constexpr std::array names{"passed", "FAILED", "UNDECIDED"};
  return names.at(static_cast<std::size_t>(result));
}

int run_check(const CheckOptions& options) {
  std::vector<join::Gate> gates;
  gates.reserve(options.gates.size());
  for (const std::string& text : options.gates)
    gates.push_back(asked("--gate ", [&] { return join::parse_gate(text); }));
  const AnalysisResult result = analyse(options.files, options.analysis);
  std::vector<exports::CheckedGate> checked;
  checked.reserve(gates.size());
  const std::string_view simulated = report::simulated_words(result.analysis);
  const std::string doubts = std::string(simulated) + report::doubts_of(result.analysis);
  report::Grid grid{{"gate", "result", "detail"}, {}, doubts};
  bool has_failed = false;
  bool is_undecided = false;
  for (const join::Gate& gate : gates) {
    const join::GateOutcome outcome = join::check_gate(gate, result.analysis);
    has_failed = has_failed || outcome.result == join::GateResult::kFailed;
    is_undecided = is_undecided || outcome.result == join::GateResult::kUndecided;
    grid.rows.push_back({gate.text, result_name(outcome.result), outcome.detail});
    checked.push_back({gate.text, result_name(outcome.result), outcome});
  }
  write_result("-",
               options.format == report::GridFormat::kJson
                   ? exports::check_json(checked, !simulated.empty(), doubts)
                   : report::grid_text(grid, options.format),
               false);
  if (has_failed) return kGateFailed;
  return is_undecided ? kGateUndecided : 0;
}

}  // namespace

void declare_check(Command& command, int& status) {
  const auto options = std::make_shared<CheckOptions>();
  command
      .add_option("FILE", options->files,
                  "prof.json files or traces of torch.profiler of one run, or their folder")
      .required();
  command
      .add_option("--gate", options->gates,
                  fmt::format("Condition, METRIC<NUMBER with < <= > or >=; may be repeated. "
                              "Metrics: {}. The first three are of every row that has them, and "
                              "take a layer: ratio[TopMLP.*]<1.3",
                              join::gate_metrics()))
      .required()
      .takes_one_value();
  declare_analysis(command, options->analysis);
  command.add_option("--format", options->format, "What to print", grid_formats());
  command.on_run([options, &status] { status = run_check(*options); });
}

}  // namespace inline_prof::cli
