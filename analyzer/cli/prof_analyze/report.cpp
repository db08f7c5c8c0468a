// prof-analyze FILE...: the report of one run.
#include "base/command_line.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "join/notable_rows.hpp"
#include "join/rollups.hpp"
#include "read/file_text.hpp"
#include "read/read_profile.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  AnalysisArguments analysis;
  std::string format = "table";
  std::string output = "-";
  bool force = false;
  bool verbose = false;
  std::optional<std::size_t> width;
  report::TableOptions table{.width = terminal_width()};
};

std::string original_report(const std::vector<std::string>& files) {
  std::vector<read::Profile> profiles;
  for (const std::filesystem::path& file : read::expand_inputs(files))
    profiles.push_back(read::read_profile(file));
  return exports::original_report(profiles);
}

// Reads the trace once more: an analysis keeps nothing of its text.
std::string augmented_text(const AnalysisResult& result, const ReportOptions& options) {
  const std::vector<std::filesystem::path> files = read::expand_inputs(options.files);
  const auto& capabilities = result.analysis.runs.front().profile.capabilities;
  if (files.size() != 1 || capabilities.format != read::torch_trace::kFormatName)
    throw UsageError(fmt::format(
        "--format augmented: expected one trace of torch.profiler, found {}",
        files.size() == 1 ? capabilities.format : fmt::format("{} files", files.size())));
  const std::string label = files.front().string();
  std::string text = read::read_text(files.front());
  if (read::is_gzip(text)) text = read::gunzip(text, label, read::kMaxFileBytes);
  return exports::augmented_trace(read::torch_trace::find_works(std::move(text), label),
                                  result.analysis);
}

// Analyses the measured phases that `result` does not show.
std::vector<join::Analysis> other_phases(const AnalysisResult& result,
                                         const ReportOptions& options) {
  const auto& profile = result.analysis.runs.front().profile;
  std::vector<join::Analysis> others;
  for (std::size_t i = 0; i < profile.phases.size(); ++i) {
    if (i == profile.phase || !profile.phases[i].measured) continue;
    AnalysisArguments arguments = options.analysis;
    arguments.phase = i + 1;
    others.push_back(analyse(options.files, arguments).analysis);
  }
  return others;
}

std::string html_text(const AnalysisResult& result, const ReportOptions& options) {
  if (!report::html_has_charts())
    std::fputs("prof-analyze: built without D3 (Debian: node-d3), so the page has no charts\n",
               stderr);
  return report::html_report(result.analysis, result.machines, other_phases(result, options));
}

using Result = const AnalysisResult&;
using Options = const ReportOptions&;

struct Format {
  const char* name;
  std::string (*text)(Result result, Options options);
};
// Returns how many rows each kind has at most; 0: all.
std::size_t rows_of_models(Options options) {
  constexpr std::size_t most_rows = 10;
  return options.table.top == 0 && !options.verbose ? most_rows : options.table.top;
}

constexpr const char* kOriginal = "original";  // needs no analysis
constexpr Format kFormats[] = {
    {"table",
     [](Result of, Options with) {
       return report::table_report(of.analysis, with.table) +
              report::models_text(of.analysis, rows_of_models(with), report::GridFormat::kTable);
     }},
    {"json", [](Result of, Options) { return exports::json_report(of.analysis); }},
    {"csv", [](Result of, Options) { return exports::csv_report(of.analysis); }},
    {"md",
     [](Result of, Options with) {
       return report::markdown_report(of.analysis, with.table) +
              report::models_text(of.analysis, rows_of_models(with), report::GridFormat::kMarkdown);
     }},
    {"html", html_text},
    {"augmented", augmented_text},
    {"perfetto", [](Result of, Options) { return exports::perfetto_report(of.analysis); }},
    {"prometheus", [](Result of, Options) { return exports::prometheus_report(of.analysis); }},
    {"tasks", [](Result of, Options) { return exports::tasks_report(of.analysis); }},
    {kOriginal, nullptr}};

constexpr std::size_t kMostNames = 8;  // of layers, for a glob that fits none

void run_report(ReportOptions& options) {
  std::string& layers = options.table.layers;
  // A name that a table cut fits as it stands there.
  for (std::size_t at = 0; (at = layers.find("...", at)) != std::string::npos;)
    layers.replace(at, 3, "*");
  const bool has_table = options.format == "table" || options.format == "md";
  if (!has_table && (options.table.top > 0 || !layers.empty()))
    throw UsageError(fmt::format("--{}: only --format table and md leave rows out, not {}",
                                 layers.empty() ? "top" : "layer", options.format));
  if (options.format == kOriginal)
    return write_result(options.output, original_report(options.files), options.force);
  options.analysis.keep_samples = options.format == "html";
  options.analysis.leave_out_unreadable = true;
  if (options.width) options.table.width = *options.width;
  options.table.details = options.verbose;
  options.table.colour = wants_colour(options.output);
  const AnalysisResult result = analyse(options.files, options.analysis);
  if (!layers.empty() && join::row_order(result.analysis, 1, layers).rows.empty()) {
    std::vector<std::string> names;
    for (const join::Total& total : join::totals_by_layer_pattern(result.analysis))
      names.push_back(total.name);
    if (names.size() > kMostNames) names.resize(kMostNames);
    throw UsageError(fmt::format("--layer {}: no row of such a layer; the largest are {}", layers,
                                 fmt::join(names, ", ")));
  }
  const auto* format = std::ranges::find(kFormats, options.format, &Format::name);
  write_result(options.output, format->text(result, options), options.force);
}

}  // namespace

void declare_report(Command& program) {
  const auto options = std::make_shared<ReportOptions>();
  program.add_option(
      "FILE", options->files,
      "prof.json files or traces of torch.profiler of one run, one for each rank, or "
      "folders of *.prof.json files");
  declare_analysis(program, options->analysis);
  program
      .add_option("--model", options->analysis.vendors_model,
                  "A model beside those of --models all: nvmmh, the vendor's own of matrix "
                  "products, with the Python package nvidia-matmul-heuristics")
      .check(one_of({"nvmmh"}));
  std::vector<std::string> formats;
  for (const Format& format : kFormats)
    formats.emplace_back(format.name);
  program
      .add_option("--format", options->format,
                  "What to print; html: one page with charts; augmented: a trace of torch.profiler "
                  "with the predictions in its args; perfetto: a mean iteration as a "
                  "trace; prometheus: for the textfile collector; tasks: what prof-model iteration "
                  "reads; original: what the original profiler's parse_result gave")
      .check(one_of(formats))
      .shows_default();
  program.add_output(options->output, options->force);
  program
      .add_option("--top", options->table.top,
                  "Print only this many rows of the table or of md, the largest")
      .check(between(std::size_t{1}, std::size_t{1000000}));
  program.add_option("--layer", options->table.layers,
                     "The same for the rows of these layers, a glob: 'blocks.2.attn*'");
  program.add_flag("--verbose", options->verbose,
                   "Print how the run was measured, and all rows, below the summary");
  program
      .add_option("--width", options->width,
                  "Columns of the table; default: those of the terminal, else 80")
      .check(between(std::size_t{40}, std::size_t{1000}));
  // Runs before any command.
  program.on_parsed([&program, options] {
    const bool has_command = program.has_subcommand();
    if (has_command && !options->files.empty())
      throw UsageError("found a file before the command; a command comes first, its files after");
    if (!has_command && options->files.empty()) throw UsageError("FILE is required");
  });
  // Runs at the end, unless there was a command.
  program.on_end([&program, options] {
    if (!program.has_subcommand()) run_report(*options);
  });
}

}  // namespace inline_prof::cli
