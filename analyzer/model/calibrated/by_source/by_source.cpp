#include "model/calibrated/by_source/by_source.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/machines.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kNormal95 = 1.6449;
// Libraries differ in what a call includes and in their kernels: beyond what the sources at hand
// differ by, a further one is off by as much.
constexpr double kOtherSourceSigma = 0.28;
// Work that no row has, such as a backward pass at the efficiency of a forward one.
constexpr double kOtherWorkSigma = 0.2;

constexpr std::array<std::string_view, 4> kParts{"analytic_us", "sources", "distance", "sigma"};

// A group's name is its source and the types.
std::string_view types_of(std::string_view group) {
  return group.substr(std::min(group.find(' '), group.size() - 1) + 1);
}

RowPrediction predict_row(const SourceForm& form, const BySource& sources, const Row& row) {
  SourceQuery query{
      .types = source_group(form, row), .may_be = {}, .sizes = source_sizes(form, row)};
  const auto found =
      row.has("source") ? sources.of_group(query.types, query.sizes) : sources.of_query(query);
  if (!found) throw NoAnswer{"", fmt::format("the parameters do not hold {}", query.types)};
  return as_row(found->estimate, found->bound, "shape",
                {found->analytic_us, static_cast<double>(found->sources), found->estimate.distance,
                 found->estimate.sigma});
}

std::optional<Prediction> predict_operation(const SourceForm& form, const BySource& sources,
                                            const std::string& trained_machine,
                                            const Operation& operation) {
  const auto query = form.query(operation);
  const auto found = query ? sources.of_query(*query) : std::nullopt;
  if (!found) return std::nullopt;
  Prediction prediction =
      as_prediction(found->estimate, found->bound, std::string(form.model), trained_machine);
  if (query->work != 1) {
    prediction.model += fmt::format(", {} times the forward pass", query->work);
    prediction.is_extrapolated = true;
  }
  return prediction;
}

Model make_by_source(const SourceForm& form, const ModelOptions& options) {
  const read::Parameters parameters = choose_parameters(options.params, form.model);
  const std::string& machine = options.machine->id;
  const auto sources = std::make_shared<const BySource>(form, parameters, *options.machine);
  return {form.inputs, kParts,
          [sources, &form](const Row& row) { return predict_row(form, *sources, row); },
          transfer_warnings(parameters.machine != machine, parameters.machine, machine),
          [sources, &form, trained = parameters.machine](const Operation& operation) {
            return predict_operation(form, *sources, trained, operation);
          }};
}

// A set holds the groups of the same number types.
std::vector<ParameterKey> source_keys(const SourceForm& form, const Operation& operation) {
  const auto query = form.query(operation);
  if (!query) return {};
  std::string key = query->types;
  std::ranges::replace(key, ' ', '_');
  return {{.key = std::move(key), .type_of_relatives = "f16"}};
}

}  // namespace

std::string source_group(const SourceForm& form, const Row& row) {
  std::string name;
  for (const Column& column : form.inputs.first(form.texts))
    if (row.has(column.name)) name += (name.empty() ? "" : " ") + row.text(column.name);
  return name;
}

Sizes source_sizes(const SourceForm& form, const Row& row) {
  Sizes sizes;
  for (const Column& column : form.inputs.subspan(form.texts))
    sizes.push_back(row.number(column.name));
  if (form.complete != nullptr) form.complete(sizes);
  return sizes;
}

SourceGpu::SourceGpu(const read::Machine& machine)
    : units(static_cast<double>(std::max<std::int64_t>(machine.sm_count, 1))),
      clocks_per_us(units * machine.clock_mhz()),
      bytes_per_us(machine.memory_gb_per_s * 1e3) {
  constexpr double usual_l2_mb = 40, usual_tflops = 100;
  l2_bytes = machine.l2_mb.value_or(usual_l2_mb) * 1e6;
  const auto peak = machine.peak_tflops.find("f16");
  flops_per_us = (peak == machine.peak_tflops.end() ? usual_tflops : peak->second) * 1e6;
}

