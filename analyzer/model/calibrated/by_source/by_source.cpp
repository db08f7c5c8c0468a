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

std::string group_name(const SourceForm& form, const Row& row) {
  std::string name;
  for (std::size_t i = 0; i < form.texts; ++i)
    if (row.has(i)) name += (name.empty() ? "" : " ") + row.text(i);
  return name;
}

// A group's name is its source and the types.
std::string_view types_of(std::string_view group) {
  return group.substr(std::min(group.find(' '), group.size() - 1) + 1);
}

Prediction operation_prediction(const SourceForm& form, const BySource& model,
                                const BySource::Answer& answer, const SourceQuery& query) {
  Prediction prediction = as_prediction(answer.estimate, answer.bound, std::string(form.model),
                                        model.trained_machine());
  if (query.work != 1) {
    prediction.model += fmt::format(", {} times the forward pass", query.work);
    prediction.is_extrapolated = true;
  }
  return prediction;
}

class BySourceModel : public Model {
 public:
  BySourceModel(const SourceForm& form, const read::Parameters& parameters,
                const read::Machine& machine)
      : form_(&form), sources_(form, parameters, machine), machine_id_(machine.id) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return form_->inputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    SourceQuery query;
    for (std::size_t i = form_->texts; i < form_->inputs.size(); ++i)
      query.sizes.push_back(row.number_or(i, 0));
    if (form_->complete != nullptr) form_->complete(query.sizes);
    const std::string name = group_name(*form_, row);
    std::optional<BySource::Answer> found;
    if (row.has(0)) {
      found = sources_.of_group(name, query.sizes);
    } else {
      query.types = name;
      found = sources_.of_query(query);
    }
    if (!found) return RowPrediction::none("", fmt::format("the parameters do not hold {}", name));
    RowPrediction prediction;
    prediction.time_us = found->estimate.time_us;
    prediction.lower_us = found->estimate.lower_us;
    prediction.upper_us = found->estimate.upper_us;
    prediction.bound = found->bound;
    prediction.reason = far_away_reason(found->estimate, "shape");
    prediction.parts = {found->analytic_us, static_cast<double>(found->sources),
                        found->estimate.distance, found->estimate.sigma};
    return prediction;
  }

  [[nodiscard]] std::optional<Prediction> predict_operation(
      const Operation& operation) const override {
    const auto query = form_->query(operation);
    if (!query) return std::nullopt;
    const auto found = sources_.of_query(*query);
    if (!found) return std::nullopt;
    return operation_prediction(*form_, sources_, *found, *query);
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    return transfer_warnings(sources_.is_transfer(), sources_.trained_machine(), machine_id_);
  }

 private:
  const SourceForm* form_;
  BySource sources_;
  std::string machine_id_;
};

}  // namespace

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
    : form_(&form),
      machine_(machine),
      trained_machine_(parameters.machine),
      is_transfer_(parameters.machine != machine.id) {
  const std::vector<read::Machine> known = builtin_machines();
  const auto trained = std::ranges::find(known, trained_machine_, &read::Machine::id);
  const bool has_same_units = trained != known.end() && trained->sm_count == machine.sm_count;
  const double unit_sigma = is_transfer_
                                ? transfer_sigma(machine, has_same_units, form.transfer_sigmas)
                                : kSameMachineSigma;
  const base::JsonValue document = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode groups =
      read::TreeNode(document, parameters.label).member("parameters").member(kSourceGroups);
  const std::size_t size_count = form.inputs.size() - form.texts + form.derived;
  groups.each_member([&](std::string_view name, const read::TreeNode& node) {
    // A group has the form of a parameter file's members.
    const nlohmann::json& json = parameters.parameters[kSourceGroups][std::string(name)];
    read::Parameters own;
    own.label = fmt::format("{}: {}", parameters.label, name);
    static_cast<void>(node.member("parameters"));
    own.parameters = json["parameters"];
    if (node.has("residual")) own.residual = json["residual"];
    if (node.has("conformal")) own.conformal = json["conformal"];
    Group group;
    group.values = parameter_values(own, form.specs);
    if (is_transfer_ && !has_same_units && form.carries != nullptr && !form.carries(group.values)) {
      left_out_.emplace(name);
      return;
    }
    if (form.transfer != nullptr && trained != known.end())
      form.transfer(name, *trained, machine, group.values);
    group.variant = static_cast<std::size_t>(node.member(kSourceVariant).integer());
    if (group.variant >= form.variants) node.member(kSourceVariant).fail("no such way to work");
    group.rows = static_cast<double>(node.member("rows").integer());
    const auto features = [&](const RawPoint& point) { return form.features(point); };
    group.calibration = Calibration(read_residual(own, size_count, features), read_local_scale(own),
                                    read_conformal(own), unit_sigma);
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

std::unique_ptr<Model> make_by_source(const SourceForm& form, const ModelOptions& options) {
  return std::make_unique<BySourceModel>(form, choose_parameters(options.params, form.model),
                                         *options.machine);
}

std::vector<ParameterKey> source_keys(const SourceForm& form, const Operation& operation) {
  const auto query = form.query(operation);
  if (!query) return {};
  std::string key = query->types;
  std::ranges::replace(key, ' ', '_');
  return {{.key = std::move(key), .type_of_relatives = "f16"}};
}

ModelEntry by_source_entry(const SourceForm& form) {
  return {.name = form.model,
          .summary = form.summary,
          .editions = {Edition::kCalibrated},
          .inputs = form.inputs,
          .machine = Need::kRequired,
          .params = Need::kRequired,
          .params_meaning = "parameters that prof-model fit has written, or a shipped set of them",
          .operations = {form.kind}};
}

}  // namespace inline_prof::model
