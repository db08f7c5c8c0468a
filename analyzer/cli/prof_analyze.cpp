// prof-analyze: prof.json in, measured times beside predicted ones out.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.
#include "cli/result_file.hpp"
#include "join/join.hpp"
#include "model/machines.hpp"
#include "read/inputs.hpp"
#include "read/layers.hpp"
#include "read/prof_reader.hpp"
#include "report/json_report.hpp"
#include "report/original_report.hpp"
#include "report/row_tables.hpp"
#include "report/table_report.hpp"
#include "report/works_report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-analyze prof.json                              where the iteration goes, row by row\n"
    "  prof-analyze prof.json --top 10                     the ten largest rows\n"
    "  prof-analyze results/                               all ranks of a run, devices merged\n"
    "  prof-analyze old.prof.json --machine a100-sxm4-40gb --layers dlrm.layers.json\n"
    "  prof-analyze prof.json --format json -o report.json\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.";

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Format { kTable, kJson, kCsv, kMarkdown, kOriginal, kWorks };

struct Options {
  std::vector<std::string> files;
  std::string machine;  // empty: matched with the devices of each file
  std::string layers;   // empty: none
  std::string event_bias = "auto";
  join::Statistic statistic = join::Statistic::kMedian;
  model::Mode mode = model::Mode::kImproved;
  Format format = Format::kTable;
  std::string output = "-";
  bool force = false;
  report::TableOptions table;
};

join::BiasSetting parse_event_bias(const std::string& text) {
  if (text == "auto") return {};
  if (text == "off") return {.kind = join::BiasSetting::Kind::kOff, .given_us = 0.0};
  double given_us = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, given_us);
  if (error != std::errc{} || rest != end || !std::isfinite(given_us) || given_us < 0) {
    throw UsageError(fmt::format(
        "--event-bias: expected auto, off or a number of microseconds >= 0, found {}", text));
  }
  return {.kind = join::BiasSetting::Kind::kGiven, .given_us = given_us};
}

void declare(CLI::App& app, Options& options) {
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("prof-analyze ") + INLINE_PROF_VERSION);
  app.add_option("FILE", options.files,
                 "prof.json files of one run, one for each rank, or folders of *.prof.json files")
      ->required();
  app.add_option("--machine", options.machine,
                 "Machine to predict for, an id or a file; default: what the file says it ran on");
  app.add_option("--layers", options.layers,
                 "File that says what events compute, for those whose shapes were not captured");
  app.add_option("--event-bias", options.event_bias,
                 "What an event pair adds to a time: auto (from the file), microseconds, or off")
      ->capture_default_str();
  const std::map<std::string, join::Statistic> statistics{{"median", join::Statistic::kMedian},
                                                          {"mean", join::Statistic::kMean},
                                                          {"min", join::Statistic::kMin}};
  app.add_option("--statistic", options.statistic, "What stands for the samples of a row")
      ->transform(CLI::CheckedTransformer(statistics))
      ->default_str("median");
  const std::map<std::string, model::Mode> modes{{"improved", model::Mode::kImproved},
                                                 {"compat", model::Mode::kCompat}};
  app.add_option(
         "--mode", options.mode,
         "improved: fitted models where there are parameters, else the roofline; compat: the "
         "plain roofline for everything")
      ->transform(CLI::CheckedTransformer(modes))
      ->default_str("improved");
  const std::map<std::string, Format> formats{
      {"table", Format::kTable}, {"json", Format::kJson},         {"csv", Format::kCsv},
      {"md", Format::kMarkdown}, {"original", Format::kOriginal}, {"works", Format::kWorks}};
  app.add_option("--format", options.format,
                 "What to print; original: what the original profiler's parse_result gave; works: "
                 "what prof-model iteration reads")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("table");
  app.add_option("-o,--output", options.output, "File to write; - is standard output")
      ->capture_default_str();
  app.add_flag("--force", options.force, "Replace the output file if it exists");
  app.add_option("--top", options.table.top,
                 "Print only this many rows of the table or of md, the largest")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
  app.add_option("--width", options.table.width, "Columns of the table")
      ->check(CLI::Range(std::size_t{40}, std::size_t{1000}))
      ->capture_default_str();
}

std::string report_text(const join::Analysis& analysis, const Options& options) {
  switch (options.format) {
    case Format::kJson:
      return report::json_report(analysis);
    case Format::kCsv:
      return report::csv_report(analysis);
    case Format::kMarkdown:
      return report::markdown_report(analysis, options.table.top);
    case Format::kWorks:
      return report::works_report(analysis);
    case Format::kOriginal:  // needs no analysis, and never comes here
    case Format::kTable:
      break;
  }
  return report::table_report(analysis, options.table);
}

void run(const Options& options) {
  join::JoinOptions join_options;
  join_options.event_bias = parse_event_bias(options.event_bias);
  join_options.statistic = options.statistic;
  join_options.mode = options.mode;
  const std::vector<read::Machine> machines = model::builtin_machines();
  if (!options.machine.empty()) {
    try {
      join_options.machine = model::choose_machine(options.machine, machines);
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("--machine: {}", error.what()));
    }
  }
  if (!options.layers.empty()) {
    join_options.layers = read::read_layers(std::filesystem::path(options.layers));
  }
  std::vector<read::Profile> profiles;
  for (const std::filesystem::path& file : read::expand_inputs(options.files)) {
    profiles.push_back(read::read_profile(file));
  }
  if (options.format == Format::kOriginal) {
    return write_result(options.output, report::original_report(profiles), options.force);
  }
  const join::Analysis analysis = join::join_profiles(std::move(profiles), machines, join_options);
  write_result(options.output, report_text(analysis, options), options.force);
}

// Says what went wrong; std::fprintf, because nothing may be thrown from here.
int fail(int status, const char* what) noexcept {
  std::fprintf(stderr, "prof-analyze: %s\n%s", what,
               status == 2 ? "Try prof-analyze --help.\n" : "");
  return status;
}

int run_main(int argc, char** argv) noexcept {
  try {
    CLI::App app(
        "Joins the kernel times in prof.json with performance models: what each layer took, "
        "and what it should take.",
        "prof-analyze");
    Options options;
    declare(app, options);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help and --version
      return app.exit(request);
    }
    run(options);
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(2, error.what());
  } catch (const UsageError& error) {
    return fail(2, error.what());
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  return inline_prof::cli::run_main(argc, argv);
}
