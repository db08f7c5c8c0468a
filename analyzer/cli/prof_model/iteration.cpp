// prof-model iteration: what an iteration takes from end to end, from a trace.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/measured_run.hpp"
#include "cli/prof_model/model_choice.hpp"
#include "model/iteration/timetable.hpp"
#include "model/published/dlrm/product_table.hpp"
#include "model/published/dlrm/trace_iteration.hpp"
#include "read/iteration_input.hpp"
#include "read/machine.hpp"
#include "read/read_profile.hpp"
#include "read/text_lines.hpp"
#include "report/iteration_report.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

// The iteration of a run as it was measured, by the published models and by ours.
struct RunIteration {
  std::optional<double> measured_us;
  std::size_t iterations = 0;  // in the file
  // The DLRM models' end-to-end time.  Of a prof.json, which does not say what the host does
  // between launches, with T1 to T5 as 0.
  std::optional<double> published_us;
  std::size_t rows = 0;            // that take time in an iteration
  std::size_t published_rows = 0;  // of them: with a published prediction, else as measured
  std::optional<double> ours_us;   // the longest path's, with predictions where there are any
  std::optional<double> lower_us;  // of ours: the 90 % interval
  std::optional<double> upper_us;
  std::string ours_words;  // of it: what is predicted
  double ours_part = 0;    // of it, by predictions
  std::string note;        // about `published_us`; may be empty
  std::string reason;      // why there is no such path
};

// Each outermost row of the first device is an operator with its calls as kernels.
void walk_rows(const join::Analysis& analysis, RunIteration& result) {
  std::vector<const join::Row*> rows;
  for (const join::Row& row : analysis.rows) {
    const bool is_first = join::device_of(row) == join::device_of(analysis.rows.front());
    if (is_first && !row.parent && (row.predicted_us || row.corrected_us)) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, &join::Row::start_index);
  constexpr const char* call = "launch";
  read::IterationGraph graph;
  graph.costs.launch[call] = 0;
  for (const join::Row* row : rows) {
    const std::string name = row->event.str();
    graph.costs.before[name] = graph.costs.after[name] = graph.costs.among[name] = 0;
    read::IterationOperator op;
    op.name = name;
    op.is_modelled = true;
    op.has_collective = row->op_kind == "collective";
    const auto calls = static_cast<std::size_t>(std::max<std::int64_t>(1, row->calls));
    op.kernels_us.assign(calls, row->predicted_us ? *row->predicted_us : *row->working_us());
    graph.costs.launches[name].assign(std::max(calls, graph.costs.launches[name].size()), call);
    graph.operators.push_back(std::move(op));
    ++result.rows;
    if (row->predicted_us) ++result.published_rows;
  }
  const model::WalkResult walked = model::walk(graph);
  if (walked.error.empty() && !rows.empty()) result.published_us = walked.end_to_end;
}

std::string line(const char* what, const std::optional<double>& time_us,
                 const std::optional<double>& measured_us) {
  if (!time_us) return fmt::format("{:<20}           -\n", what);
  const std::string share = measured_us && *measured_us > 0 && time_us != measured_us
                                ? fmt::format(", {:+.1f} %", 100 * (*time_us / *measured_us - 1))
                                : "";
  return fmt::format("{:<20}{:12.2f} us{}\n", what, *time_us, share);
}

// Throws read::InputError.
RunIteration iteration_of_run(const std::filesystem::path& file,
                              const std::optional<read::Machine>& machine,
                              const std::string& layers, const std::string& products) {
  RunIteration result;
  read::Profile profile = read::read_profile(file);
  const join::Analysis ours = analyse_run(profile, machine, layers, model::Models::kCalibrated);
  result.measured_us = ours.iteration.us;
  result.iterations = ours.runs.front().profile.iter_time_ms.size();
  result.ours_us = ours.predicted_path_us;
  result.ours_part = ours.predicted_part;
  result.ours_words = report::describe_predicted_part(ours);
  result.reason = ours.longest_path_reason;
  if (ours.predicted_path_ci90_us) {
    result.lower_us = ours.predicted_path_ci90_us->lower;
    result.upper_us = ours.predicted_path_ci90_us->upper;
  }
  if (!ours.rows.empty())
    walk_rows(analyse_run(std::move(profile), machine, layers, model::Models::kPublished, products),
              result);
  return result;
}

std::string run_iteration_text(const RunIteration& iteration) {
  std::string text = line("measured", iteration.measured_us, std::nullopt) +
                     line("published", iteration.published_us, iteration.measured_us);
  if (!iteration.note.empty()) text += fmt::format("  {}\n", iteration.note);
  if (iteration.rows > 0) {
    text += fmt::format(
        "  {} of {} rows by published models, the others as measured; T1 to T5 "
        "are not in the file and count as 0\n",
        iteration.published_rows, iteration.rows);
  }
  text += line("ours", iteration.ours_us, iteration.measured_us);
  if (!iteration.ours_us) return text + fmt::format("  {}\n", iteration.reason);
  if (iteration.lower_us)
    text += fmt::format("  90 % interval {:.2f} to {:.2f} us\n", *iteration.lower_us,
                        *iteration.upper_us);
  return text + fmt::format("  {}\n", iteration.ours_words);
}

