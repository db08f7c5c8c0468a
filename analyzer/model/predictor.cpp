#include "model/predictor.hpp"

#include "model/registry.hpp"
#include "model/roofline.hpp"
#include "model/shipped_parameters.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace inline_prof::model {
const Model* Predictor::model_for(const ModelEntry& entry, const ParameterKey& key,
                                  const read::Machine& machine) const {
  std::string name = key.key;
  for (const auto& [setting, value] : key.settings)
    name += fmt::format(" {}={}", setting, value);
  const auto [it, is_new] = models_.try_emplace({&entry, machine.id, name});
  if (!is_new) return it->second.get();
  ModelOptions options;
  options.edition = Edition::kCalibrated;
  options.machine = machine;
  options.settings = key.settings;
  if (entry.params != Need::kNone) {
    options.params = shipped_set_for(entry.name, key, machine);
    if (options.params.empty()) return nullptr;
  }
  try {
    it->second = entry.make(options);
  } catch (const std::invalid_argument&) {
    // The machine lacks a number, such as l2_mb: another model answers.
  }
  return it->second.get();
}

std::optional<Prediction> Predictor::predict_with(const ModelEntry& entry,
                                                  const Operation& operation) const {
  const auto keys = entry.parameter_keys != nullptr ? entry.parameter_keys(operation)
                                                    : std::vector<ParameterKey>(1);
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
  Outcome any = predict_any_kernel(op, machine, kernel);
  if (chosen_ == Models::kRoofline || kernel.name.empty()) return any;
  // Tables of convolutions, of data movement and of single precision were measured with the kernels
  // that are in use; those of products on tensor cores with the newest ones alone.
  const bool has_kernels_in_table =
      op_kind_from_name(op.kind) != OpKind::kGemm ||
      (op.get<std::string>("a_type") == "f32" && !op.find("compute_type"));
  if (any.prediction && any.prediction->interval90 && has_kernels_in_table) return any;
  auto of_family =
      families_of(machine).predict(kernel.name, kernel.blocks, op, machine, any.prediction);
  if (!of_family) return any;
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
