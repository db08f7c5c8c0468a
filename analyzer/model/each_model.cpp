#include "model/each_model.hpp"

#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "model/shipped_parameters.hpp"
#include "read/file_text.hpp"
#include "read/input_error.hpp"
#include "read/profile.hpp"
#include "read/text_lines.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

// Asked only where the user names it: a package of NVIDIA's, and a program to start.
constexpr std::string_view kVendors = "nvmmh";
constexpr std::string_view kConstants = "constants";  // a setting of all that have two sets

// Models of two editions are told apart by them.
std::string_view name_of(const ModelEntry& entry, Edition edition) {
  static std::map<std::pair<std::string_view, Edition>, std::string> names;
  if (entry.editions.size() == 1) return entry.name;
  return names
      .try_emplace({entry.name, edition}, fmt::format("{} {}", entry.name, edition_name(edition)))
      .first->second;
}

// Splits MODEL.NAME; a name without a model is any model's.
std::pair<std::string_view, std::string_view> parts_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// True if the entry has such a setting or column.  Throws std::invalid_argument for a column that
// the text is no value of.
bool takes(const ModelEntry& entry, std::string_view name, const std::string& text) {
  if (name == kConstants) return entry.has_constant_sets;
  if (std::ranges::count(entry.settings, name, &Setting::name) > 0) return true;
  const auto column = std::ranges::find(entry.inputs, name, &Column::name);
  if (column == entry.inputs.end()) return false;
  if (column->kind != ColumnKind::kText && !read::number_of(text)) {
    throw std::invalid_argument(
        fmt::format("{}: expected {}, found {}", name, expectation(*column), text));
  }
  return true;
}

ConstantSet constant_set(const std::string& text) {
  if (text == "original") return ConstantSet::kOriginal;
  if (text == "main") return ConstantSet::kMain;
  throw std::invalid_argument(fmt::format("constants: expected original or main, found {}", text));
}

// The operation's part of a prediction in the place of the whole.
void take_part(RowPrediction& prediction, const Model& model, std::string_view part) {
  const auto place = std::ranges::find(model.parts, part) - model.parts.begin();
  const auto* value = static_cast<std::size_t>(place) < prediction.parts.size()
                          ? std::get_if<double>(&prediction.parts[static_cast<std::size_t>(place)])
                          : nullptr;
  if (value == nullptr) {
    prediction = RowPrediction::none("", fmt::format("no {}", part));
    return;
  }
  prediction.time_us = part.ends_with("_s") ? *value * 1e6 : *value;
  prediction.bound = {};
}

RowPrediction from(const Prediction& found) {
  RowPrediction prediction;
  prediction.time_us = in_microseconds(found.time);
  prediction.bound = bound_name(found.bound);
  if (found.interval90) {
    prediction.lower_us = in_microseconds(found.interval90->first);
    prediction.upper_us = in_microseconds(found.interval90->second);
  }
  return prediction;
}

std::string_view owner_of_params(const ModelEntry& entry) {
  return entry.shares_params.empty() ? entry.name : entry.shares_params;
}

// All that an answer depends on.
std::string key_of(const Operation& operation) {
  std::string key = fmt::format("{}\n{}\n{}\n{}", operation.machine.id, read::op_text(operation.op),
                                operation.kernel.name, operation.kernel.blocks);
  if (const read::LaunchShape* launch = operation.kernel.launch) {
    key += fmt::format("\n{} {} {}", launch->block[0], launch->block[1],
                       launch->dynamic_shared_bytes + launch->static_shared_bytes);
  }
  return key;
}

}  // namespace

EachModel::EachModel(ModelChoices choices) : choices_(std::move(choices)) {
  for (const auto& [model, file] : choices_.params) {
    if (find_model(model).params == Need::kNone) {
      throw std::invalid_argument(fmt::format("{} has no parameters", model));
    }
  }
  for (const auto& [name, text] : choices_.settings) {
    const auto [model, plain] = parts_of(name);
    bool is_known = false;
    for (const ModelEntry& entry : all_models()) {
      if (model.empty() || entry.name == model) is_known = takes(entry, plain, text) || is_known;
    }
    if (!is_known) {
      throw std::invalid_argument(fmt::format("no {} has a setting or a column {}",
                                              model.empty() ? "model" : model, plain));
    }
    if (plain == kConstants) static_cast<void>(constant_set(text));
  }
}

// Tables name their GPU in a column, if at all; parameters that a fit made always do.
std::string EachModel::check(const ModelEntry& entry, const std::string& params,
                             const read::Machine& machine) const {
  if (!std::filesystem::exists(params)) return {};
  const std::string text = read::read_text(params);
  if (!text.starts_with('{')) {
    check_same_machine(read::Table(text, params), machine);
    return {};
  }
  const std::string fitted_on =
      read::parse_parameters(text, params, owner_of_params(entry)).machine;
  if (fitted_on.empty() || fitted_on == machine.id) return {};
  return fmt::format("{} was fitted on {}, not {}", params, fitted_on, machine.id);
}

