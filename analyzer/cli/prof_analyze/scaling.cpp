// prof-analyze scaling RUN...: runs on more and more GPUs beside each other.
#include "join/ranks/scaling.hpp"

#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "report/text.hpp"

#include <memory>
#include <string>
#include <vector>

namespace inline_prof::cli {
namespace {

struct ScalingOptions {
  std::vector<std::string> runs;
  AnalysisArguments analysis;
  GridOutput output;
  std::size_t most_layers = 9;
};

// Columns run, gpus, layer ("" for the iteration), mean_us, slowest_us.
report::Grid scaling_grid(const std::vector<join::ScalingPoint>& points, std::size_t most_layers) {
  report::Grid grid{{"run", "gpus", "layer", "mean_us", "slowest_us"}, {}};
  for (const join::ScalingTime& time : join::scaling_times(points, most_layers)) {
    grid.rows.push_back({time.point->run, static_cast<double>(time.point->gpus),
                         time.layer.value_or(""), time.times.mean_us, time.times.slowest_us});
  }
  return grid;
}

void show_scaling(const ScalingOptions& options) {
  std::vector<join::ScalingPoint> points;
  for (const std::string& run : options.runs)
    points.push_back(join::scaling_point(run, analyse({run}, options.analysis).analysis));
  if (options.output.format == report::GridFormat::kJson) {
    return write_result(options.output.file, exports::scaling_json(points, options.most_layers),
                        options.output.force);
  }
  write_grid(scaling_grid(points, options.most_layers), options.output);
}

}  // namespace

void declare_scaling(Command& command, int& /*status*/) {
  const auto options = std::make_shared<ScalingOptions>();
  command
      .add_option("RUN", options->runs,
                  "A prof.json file or folder for each run, such as a folder for each number of "
                  "GPUs")
      .required();
  declare_analysis(command, options->analysis);
  declare_grid_output(command, options->output);
  command.add_option("--top", options->most_layers, "Show only this many layers, the largest")
      .check(between(std::size_t{1}, std::size_t{1000}))
      .shows_default();
  command.on_run([options] { show_scaling(*options); });
}

}  // namespace inline_prof::cli
