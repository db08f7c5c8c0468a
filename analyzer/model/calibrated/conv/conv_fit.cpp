#include "fit/calibrated_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/calibrated/conv/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;

// A convolution's point is 18 numbers: with so many a file stays below 96 KiB.
constexpr Index kMostConvPoints = 335;
constexpr Index kConvFolds = 5;

struct Choice {
  std::string type;
  std::string direction;
  bool knows_kernels = false;
};

Choice choose(const FitRequest& request) {
  Choice choice;
  choice.type = setting(request, "type", "f32");
  choice.direction =
      setting(request, "direction", "forward", {"forward", "backward_data", "backward_filter"});
  choice.knows_kernels = setting(request, "kernel", "unknown", {"known", "unknown"}) == "known";
  if (!request.boundary.empty()) {
    throw std::invalid_argument("the fit of conv takes no --boundary");
  }
  return choice;
}

struct MeasuredConv {
  model::ConvShape shape;
  std::optional<model::ConvKernel> kernel;
  double progress = 0;  // of the session that timed it
};

// Rows that differ in the batch only are one layer, and are held out together: a fit that has seen
// one of them knows the others.
std::vector<std::vector<Index>> folds_of(const std::vector<MeasuredConv>& convs) {
  using Layer = std::tuple<double, double, double, double, double, double, double, double>;
  std::map<Layer, double> layers;
  std::vector<Layer> own;
  for (const MeasuredConv& conv : convs) {
    const model::ConvShape& s = conv.shape;
    own.emplace_back(s.c, s.k, s.h, s.w, s.r, s.s, s.stride_h, s.pad_h);
    layers.emplace(own.back(), 0);
  }
  // Not in the layers' order: a fold of all deep layers would be another question.
  double next = 0;
  for (auto& [layer, key] : layers)
    key = next++;
  Eigen::VectorXd keys(static_cast<Index>(convs.size()));
  for (Index i = 0; i < keys.size(); ++i)
    keys[i] = layers.at(own[static_cast<std::size_t>(i)]);
  return folds_by_key(keys, kConvFolds);
}

// The time of a plain convolution's multiplications at peak; Winograd has a few times fewer.
double at_peak_us(const model::ConvShape& s, const model::ConvMachine& machine) {
  return 2 * s.n * s.k * s.p() * s.q() * s.c / s.groups * s.r * s.s / machine.flops_per_us;
}

FitResult fit_conv(const FitRequest& request) {
  const Choice choice = choose(request);
  const auto machine = model::conv_machine(*request.machine, choice.type);
  const auto direction = *model::conv_direction(choice.direction);

  const auto is_wanted = [&](const MeasuredRow& row) {
    const model::Row cells = row.cells();
    const std::string &type = cells.text("type"), &way = cells.text("direction");
    return (type.empty() || type == choice.type) && (way.empty() || way == choice.direction);
  };
  const MeasuredRows rows(request, model::conv_entry().inputs, is_wanted);
  const auto specs = model::ConvAnalytic::parameters();
  rows.require(specs.size(), fmt::format("a fit of {} parameters", specs.size()));
  rows.require_variety("c");
  rows.require_variety("k");

  std::vector<MeasuredConv> convs;
  CalibratedProblem problem;
  std::vector<BoundedRow> bounded;
  std::size_t nameless = 0;
  std::size_t impossible = 0;
  for (const MeasuredRow& row : rows) {
    const model::Row cells = row.cells();
    MeasuredConv conv{.shape = model::conv_shape(cells),
                      .kernel = std::nullopt,
                      .progress = cells.number("progress")};
    if (!model::complaint_about(conv.shape).empty()) {
      ++impossible;
      continue;
    }
    if (choice.knows_kernels) {
      conv.kernel = model::parse_conv_kernel(cells.text("kernel_name"), conv.shape.r, conv.shape.s,
                                             conv.shape.stride_h);
      if (!conv.kernel) {
        ++nameless;
        continue;
      }
    }
    problem.log_measured.push_back(std::log(row.time_us));
    bounded.push_back({&row, at_peak_us(conv.shape, machine)});
    problem.points.push_back(model::conv_point(conv.shape, conv.kernel));
    problem.features.push_back(model::conv_features(conv.shape, conv.kernel, machine));
    convs.push_back(conv);
  }
  if (convs.size() < std::max<std::size_t>(specs.size(), kLeastCalibrationRows)) {
    throw std::invalid_argument(
        fmt::format("{} rows with a kernel that is known to compute a convolution, a fit needs {}",
                    convs.size(), specs.size()));
  }
  refuse_another_unit(std::move(bounded));
  problem.specs.assign(specs.begin(), specs.end());
  // The floor is the timer's as much as the GPU's; the least time tells.
  problem.specs.front().start = 0.5 * std::exp(std::ranges::min(problem.log_measured));
  problem.folds = folds_of(convs);
  problem.most_points = kMostConvPoints;
  problem.has_regimes = true;  // a launch by the host scatters more than what the GPU does
  problem.times = [&](std::span<const double> values) {
    const model::ConvAnalytic analytic(machine, direction, values);
    return of_each(convs, [&](const MeasuredConv& conv) {
      const model::ConvTime time = analytic.predict(conv.shape, conv.kernel, conv.progress);
      return RowTime{time.time_us, time.bound};
    });
  };

  read::Parameters parameters;
  parameters.model = "conv";
  parameters.machine = request.machine->id;
  parameters.key = {{"type", choice.type},
                    {"direction", choice.direction},
                    {"kernel", choice.knows_kernels ? "known" : "unknown"}};
  parameters.parameters["sm_count"] = machine.sm_count;
  parameters.trained_rows = static_cast<std::int64_t>(rows.size());
  FitResult result;
  result.summary = fit_calibrated(problem, request, parameters);
  if (nameless > 0) {
    result.summary += fmt::format("left out: {} rows without a kernel that is known\n", nameless);
  }
  if (impossible > 0) {
    result.summary +=
        fmt::format("left out: {} rows whose filter does not fit into the image\n", impossible);
  }
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace

FitEntry conv_fit_entry() {
  return {.model = "conv",
          .settings = {{"type", "f32", "of the tensors; rows of another type are left out"},
                       {"direction", "forward", "or backward_data, backward_filter"},
                       {"kernel", "unknown",
                        "known: the rows have kernel_name, and so will those to be predicted"}},
          .needs_machine = true,
          .fit = fit_conv};
}

}  // namespace inline_prof::fit