void EachModel::make(Made& made, const ModelEntry& entry, ModelOptions options,
                     const ParameterKey& key, const read::Machine& machine) {
  const Edition edition = options.edition;
  options.input_name = std::string(entry.name);
  const bool has_own = entry.has_own_machine && edition == Edition::kPublished;
  if (entry.machine != Need::kNone && !has_own) options.machine = machine;
  for (const auto& [name, text] : choices_.settings) {
    const auto [model, plain] = parts_of(name);
    if (!model.empty() && model != entry.name) continue;
    if (std::ranges::count(entry.settings, plain, &Setting::name) > 0) {
      options.settings.insert_or_assign(std::string(plain), text);
    }
  }
  const std::string* chosen = chosen_params(entry);
  const bool is_chosen = chosen != nullptr;
  const bool is_wanted = entry.params == Need::kRequired ||
                         (entry.params == Need::kOptional && edition == Edition::kCalibrated);
  try {
    if (is_chosen) {
      made.params = *chosen;
      // A calibrated model transfers its parameters to other machines itself.
      const bool is_bound = edition == Edition::kPublished || entry.operation_needs_inputs;
      made.reason = is_bound ? check(entry, made.params, machine) : "";
    } else if (is_wanted) {
      made.params = shipped_set_for(entry.name, key, machine);
      if (made.params.empty()) {
        made.reason = fmt::format("needs --params {}={}", owner_of_params(entry),
                                  edition == Edition::kPublished
                                      ? "FILE: " + std::string(entry.params_meaning)
                                      : "FILE: none is shipped for this machine");
        return;
      }
    }
    options.params = made.params;
    if (made.reason.empty()) made.model = entry.make(options);
  } catch (const std::invalid_argument& error) {
    made.reason = error.what();
  } catch (const read::InputError& error) {
    made.reason = error.what();
  }
  if (!is_chosen && entry.name != kVendors) return;
  std::vector<std::string> wrong{made.reason};
  if (made.reason.empty()) wrong = made.model->warnings;
  for (const std::string& what : wrong) {
    std::string& models = complaints_[what];
    models += fmt::format("{}{}", models.empty() ? "" : ", ", name_of(entry, edition));
  }
}

const EachModel::Made& EachModel::made(const ModelEntry& entry, Edition edition,
                                       const ParameterKey& key, const read::Machine& machine,
                                       ConstantSet constants) {
  const auto [it, is_new] = made_.try_emplace({&entry, edition, machine.id, key.key, constants});
  if (is_new) {
    ModelOptions options;
    options.edition = edition;
    options.constants = constants;
    make(it->second, entry, std::move(options), key, machine);
  }
  return it->second;
}

void EachModel::add_settings(OperationInputs& inputs, const ModelEntry& entry) const {
  for (const auto& [name, text] : choices_.settings) {
    const auto [model, plain] = parts_of(name);
    if (!model.empty() && model != entry.name) continue;
    const auto column = std::ranges::find(entry.inputs, plain, &Column::name);
    if (column == entry.inputs.end()) continue;
    // The last one of a column counts.
    if (column->kind == ColumnKind::kText) {
      inputs.values.emplace_back(column->name, text);
    } else {
      inputs.add(column->name, *read::number_of(text));
    }
  }
}

ModelAnswer EachModel::ask(const ModelEntry& entry, Edition edition, const Operation& operation,
                           ConstantSet constants) {
  ModelAnswer answer{.model = name_of(entry, edition),
                     .is_published = edition == Edition::kPublished};
  OperationInputs inputs;
  if (entry.inputs_of != nullptr) {
    inputs = entry.inputs_of(operation);
    answer.is_covered = !inputs.is_another;
    if (!inputs.reason.empty()) {
      answer.prediction = RowPrediction::none(kRefused, inputs.reason);
      return answer;
    }
    add_settings(inputs, entry);
  }
  const auto keys =
      entry.parameter_keys ? entry.parameter_keys(operation) : std::vector<ParameterKey>(1);
  // A user's setting may make an operation one of the model's own.
  const auto with = [&](RowPrediction prediction) {
    answer.is_covered = answer.is_covered || prediction.time_us.has_value();
    answer.prediction = std::move(prediction);
    return std::move(answer);
  };
  const Made* found = nullptr;
  for (const ParameterKey& key : keys) {
    found = &made(entry, edition, key, operation.machine, constants);
    if (found->model) break;
  }
  if (found == nullptr || !found->model) {
    return with(RowPrediction::none(
        "", found == nullptr ? "no parameters for such an operation" : found->reason));
  }
  answer.parameters = found->params;
  if (edition == Edition::kCalibrated) {
    const auto prediction = found->model->predict_operation(operation);
    if (prediction && std::isfinite(prediction->time.value)) return with(from(*prediction));
    if (!entry.operation_needs_inputs)
      return with(RowPrediction::none("", "not an operation that it was fitted for"));
  }
  RowPrediction prediction = predict_inputs(*found->model, inputs);
  if (edition == Edition::kPublished && prediction.time_us && !inputs.part.empty())
    take_part(prediction, *found->model, inputs.part);
  return with(std::move(prediction));
}

