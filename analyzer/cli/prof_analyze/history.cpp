// prof-analyze history FOLDER: what a run that was watched took over weeks, and what changed.
#include "base/command_line.hpp"
#include "base/two_threads.hpp"
#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "join/diagnose/belonging.hpp"
#include "join/join.hpp"
#include "join/rows/file_rows.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"
#include "report/tables.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct HistoryOptions;
using HistoryText = std::string (*)(const join::WatchedRun& run, const HistoryOptions& options);
std::string plain_history(const join::WatchedRun& run, const HistoryOptions& options);

struct HistoryOptions {
  std::vector<std::string> files;
  std::optional<std::size_t> phase;  // from 1
  double least_percent = 5.0;
  HistoryText format = plain_history;
  std::string output = "-";
  bool force = false;
  std::size_t top = 20;
};

struct ReadHistory {
  join::FileFacts facts;
  std::optional<join::WatchedFile> watched;
};

std::string plain_history(const join::WatchedRun& run, const HistoryOptions& options) {
  return report::history_text(run, options.top, terminal_width());
}

void warn(const std::string& text) {
  fmt::print(stderr, "prof-analyze: warning: {}\n", text);
}

void run_history(const HistoryOptions& options) {
  RunFiles files(read::expand_inputs(options.files), read::Wanted::kWithoutOffsets,
                 {.number = options.phase}, true);
  std::vector<join::WatchedFile> watched;
  std::vector<join::FileFacts> facts;
  std::vector<std::string> complaints;
  Progress progress("reading");
  base::in_two_threads(
      files.count(),
      [&](std::size_t i) {
        return join::or_complaint([&] {
          const read::Profile profile = files.load(i);
          return ReadHistory{join::file_facts(profile),
                             join::watched_file(profile, join::nested_rows(profile))};
        });
      },
      [&](std::size_t i, join::Readable<ReadHistory> read) {
        progress.say(fmt::format("{} of {} files", i + 1, files.count()));
        if (!read.value) {
          complaints.push_back(read.complaint);
        } else if (!read.value->watched) {
          complaints.push_back(
              fmt::format("{}: /{}: missing: expected a run with INLINE_PROF_WATCH "
                          "(prof-run --watch)",
                          read.value->facts.file, format::kHistory.key));
        } else {
          facts.push_back(std::move(read.value->facts));
          watched.push_back(std::move(*read.value->watched));
        }
      });
  if (watched.empty()) throw read::InputError(complaints.front());
  for (const std::string& complaint : complaints)
    warn("left out: " + complaint);
  for (const std::string& warning : join::belonging_warnings(facts))
    warn(warning);
  const double least_ratio = 1.0 + options.least_percent / 100.0;
  write_result(options.output,
               options.format(join::watched_run(std::move(watched), least_ratio), options),
               options.force);
}

}  // namespace

void declare_history(Command& command, int& /*status*/) {
  const auto options = std::make_shared<HistoryOptions>();
  command
      .add_option("FILE", options->files,
                  "prof.json files of a run that was watched, or their folder; those of a rank "
                  "that was started again are joined")
      .required();
  declare_phase(command, options->phase);
  command
      .add_option("--least", options->least_percent,
                  "Percent by which a rank must be slower than its peers to be named, at least")
      .check(between(0.0, 1000.0))
      .shows_default();
  using Run = const join::WatchedRun&;
  using Options = const HistoryOptions&;
  const NamedValues<HistoryText> formats{
      {"text", plain_history},
      {"json", [](Run run, Options) { return exports::history_json(run); }},
      {"html", [](Run run, Options) { return report::history_page(exports::history_json(run)); }},
      {"perfetto", [](Run run, Options) { return exports::history_perfetto(run); }}};
  command.add_option("--format", options->format,
                     "What to print; html: a page of layers and ranks by time; perfetto: counters",
                     formats);
  command.add_output(options->output, options->force);
  command.add_option("--top", options->top, "Print only this many of each list of the text")
      .check(between(std::size_t{1}, std::size_t{1000000}))
      .shows_default();
  command.on_run([options] { run_history(*options); });
}

}  // namespace inline_prof::cli
