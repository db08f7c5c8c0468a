// prof-model iteration: what an iteration takes from end to end, from a trace.
#include "cli/model_choice.hpp"
#include "cli/prof_model_commands.hpp"
#include "cli/result_file.hpp"
#include "cli/usage_error.hpp"
#include "model/dlrm/fc.hpp"
#include "model/dlrm/trace_iteration.hpp"
#include "read/iteration_input.hpp"
#include "report/iteration_report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {
namespace {

enum class Format { kJson, kTable };

struct Options {
  std::string input;
  model::Mode mode = model::Mode::kCompat;
  std::string params;
  std::vector<std::string> settings;
  std::size_t iterations = 0;
  model::KernelTimes kernels = model::KernelTimes::kPredicted;
  Format format = Format::kJson;
  std::string output = "-";
  bool force = false;
};

double limit(const std::string& name, const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !(value >= 1) || value > 1e12) {
    throw UsageError(
        fmt::format("--set {}: expected a number from 1 to 1e12, found {}", name, text));
  }
  return value;
}

// Reads the settings that say what the GPU can do; gives the prefix of the kernels' names.
std::string take_settings(const std::vector<std::string>& settings, model::LookupMachine& machine) {
  std::string prefix;
  for (const auto& [name, text] : parse_settings(settings)) {
    if (name == "kernel_prefix") {
      prefix = text;
    } else if (name == "peak_dram_bw_gbps") {
      machine.dram_gb_per_s = limit(name, text);
    } else if (name == "peak_l2_bw_gbps") {
      machine.l2_gb_per_s = limit(name, text);
    } else if (name == "peak_throughput_gflops") {
      machine.throughput_gflops = limit(name, text);
    } else if (name == "l2_size_bytes") {
      machine.l2_bytes = static_cast<std::int64_t>(limit(name, text));
    } else if (name == "num_sm") {
      machine.sm_count = static_cast<std::int64_t>(limit(name, text));
    } else {
      throw UsageError(
          fmt::format("--set {}: expected kernel_prefix, peak_dram_bw_gbps, peak_l2_bw_gbps, "
                      "peak_throughput_gflops, l2_size_bytes or num_sm",
                      name));
    }
  }
  return prefix;
}

class Analysis {
 public:
  explicit Analysis(const Options& options) : options_(options) {
    const std::string prefix = take_settings(options.settings, models_.machine);
    if (options.params.empty()) return;
    model::ProductFile file = model::read_product_file(options.params, prefix);
    for (const std::string& warning : file.warnings)
      std::fprintf(stderr, "prof-model: warning: %s\n", warning.c_str());
    products_.emplace(std::move(file.rows));
    models_.products = &*products_;
  }

  [[nodiscard]] std::string text(const read::Trace& trace) const {
    const auto result =
        model::trace_iteration(trace, options_.iterations, options_.kernels, models_);
    return options_.format == Format::kJson ? report::iteration_json(result)
                                            : report::iteration_text(result);
  }
  [[nodiscard]] std::string text(const read::IterationGraph& graph) const {
    const model::WalkResult result = model::walk(graph);
    return options_.format == Format::kJson ? report::walk_json(result) : report::walk_text(result);
  }

 private:
  const Options& options_;
  model::OperatorModels models_;
  std::optional<model::ProductTable> products_;
};

void run(const Options& options) {
  const Analysis analysis(options);
  const read::IterationFile file = read::read_iteration_file(options.input);
  const bool is_json = options.format == Format::kJson;
  std::string text;
  for (const auto& input : file.inputs) {
    if (!text.empty()) text += is_json ? ",\n" : "\n";
    text += std::visit([&](const auto& value) { return analysis.text(value); }, input);
  }
  if (is_json) text = file.is_list ? "[" + text + "]\n" : text + "\n";
  write_result(options.output, text, options.force);
}

}  // namespace

void declare_iteration(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("iteration", "Says what an iteration takes from end to end");
  command
      ->add_option("TRACE", options->input,
                   "Trace of a PyTorch profiler (Chrome's JSON), or a graph with its costs")
      ->required();
  const std::map<std::string, model::Mode> modes{{"compat", model::Mode::kCompat}};
  command->add_option("--mode", options->mode, "compat: the published DLRM models")
      ->transform(CLI::CheckedTransformer(modes))
      ->default_str("compat");
  command->add_option("--params", options->params,
                      "CSV of measured products (as for --model fc), for matrix products");
  command->add_option("--set", options->settings,
                      "NAME=VALUE: what the GPU can do, or kernel_prefix of the measured products");
  command->add_option("--iterations", options->iterations,
                      "Use only so many iterations from the first mark \"## Forward ##\" on");
  const std::map<std::string, model::KernelTimes> kernels{
      {"predicted", model::KernelTimes::kPredicted}, {"measured", model::KernelTimes::kMeasured}};
  command->add_option("--kernels", options->kernels, "Whose times: the models' or the trace's")
      ->transform(CLI::CheckedTransformer(kernels))
      ->default_str("predicted");
  const std::map<std::string, Format> formats{{"json", Format::kJson}, {"table", Format::kTable}};
  command->add_option("--format", options->format, "What to print")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("json");
  command->add_option("-o,--output", options->output, "File to write; - is standard output")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace the output file if it exists");
  command->callback([options] { run(*options); });
}

}  // namespace inline_prof::cli
