// Another's model, whose estimates stand beside our predictions.
#pragma once

#include "model/model.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::join {

// Several threads may ask at once.
class Peer {
 public:
  // Throws std::invalid_argument for a name that no model has.
  explicit Peer(std::string_view model_name);

  // Empty where the model says nothing about it.
  [[nodiscard]] std::optional<double> estimate_us(const read::Op& op, const read::Machine& machine);
  // Returns the model's own name; empty while it has said nothing.
  [[nodiscard]] std::string name() const;
  // Why there are no estimates, or fewer, a sentence each.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  [[nodiscard]] const model::Model* model_for(const read::Machine& machine);

  const model::ModelEntry& entry_;
  mutable std::mutex mutex_;
  std::string name_;
  std::set<std::string> complaints_;
  std::map<std::string, std::unique_ptr<model::Model>> models_;  // by machine; null: has none
  std::map<std::pair<std::string, std::string>, std::optional<double>> estimates_us_;
};

}  // namespace inline_prof::join