std::string run_iteration_json(const RunIteration& iteration) {
  const auto value = [](const std::optional<double>& time_us) {
    return time_us ? nlohmann::ordered_json(*time_us) : nlohmann::ordered_json();
  };
  return nlohmann::ordered_json{{"measured_us", value(iteration.measured_us)},
                                {"published_us", value(iteration.published_us)},
                                {"rows", iteration.rows},
                                {"published_rows", iteration.published_rows},
                                {"ours_us", value(iteration.ours_us)},
                                {"ours_lower_us", value(iteration.lower_us)},
                                {"ours_upper_us", value(iteration.upper_us)},
                                {"ours_part", iteration.ours_part}}
      .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

enum class IterationFormat { kJson, kTable };

struct IterationOptions {
  std::string input;
  std::optional<model::Edition> edition;  // empty: published, but for tasks, which it does not know
  std::vector<std::string> scales;        // GLOB=FACTOR
  bool is_prediction_met = false;
  std::string machine;  // of a run
  std::string layers;
  std::string params;
  std::vector<std::string> settings;
  std::size_t iterations = 0;
  model::KernelTimes kernels = model::KernelTimes::kPredicted;
  IterationFormat format = IterationFormat::kJson;
  std::string output = "-";
  bool force = false;
};

double limit(const std::string& name, const std::string& text) {
  const std::optional<double> value = read::number_of(text);
  if (!value || !(*value >= 1) || *value > 1e12) {
    throw UsageError(
        fmt::format("--set {}: expected a number from 1 to 1e12, found {}", name, text));
  }
  return *value;
}

model::WhatIf parse_what_if(const IterationOptions& options) {
  model::WhatIf what_if;
  what_if.is_prediction_met = options.is_prediction_met;
  for (const std::string& text : options.scales) {
    const std::size_t place = text.rfind('=');  // names may hold one, factors may not
    if (place == std::string::npos || place == 0) {
      throw UsageError(fmt::format("--scale: expected NAME=FACTOR, found {}", text));
    }
    const std::optional<double> factor = read::number_of(text.substr(place + 1));
    if (!factor || !(*factor >= 0) || *factor > 1e6) {
      throw UsageError(fmt::format("--scale {}: expected a factor from 0 to 1e6, found {}",
                                   text.substr(0, place), text.substr(place + 1)));
    }
    what_if.scales.push_back({text.substr(0, place), *factor});
  }
  return what_if;
}

// Reads the settings that say what the GPU can do.  Returns the prefix of the kernels' names.
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

// Returns the run's three times.  `walked` has the DLRM models' time with the host's costs.
std::string run_text(const IterationOptions& options, const model::TraceIteration* walked) {
  RunIteration run = iteration_of_run(options.input, parse_machine(options.machine), options.layers,
                                      options.params);
  if (walked != nullptr) {
    run.rows = 0;
    run.published_us.reset();
    if (walked->mean.error.empty()) run.published_us = walked->mean.end_to_end;
    const bool is_whole = walked->tree.starts.empty() && run.iterations > 1;
    if (is_whole && run.published_us) {
      *run.published_us /= static_cast<double>(run.iterations);
      run.note = fmt::format("of the whole trace, which has no mark \"{}\", over its {} iterations",
                             model::kForwardMark, run.iterations);
    }
  }
  return options.format == IterationFormat::kJson ? run_iteration_json(run) + "\n"
                                                  : run_iteration_text(run);
}

class Analysis {
 public:
  explicit Analysis(const IterationOptions& options)
      : options_(options), what_if_(parse_what_if(options)) {
    const std::string prefix = take_settings(options.settings, models_.machine);
    if (options.params.empty()) return;
    model::ProductFile file = model::read_product_file(options.params, prefix);
    for (const std::string& warning : file.warnings)
      std::fprintf(stderr, "prof-model: warning: %s\n", warning.c_str());
    products_ = std::move(file.tables);
    const auto products = products_.find("f32");  // of the original's traces
    if (products != products_.end()) models_.products = &products->second;
  }

  [[nodiscard]] std::string text(const read::Trace& trace) const {
    for (const std::string& warning : trace.warnings)
      std::fprintf(stderr, "prof-model: warning: %s: %s\n", trace.label.c_str(), warning.c_str());
    const auto result =
        model::trace_iteration(trace, options_.iterations, options_.kernels, models_);
    if (is_calibrated()) {
      std::vector<std::string> texts;
      for (const read::IterationGraph& graph : result.graphs)
        texts.push_back(text(graph));
      if (options_.format == IterationFormat::kTable)
        return fmt::format("{}", fmt::join(texts, "\n"));
      return texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ",\n"));
    }
    return options_.format == IterationFormat::kJson ? report::iteration_json(result)
                                                     : report::iteration_text(result);
  }
  [[nodiscard]] std::string text(const read::IterationGraph& graph) const {
    if (is_calibrated()) return text(task_of(graph));
    const model::WalkResult result = model::walk(graph);
    return options_.format == IterationFormat::kJson ? report::walk_json(result)
                                                     : report::walk_text(result);
  }
  [[nodiscard]] std::string text(const read::TaskGraph& graph) const {
    if (options_.edition == model::Edition::kPublished) {
      throw UsageError(
          "--edition published: the published models know nothing of tasks; calibrated does");
    }
    try {
      const model::LongestPath path(graph);
      const auto others = model::other_times(graph, what_if_);
      const bool is_asked = what_if_.is_prediction_met || !what_if_.scales.empty();
      const auto asked =
          is_asked ? std::optional<std::span<const model::OtherTime>>(others) : std::nullopt;
      return options_.format == IterationFormat::kJson ? report::what_if_json(path, asked)
                                                       : report::what_if_text(path, asked);
    } catch (const std::invalid_argument& error) {
      throw read::InputError(fmt::format("{}: {}", options_.input, error.what()));
    }
  }

  // Returns the measured iteration and both predictions; "" of a trace without kernels.
  [[nodiscard]] std::string beside(const read::Trace& trace) const {
    const auto result =
        model::trace_iteration(trace, options_.iterations, options_.kernels, models_);
    try {
      return "\nside by side:\n" + run_text(options_, &result);
    } catch (const read::InputError& error) {
      return fmt::format("\nnot measured: {}\n", error.what());
    }
  }

 private:
  [[nodiscard]] bool is_calibrated() const {
    return options_.edition == model::Edition::kCalibrated;
  }

  [[nodiscard]] read::TaskGraph task_of(const read::IterationGraph& graph) const {
    try {
      return model::operator_tasks(graph);
    } catch (const std::invalid_argument& error) {
      throw read::InputError(fmt::format("{}: {}", options_.input, error.what()));
    }
  }

  const IterationOptions& options_;
  model::WhatIf what_if_;
  model::OperatorModels models_;
  std::map<std::string, model::ProductTable, std::less<>> products_;
};