BySource::BySource(const SourceForm& form, const read::Parameters& parameters,
                   const read::Machine& machine)
    : form_(&form), machine_(machine) {
  const bool is_transfer = parameters.machine != machine.id;
  const std::vector<read::Machine> known = builtin_machines();
  const auto trained = std::ranges::find(known, parameters.machine, &read::Machine::id);
  const bool has_same_units = trained != known.end() && trained->sm_count == machine.sm_count;
  const double unit_sigma = is_transfer
                                ? transfer_sigma(machine, has_same_units, form.transfer_sigmas)
                                : kSameMachineSigma;
  const std::size_t size_count = form.inputs.size() - form.texts + form.derived;
  each_group(parameters, kSourceGroups,
             [&](const std::string& name, const read::Parameters& own, const read::TreeNode& node) {
               Group group;
               group.values = parameter_values(own, form.specs);
               if (is_transfer && !has_same_units && form.carries != nullptr &&
                   !form.carries(group.values)) {
                 left_out_.insert(name);
                 return;
               }
               if (form.transfer != nullptr && trained != known.end())
                 form.transfer(name, *trained, machine, group.values);
               group.variant = static_cast<std::size_t>(node.member(kSourceVariant).integer());
               if (group.variant >= form.variants)
                 node.member(kSourceVariant).fail("no such way to work");
               group.rows = static_cast<double>(node.member("rows").integer());
               group.calibration = read_calibration(own, size_count, form.features, unit_sigma);
               groups_.emplace(name, std::move(group));
             });
}

BySource::Answer BySource::answer(const Group& group, const Sizes& sizes) const {
  const SourceTime analytic = form_->time(sizes, machine_, group.values, group.variant);
  return {group.calibration.estimate(analytic.time_us, form_->features(sizes), analytic.bound),
          analytic.bound, analytic.time_us, 1, group.rows};
}

std::optional<BySource::Answer> BySource::of_group(std::string_view group,
                                                   const Sizes& sizes) const {
  const auto found = groups_.find(group);
  if (found != groups_.end()) return answer(found->second, sizes);
  if (!left_out_.contains(group)) return std::nullopt;
  SourceQuery query;
  query.types = types_of(group);
  query.sizes = sizes;
  return of_query(query);
}

std::optional<BySource::Answer> BySource::of_query(const SourceQuery& query) const {
  std::vector<Answer> answers;
  for (const auto& [name, group] : groups_) {
    const std::string_view source = std::string_view(name).substr(0, name.find(' '));
    if (types_of(name) != query.types || (query.may_be && !query.may_be(source))) continue;
    answers.push_back(answer(group, query.sizes));
  }
  if (answers.empty()) return std::nullopt;
  // Their mean in logarithms: the more rows near it a source has, the more it counts.  Its error is
  // that of one of them, and that of not knowing which.
  double mean = 0, below = 0, above = 0, sigma = 0, squares = 0;
  for (Answer& each : answers)
    each.weight /= 1 + each.estimate.distance * each.estimate.distance;
  const double all_weight =
      std::accumulate(answers.begin(), answers.end(), 0.0,
                      [](double sum, const Answer& each) { return sum + each.weight; });
  for (const Answer& each : answers) {
    const Calibration::Estimate& estimate = each.estimate;
    const double weight = each.weight / all_weight, log_time = std::log(estimate.time_us);
    mean += weight * log_time;
    squares += weight * log_time * log_time;
    below += weight * std::log(estimate.time_us / estimate.lower_us);
    above += weight * std::log(estimate.upper_us / estimate.time_us);
    sigma += weight * estimate.sigma;
  }
  const double spread = std::sqrt(std::max(0.0, squares - mean * mean));
  const double between = query.may_be ? spread : std::hypot(kOtherSourceSigma, spread);
  const double other = kNormal95 * std::hypot(between, query.work == 1 ? 0 : kOtherWorkSigma);
  Answer all = *std::ranges::max_element(answers, {}, &Answer::weight);
  all.sources = answers.size();
  all.estimate.time_us = query.work * std::exp(mean);
  all.estimate.sigma = std::hypot(sigma, between);
  all.estimate.lower_us = all.estimate.time_us * std::exp(-std::hypot(below, other));
  all.estimate.upper_us = all.estimate.time_us * std::exp(std::hypot(above, other));
  return all;
}

ModelEntry source_model_entry(const SourceForm& form) {
  return {.name = form.model,
          .summary = form.summary,
          .editions = {Edition::kCalibrated},
          .inputs = form.inputs,
          .machine = Need::kRequired,
          .params = Need::kRequired,
          .params_meaning = "parameters that prof-model fit has written, or a shipped set of them",
          .make = [&form](const ModelOptions& options) { return make_by_source(form, options); },
          .operations = {form.kind},
          .parameter_keys =
              [&form](const Operation& operation) { return source_keys(form, operation); }};
}

}  // namespace inline_prof::model
