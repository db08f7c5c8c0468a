// prof-analyze timeline and scaling: pictures of one run, and of several beside each other.
#include "base/command_line.hpp"
#include "cli/common/grid_output.hpp"
#include "cli/common/picture_output.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/scaling.hpp"
#include "join/scaling.hpp"
#include "report/grid.hpp"
#include "report/head.hpp"
#include "report/plot/timeline_picture.hpp"
#include "report/scaling.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {
namespace {

struct TimelineOptions {
  std::vector<std::string> files;
  AnalysisArguments analysis;
  std::string output;
  bool force = false;
  std::size_t most_tracks = 24;
};

void draw_timeline(TimelineOptions& options) {
  check_picture_name(options.output);
  options.analysis.leave_out_unreadable = true;
  const AnalysisResult result = analyse(options.files, options.analysis);
  std::vector<std::string> words;
  for (const auto& [label, text] : report::head_lines(result.analysis))
    words.push_back(label.empty() ? text : fmt::format("{}: {}", label, text));
  write_picture(options.output, report::timeline_picture(result.analysis, options.most_tracks),
                "Timeline of a mean iteration", words, options.force);
}

struct ScalingOptions {
  std::vector<std::string> runs;
  AnalysisArguments analysis;
  std::string output;  // empty: a table on standard output
  bool force = false;
  std::size_t most_layers = 9;
  std::optional<report::GridFormat> format;  // empty: a table, or the picture
};

void show_scaling(const ScalingOptions& options) {
  if (!options.output.empty()) {
    check_picture_name(options.output);
    if (options.format) {
      throw UsageError(
          fmt::format("--format: expected none beside -o {}, whose ending says what picture it is",
                      options.output));
    }
  }
  std::vector<join::ScalingPoint> points;
  for (const std::string& run : options.runs)
    points.push_back(join::scaling_point(run, analyse({run}, options.analysis).analysis));
  if (options.output.empty()) {
    const auto format = options.format.value_or(report::GridFormat::kTable);
    return write_result(
        "-",
        format == report::GridFormat::kJson
            ? exports::scaling_json(points, options.most_layers)
            : report::grid_text(report::scaling_grid(points, options.most_layers), format),
        false);
  }
  std::vector<std::string> words;
  words.reserve(points.size());
  for (const join::ScalingPoint& point : points)
    words.push_back(fmt::format("{}: {} GPUs", point.run, point.gpus));
  write_picture(options.output,
                report::draw(report::scaling_charts(points, options.most_layers), 2), "Scaling",
                words, options.force);
}

void declare_timeline(Command& program) {
  const auto options = std::make_shared<TimelineOptions>();
  Command command = program.add_subcommand("timeline", "Draws a mean iteration, stream by stream");
  command.add_option("FILE", options->files, "prof.json files of one run, or their folder")
      .required();
  declare_analysis(command, options->analysis);
  command.add_option("-o,--output", options->output, "Picture to write: .svg, .png or .html")
      .required();
  command.add_flag("--force", options->force, "Replace the picture if it exists");
  command.add_option("--top", options->most_tracks, "Draw only this many streams, the first")
      .check(between(std::size_t{1}, std::size_t{10000}))
      .shows_default();
  command.on_run([options] { draw_timeline(*options); });
}

void declare_scaling(Command& program) {
  const auto options = std::make_shared<ScalingOptions>();
  Command command = program.add_subcommand(
      "scaling",
      "Sets runs beside each other: the iteration, and the layers' mean and slowest "
      "device");
  command
      .add_option("RUN", options->runs,
                  "A prof.json file or folder for each run, such as a folder "
                  "for each number of GPUs")
      .required();
  declare_analysis(command, options->analysis);
  command.add_option("-o,--output", options->output,
                     "Picture to write: .svg, .png or .html; default: a table on standard output");
  command.add_flag("--force", options->force, "Replace the picture if it exists");
  command.add_option("--top", options->most_layers, "Show only this many layers, the largest")
      .check(between(std::size_t{1}, std::size_t{1000}))
      .shows_default();
  command
      .add_option("--format", options->format, "What to print where no picture is asked for",
                  grid_formats())
      .shows_default("table");
  command.on_run([options] { show_scaling(*options); });
}

}  // namespace

void declare_pictures(Command& program) {
  declare_timeline(program);
  declare_scaling(program);
}

}  // namespace inline_prof::cli
