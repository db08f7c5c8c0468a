// Every model, by name: prof-model takes the one that its user names, and the predictor of
// prof-analyze those that answer an operation's kind.
#pragma once

#include "model/model.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// True if `kind` is one of those that a model names; false for a word that is no kind.
[[nodiscard]] bool covers(const std::vector<OpKind>& kinds, std::optional<OpKind> kind);

// In the order in which they are listed to the user.
[[nodiscard]] std::span<const ModelEntry> all_models();

// A model of what an operation and the machine's data sheet say, which no table is read for.
struct OperationModel {
  std::string_view name;
  std::vector<OpKind> operations;
  Outcome (*predict)(const read::Op& op, const read::Machine& machine);
};
// Lists them.  The first one that covers an operation's kind predicts what no other model does.
[[nodiscard]] std::span<const OperationModel> operation_models();

// Throws std::invalid_argument with the names there are.
[[nodiscard]] const ModelEntry& find_model(std::string_view name);

}  // namespace inline_prof::model