bool holds_tasks(const read::IterationFile& file) {
  for (const auto& input : file.inputs) {
    if (!std::holds_alternative<read::TaskGraph>(input)) return false;
  }
  return !file.inputs.empty();
}

void run_iteration(IterationOptions options) {
  if (is_prof_json(options.input))
    return write_result(options.output, run_text(options, nullptr), options.force);
  const read::IterationFile file = read::read_iteration_file(options.input);
  if (!options.edition && holds_tasks(file)) options.edition = model::Edition::kCalibrated;
  if (options.edition != model::Edition::kCalibrated &&
      (options.is_prediction_met || !options.scales.empty())) {
    throw UsageError("--scale and --met-prediction need --edition calibrated");
  }
  const Analysis analysis(options);
  const bool is_json = options.format == IterationFormat::kJson;
  std::string text;
  for (const auto& input : file.inputs) {
    if (!text.empty()) text += is_json ? ",\n" : "\n";
    text += std::visit([&](const auto& value) { return analysis.text(value); }, input);
  }
  if (!is_json && !options.edition && file.inputs.size() == 1) {
    if (const auto* trace = std::get_if<read::Trace>(&file.inputs.front()))
      text += analysis.beside(*trace);
  }
  if (is_json) text = file.is_list ? "[" + text + "]\n" : text + "\n";
  write_result(options.output, text, options.force);
}

}  // namespace

void declare_iteration(Command& command, int& /*status*/) {
  const auto options = std::make_shared<IterationOptions>();
  command
      .add_option("TRACE", options->input,
                  "Trace of a PyTorch profiler (Chrome's JSON), a prof.json, a graph with its "
                  "costs, or the tasks "
                  "that prof-analyze --format tasks writes")
      .required();
  command.add_option("--edition", options->edition,
                     "published: the DLRM models; calibrated: the longest path", editions());
  command
      .add_option("--scale", options->scales,
                  "NAME=FACTOR: what if tasks of this name (* and ? fit any text) took so many "
                  "times as long")
      .takes_one_value();
  command.add_flag("--met-prediction", options->is_prediction_met,
                   "What if no task took longer than is predicted for it");
  command.add_option("--machine", options->machine,
                     "Machine to predict for, an id or a file; default: what the file says");
  command.add_option("--layers", options->layers,
                     "File that says what events of a prof.json compute");
  command.add_option("--params", options->params,
                     "CSV of measured products (as for --model fc), for matrix products");
  command.add_option("--set", options->settings,
                     "NAME=VALUE: what the GPU can do, or kernel_prefix of the measured products");
  command.add_option("--iterations", options->iterations,
                     "Use only so many iterations from the first mark \"## Forward ##\" on");
  const NamedValues<model::KernelTimes> kernels{{"predicted", model::KernelTimes::kPredicted},
                                                {"measured", model::KernelTimes::kMeasured}};
  command.add_option("--kernels", options->kernels, "Whose times: the models' or the trace's",
                     kernels);
  const NamedValues<IterationFormat> formats{{"json", IterationFormat::kJson},
                                             {"table", IterationFormat::kTable}};
  command.add_option("--format", options->format, "What to print", formats);
  command.add_output(options->output, options->force);
  command.on_run([options] { run_iteration(*options); });
}

}  // namespace inline_prof::cli
