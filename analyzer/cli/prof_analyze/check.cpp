// prof-analyze check FILE --gate 'ratio<1.3': does a run meet its conditions?
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "join/compare/gate.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::cli {
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

std::vector<join::Gate> parse_gates(const std::vector<std::string>& texts) {
  std::vector<join::Gate> gates;
  gates.reserve(texts.size());
  for (const std::string& text : texts)
    gates.push_back(asked("--gate ", [&] { return join::parse_gate(text); }));
  return gates;
}

int run_check(const CheckOptions& options) {
  const std::vector<join::Gate> gates = parse_gates(options.gates);
  const AnalysisResult result = analyse(options.files, options.analysis);
  report::Grid grid;
  std::vector<exports::CheckedGate> checked;
  checked.reserve(gates.size());
  const std::string_view simulated = report::simulated_words(result.analysis);
  const std::string doubts = std::string(simulated) + report::doubts_of(result.analysis);
  grid.note = doubts;
  grid.columns = {"gate", "result", "detail"};
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
