#include "model/predictor.hpp"

#include "model/known_by_name.hpp"
#include "model/registry.hpp"
#include "model/roofline.hpp"
#include "model/shipped_parameters.hpp"
#include "read/profile.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace inline_prof::model {
namespace {

// Tables of data movement were measured with kernels that work on vectors, those of products on
// tensor cores with the newest ones alone, and those of convolutions and of single precision with
// the kernels that are in use.
bool is_in_table(const read::Op& op, std::string_view kernel_name) {
  const auto kind = op_kind_from_name(op.kind);
  if (kind == OpKind::kGemm)
    return op.get<std::string>("a_type") == "f32" && !op.find("compute_type");
  const KernelFamily* const family = kernel_family(kernel_name);
  return kind != OpKind::kMemory || family == nullptr || family->name == "vectorized";
}

// Returns the upper end of the interval over its lower one.
double width(const Prediction& prediction) {
  return prediction.interval90->second.value / prediction.interval90->first.value;
}

// The delay of a kernel that ends while another stream does this.
struct Delay {
  std::uint8_t read::Neighbours::*percent;
  double usual_us;
  double most_us;
};

// Seen on A100 and V100 (tests/data/real_traces): a kernel of any length takes 2 to 11 us longer
// beside a collective, and 4 to 14 us beside a copy over the host's link, most likely because its
// last writes wait for the link.  Long kernels lose up to a third of their bandwidth, too.
constexpr std::array<Delay, 2> kDelays{
    {{&read::Neighbours::collective, 3, 12}, {&read::Neighbours::host_copy, 8, 20}}};
constexpr double kMostLost = 0.3;

bool is_slowed(const read::Op& op) {
  const auto kind = op_kind_from_name(op.kind);
  return kind != OpKind::kCopy && kind != OpKind::kCollective;
}

void add_neighbours(Prediction& prediction, const read::Neighbours& neighbours) {
  prediction.time = prediction.time + microseconds(usual_delay_us(neighbours));
  for (const Delay& delay : kDelays) {
    const double share = 0.01 * neighbours.*delay.percent;
    prediction.interval90->second = (1 + share * kMostLost) * prediction.interval90->second +
                                    microseconds(share * delay.most_us);
    if (share > 0) prediction.tail_probability = nullptr;  // of the kernel alone
  }
}

}  // namespace

double usual_delay_us(const read::Neighbours& neighbours) {
  double delay_us = 0;
  for (const Delay& delay : kDelays)
    delay_us += 0.01 * neighbours.*delay.percent * delay.usual_us;
  return delay_us;
}

const Model* Predictor::model_for(const ModelEntry& entry, const ParameterKey& key,
                                  const read::Machine& machine) const {
  std::string name = key.key;
  for (const auto& [setting, value] : key.settings)
    name += fmt::format(" {}={}", setting, value);
  const auto [it, is_new] = models_.try_emplace({&entry, machine.id, name});
  std::optional<Model>& model = it->second;
  if (!is_new) return model ? &*model : nullptr;
  ModelOptions options;
  options.edition = Edition::kCalibrated;
  options.machine = machine;
  options.settings = key.settings;
  if (entry.params != Need::kNone) {
    options.params = shipped_set_for(entry.name, key, machine);
    if (options.params.empty()) return nullptr;
  }
  try {
    model = entry.make(options);
  } catch (const std::invalid_argument&) {
    // The machine lacks a number, such as l2_mb: another model answers.
  }
  return model ? &*model : nullptr;
}

std::optional<Prediction> Predictor::predict_with(const ModelEntry& entry,
                                                  const Operation& operation) const {
  const auto keys =
      entry.parameter_keys ? entry.parameter_keys(operation) : std::vector<ParameterKey>(1);
  for (const ParameterKey& key : keys) {
    const Model* model = model_for(entry, key, operation.machine);
    if (model == nullptr) continue;
    auto found = model->predict_operation(operation);
    return found && std::isfinite(found->time.value) ? found : std::nullopt;
  }
  return std::nullopt;
}

const Families& Predictor::families_of(const read::Machine& machine) const {
  if (own_) {
    if (const auto own = own_->find(machine.id); own != own_->end()) return own->second;
  }
  if (const auto known = families_.find(machine.id); known != families_.end()) return known->second;
  return families_.emplace(machine.id, Families(shipped_families(machine), machine)).first->second;
}

Outcome Predictor::predict(const read::Op& op, const read::Machine& machine,
                           const LaunchedKernel& kernel) const {
  Outcome outcome = predict_alone(op, machine, kernel);
  if (kernel.neighbours != nullptr && outcome.prediction && outcome.prediction->interval90 &&
      is_slowed(op)) {
    add_neighbours(*outcome.prediction, *kernel.neighbours);
  }
  return outcome;
}

std::optional<Prediction> Predictor::predict_by_name(const read::Machine& machine,
                                                     const LaunchedKernel& kernel) const {
  if (chosen_ == Models::kRoofline || kernel.launch == nullptr) return std::nullopt;
  const auto known = known_by_name(kernel.name, *kernel.launch);
  const auto movements = known ? movements_by_name(*known) : std::nullopt;
  if (!movements) return std::nullopt;
  const auto least = predict(movements->first, machine, kernel).prediction;
  auto most = predict(movements->second, machine, kernel).prediction;
  if (!least || !most || !least->interval90 || !most->interval90) return std::nullopt;
  most->time = Seconds{std::sqrt(least->time.value * most->time.value)};
  most->interval90->first = least->interval90->first;
  most->model += ", sizes by its grid";
  most->attainable.reset();
  most->remedy.clear();
  most->tail_probability = nullptr;
  return most;
}

Outcome Predictor::predict_alone(const read::Op& op, const read::Machine& machine,
                                 const LaunchedKernel& kernel) const {
  Outcome any = predict_any_kernel(op, machine, kernel);
  if (chosen_ == Models::kRoofline || kernel.name.empty()) return any;
  auto of_family =
      families_of(machine).predict(kernel.name, kernel.blocks, op, machine, any.prediction);
  if (!of_family) return any;
  // Far from a table's rows the family may know more of attention.
  if (any.prediction && any.prediction->interval90 && is_in_table(op, kernel.name) &&
      (op_kind_from_name(op.kind) != OpKind::kAttention ||
       width(*any.prediction) <= width(*of_family)))
    return any;
  return {std::move(of_family), ""};
}

Outcome Predictor::predict_any_kernel(const read::Op& op, const read::Machine& machine,
                                      const LaunchedKernel& kernel) const {
  const auto kind = op_kind_from_name(op.kind);
  if (chosen_ != Models::kRoofline) {
    for (const ModelEntry& entry : all_models()) {
      if (!covers(entry.operations, kind) ||
          std::ranges::find(entry.editions, Edition::kCalibrated) == entry.editions.end()) {
        continue;
      }
      if (auto found = predict_with(entry, {op, machine, kernel})) return {std::move(found), ""};
    }
  }
  for (const OperationModel& model : operation_models()) {
    if (covers(model.operations, kind)) return model.predict(op, machine);
  }
  return predict_roofline(op, machine);  // says why it cannot
}

}  // namespace inline_prof::model
