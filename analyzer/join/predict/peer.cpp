#include "join/predict/peer.hpp"

#include "model/registry.hpp"
#include "model/units.hpp"

#include <stdexcept>

namespace inline_prof::join {

Peer::Peer(std::string_view model_name) : entry_(model::find_model(model_name)) {}

const model::Model* Peer::model_for(const read::Machine& machine) {
  const auto [it, is_new] = models_.try_emplace(machine.id);
  if (is_new) {
    model::ModelOptions options;
    options.edition = entry_.editions.front();
    options.machine = machine;
    try {
      it->second = entry_.make(options);
    } catch (const std::invalid_argument& error) {
      complaints_.insert(error.what());
    }
  }
  return it->second.get();
}

std::optional<double> Peer::estimate_us(const read::Op& op, const read::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  const model::Model* model = model_for(machine);
  if (model == nullptr) return std::nullopt;
  const auto [it, is_new] = estimates_us_.try_emplace({machine.id, read::op_text(op)});
  if (!is_new) return it->second;
  if (const auto prediction = model->predict_operation({op, machine, {}})) {
    name_ = prediction->model;
    it->second = model::in_microseconds(prediction->time);
  }
  return it->second;
}

std::string Peer::name() const {
  const std::scoped_lock lock(mutex_);
  return name_;
}

std::vector<std::string> Peer::warnings() const {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> complaints = complaints_;
  for (const auto& [machine, model] : models_) {
    if (model == nullptr) continue;
    for (const std::string& warning : model->warnings())
      complaints.insert(warning);
  }
  if (complaints.empty() && name_.empty()) {
    complaints.insert("no row is a matrix product that it knows, on a machine that is known");
  }
  std::vector<std::string> warnings;
  warnings.reserve(complaints.size());
  for (const std::string& complaint : complaints)
    warnings.push_back("vendor's estimate: " + complaint);
  return warnings;
}

}  // namespace inline_prof::join
