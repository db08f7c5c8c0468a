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
#include <type_traits>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

// The DLRM models' end-to-end time.  Of a prof.json, which does not say what the host does between
// launches, with T1 to T5 as 0.
struct Published {
  std::optional<double> us;
  std::size_t rows = 0;            // of a prof.json, that take time in an iteration
  std::size_t published_rows = 0;  // of them: with a published prediction, else as measured
  std::string note;                // about `us`; may be empty
};

// Each outermost row of the first device is an operator with its calls as kernels.
Published walk_rows(const join::Analysis& analysis) {
  Published result;
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
  if (walked.error.empty() && !rows.empty()) result.us = walked.end_to_end;
  return result;
}

// `walked` has the time with the host's costs.
Published published_of(const model::TraceIteration& walked, std::size_t iterations) {
  Published result;
  if (!walked.mean.error.empty()) return result;
  result.us = walked.mean.end_to_end;
  if (!walked.tree.starts.empty() || iterations < 2) return result;
  *result.us /= static_cast<double>(iterations);
  result.note = fmt::format("of the whole trace, which has no mark \"{}\", over its {} iterations",
                            model::kForwardMark, iterations);
  return result;
}

std::string line(const char* what, const std::optional<double>& time_us,
                 const std::optional<double>& measured_us) {
  if (!time_us) return fmt::format("{:<20}           -\n", what);
  const std::string share = measured_us && *measured_us > 0 && time_us != measured_us
                                ? fmt::format(", {:+.1f} %", 100 * (*time_us / *measured_us - 1))
                                : "";
  return fmt::format("{:<20}{:12.2f} us{}\n", what, *time_us, share);
}

// `ours`: the longest path, with predictions where there are any.
std::string run_iteration_text(const join::Analysis& ours, const Published& published) {
  std::string text = line("measured", ours.iteration.us, std::nullopt) +
                     line("published", published.us, ours.iteration.us);
  if (!published.note.empty()) text += fmt::format("  {}\n", published.note);
  if (published.rows > 0) {
    text += fmt::format(
        "  {} of {} rows by published models, the others as measured; T1 to T5 "
        "are not in the file and count as 0\n",
        published.published_rows, published.rows);
  }
  text += line("ours", ours.predicted_path_us, ours.iteration.us);
  if (!ours.predicted_path_us) return text + fmt::format("  {}\n", ours.longest_path_reason);
  if (const auto& interval = ours.predicted_path_ci90_us)
    text += fmt::format("  90 % interval {:.2f} to {:.2f} us\n", interval->lower, interval->upper);
  return text + fmt::format("  {}\n", report::describe_predicted_part(ours));
}

std::string run_iteration_json(const join::Analysis& ours, const Published& published) {
  const auto value = [](const std::optional<double>& time_us) {
    return time_us ? nlohmann::ordered_json(*time_us) : nlohmann::ordered_json();
  };
  const auto& interval = ours.predicted_path_ci90_us;
  return nlohmann::ordered_json{
             {"measured_us", value(ours.iteration.us)},
             {"published_us", value(published.us)},
             {"rows", published.rows},
             {"published_rows", published.published_rows},
             {"ours_us", value(ours.predicted_path_us)},
             {"ours_lower_us", value(interval ? std::optional(interval->lower) : std::nullopt)},
             {"ours_upper_us", value(interval ? std::optional(interval->upper) : std::nullopt)},
             {"ours_part", ours.predicted_part}}
             .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
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
  std::map<std::string, std::string> parsed = parse_settings(settings);
  const auto take = [&](const char* name, auto& member) {
    const auto found = parsed.extract(name);
    if (found.empty()) return;
    const std::optional<double> value = read::number_of(found.mapped());
    if (!value || !(*value >= 1) || *value > 1e12) {
      throw UsageError(fmt::format("--set {}: expected a number from 1 to 1e12, found {}", name,
                                   found.mapped()));
    }
    member = static_cast<std::remove_reference_t<decltype(member)>>(*value);
  };
  take("peak_dram_bw_gbps", machine.dram_gb_per_s);
  take("peak_l2_bw_gbps", machine.l2_gb_per_s);
  take("peak_throughput_gflops", machine.throughput_gflops);
  take("l2_size_bytes", machine.l2_bytes);
  take("num_sm", machine.sm_count);
  const auto prefix = parsed.extract("kernel_prefix");
  if (!parsed.empty()) {
    throw UsageError(
        fmt::format("--set {}: expected kernel_prefix, peak_dram_bw_gbps, peak_l2_bw_gbps, "
                    "peak_throughput_gflops, l2_size_bytes or num_sm",
                    parsed.begin()->first));
  }
  return prefix.empty() ? "" : prefix.mapped();
}

// Returns the run's three times.  `walked`: of a trace.  Throws read::InputError.
std::string run_text(const IterationOptions& options, const model::TraceIteration* walked) {
  const auto machine = parse_machine(options.machine);
  read::Profile profile = read::read_profile(std::filesystem::path(options.input));
  const join::Analysis ours =
      analyse_run(profile, machine, options.layers, model::Models::kCalibrated);
  Published published;
  if (walked != nullptr) {
    published = published_of(*walked, ours.runs.front().profile.iter_time_ms.size());
  } else if (!ours.rows.empty()) {
    published = walk_rows(analyse_run(std::move(profile), machine, options.layers,
                                      model::Models::kPublished, options.params));
  }
  return options.format == IterationFormat::kJson ? run_iteration_json(ours, published)
                                                  : run_iteration_text(ours, published);
}

// Returns what `make` does, whose complaints are about the file.
template <typename Make>
auto of_file(const std::string& file, Make&& make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    throw read::InputError(fmt::format("{}: {}", file, error.what()));
  }
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
    if (is_calibrated())
      return text(of_file(options_.input, [&] { return model::operator_tasks(graph); }));
    const model::WalkResult result = model::walk(graph);
    return options_.format == IterationFormat::kJson ? report::walk_json(result)
                                                     : report::walk_text(result);
  }
  [[nodiscard]] std::string text(const read::TaskGraph& graph) const {
    if (options_.edition == model::Edition::kPublished) {
      throw UsageError(
          "--edition published: the published models know nothing of tasks; calibrated does");
    }
    return of_file(options_.input, [&] {
      const model::LongestPath path(graph);
      const auto others = model::other_times(graph, what_if_);
      const bool is_asked = what_if_.is_prediction_met || !what_if_.scales.empty();
      const auto asked =
          is_asked ? std::optional<std::span<const model::OtherTime>>(others) : std::nullopt;
      return options_.format == IterationFormat::kJson ? report::what_if_json(path, asked)
                                                       : report::what_if_text(path, asked);
    });
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
