// prof-analyze ranks DIR: which of many ranks are late, and what collectives wait for.
#include "cli/prof_analyze_commands.hpp"
#include "cli/result_file.hpp"
#include "join/ranks.hpp"
#include "read/inputs.hpp"
#include "read/prof_reader.hpp"
#include "report/ranks_report.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace inline_prof::cli {
namespace {

enum class Format { kTable, kJson };

struct Options {
  std::vector<std::string> files;
  join::RankOptions ranks;
  double least_percent = 5.0;
  Format format = Format::kTable;
  std::string output = "-";
  bool force = false;
  std::size_t top = 20;
};

// File by file on two threads, so that no more than two whole files are in memory; a disk is seldom
// faster than that.
std::vector<join::RankSummary> read_ranks(const std::vector<std::filesystem::path>& files) {
  std::vector<join::RankSummary> summaries(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++)
      summaries[i] = join::summarise_rank(read::read_profile(files[i]));
  };
  std::future<void> helper = std::async(std::launch::async, work);
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
    next = files.size();
  }
  helper.get();
  if (failure) std::rethrow_exception(failure);
  return summaries;
}

void run(Options& options) {
  options.ranks.least_ratio = 1.0 + options.least_percent / 100.0;
  const std::vector<join::RankSummary> ranks = read_ranks(read::expand_inputs(options.files));
  join::RankComparison comparison;
  try {
    comparison = join::compare_ranks(ranks, options.ranks);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  write_result(options.output,
               options.format == Format::kJson ? report::ranks_json(comparison)
                                               : report::ranks_table(comparison, options.top),
               options.force);
}

}  // namespace

void declare_ranks(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "ranks", "Compares the ranks of a run: slow devices, stragglers, who waits in collectives");
  command->add_option("FILE", options->files, "prof.json files, one for each rank, or their folder")
      ->required();
  command
      ->add_option("--least", options->least_percent,
                   "Percent by which a device must be slower to be named, at least")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  const std::map<std::string, Format> formats{{"table", Format::kTable}, {"json", Format::kJson}};
  command->add_option("--format", options->format, "What to print")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("table");
  command->add_option("-o,--output", options->output, "File to write; - is standard output")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace the output file if it exists");
  command->add_option("--top", options->top, "Print only this many of each list of the table")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}))
      ->capture_default_str();
  command->callback([options] { run(*options); });
}

}  // namespace inline_prof::cli