std::span<const ModelAnswer> EachModel::answers(const Operation& operation) {
  const std::scoped_lock lock(mutex_);
  const auto [it, is_new] = answers_.try_emplace(key_of(operation));
  std::vector<ModelAnswer>& answers = it->second;
  if (!is_new) return answers;
  const auto kind = op_kind_from_name(operation.op.kind);
  for (const ModelEntry& entry : all_models()) {
    const bool is_asked = entry.name != kVendors || choices_.vendors_model == kVendors;
    if (!covers(entry.operations, kind) || !is_asked) continue;
    std::optional<ConstantSet> constants;
    for (const auto& [name, text] : choices_.settings) {
      const auto [model, plain] = parts_of(name);
      if (plain == kConstants && (model.empty() || model == entry.name))
        constants = constant_set(text);
    }
    for (const Edition edition : entry.editions) {
      ModelAnswer answer =
          ask(entry, edition, operation, constants.value_or(ConstantSet::kOriginal));
      // The newest edition of the constants may know what the first does not.
      if (entry.has_constant_sets && !constants && !answer.prediction.time_us &&
          !answer.prediction.error.empty()) {
        answer = ask(entry, edition, operation, ConstantSet::kMain);
        if (answer.prediction.time_us) answer.parameters = "constants main";
      }
      count(entry, answer);
      answers.push_back(std::move(answer));
    }
  }
  for (const OperationModel& model : operation_models()) {
    if (!covers(model.operations, kind)) continue;
    const Outcome outcome = model.predict(operation.op, operation.machine);
    answers.push_back({.model = model.name,
                       .is_fallback = true,
                       .prediction = outcome.prediction ? from(*outcome.prediction)
                                                        : RowPrediction::none("", outcome.reason)});
  }
  return answers;
}

ModelAnswer EachModel::published(const Operation& operation) {
  std::string reasons;
  ModelAnswer fallback;
  for (const ModelAnswer& answer : answers(operation)) {
    if (answer.prediction.time_us && answer.is_published) return answer;
    if (answer.prediction.time_us && answer.is_fallback && fallback.model.empty())
      fallback = answer;
    const bool is_said = answer.prediction.time_us || !answer.is_covered ||
                         !(answer.is_published || answer.is_fallback);
    if (is_said) continue;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", answer.model,
                           answer.prediction.reason);
  }
  fallback.prediction.reason = std::move(reasons);
  if (!fallback.prediction.time_us && fallback.prediction.reason.empty()) {
    fallback.prediction.reason = fmt::format("no published model for such {}", operation.op.kind);
  }
  return fallback;
}

const std::string* EachModel::chosen_params(const ModelEntry& entry) const {
  for (const std::string_view name : {entry.name, entry.shares_params}) {
    const auto chosen = choices_.params.find(std::string(name));
    if (chosen != choices_.params.end()) return &chosen->second;
  }
  return nullptr;
}

void EachModel::count(const ModelEntry& entry, const ModelAnswer& answer) {
  const bool is_chosen = chosen_params(entry) != nullptr;
  const bool is_there = entry.params != Need::kRequired || is_chosen || !answer.parameters.empty();
  if (!answer.is_covered || !is_there) return;
  Tally& tally = tallies_[answer.model];
  const RowPrediction& prediction = answer.prediction;
  tally.has_params = is_chosen && (tally.has_params || !answer.parameters.empty());
  ++tally.asked;
  if (prediction.time_us) ++tally.predicted;
  if (tally.reason.empty()) tally.reason = prediction.reason;
  if (prediction.error != kRefused) return;
  ++tally.refused;
  if (tally.refusal.empty()) tally.refusal = prediction.reason;
}

std::vector<std::string> EachModel::complaints() const {
  const std::scoped_lock lock(mutex_);
  auto complaints = complaints_;
  for (const auto& [model, tally] : tallies_) {
    const bool is_useless = tally.has_params && tally.predicted == 0;
    if (!is_useless && tally.refused == 0) continue;
    std::string& models =
        complaints[is_useless ? fmt::format("the parameters hold none of {} operations: {}",
                                            tally.asked, tally.reason)
                              : fmt::format("{} operations are not for it: {}", tally.refused,
                                            tally.refusal)];
    models += fmt::format("{}{}", models.empty() ? "" : ", ", model);
  }
  std::vector<std::string> all;
  all.reserve(complaints.size());
  for (const auto& [what, models] : complaints)
    all.push_back(fmt::format("{}: {}", models, what));
  return all;
}

}  // namespace inline_prof::model
