// How each model does on a run: its predictions beside the measured times, by kind of operation.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// One model on the measured rows of one kind.
struct ModelScore {
  std::string kind;
  std::string model;
  std::size_t rows = 0;       // measured, of this kind
  std::size_t predicted = 0;  // of them
  double share_percent = 0;   // of the time of all measured rows, by the predicted ones
  std::optional<Errors> errors;
  std::size_t with_interval = 0;
  std::size_t inside = 0;  // of them: the interval holds the measured time
  std::string reason;      // the commonest one of rows without a prediction
};

// The name under which the row's own prediction stands among the models.
inline constexpr const char* kOwnChoice = "this report's choice";

// By kind, the one that takes most time first; of a kind this report's choice, then the models in
// the registry's order.  Empty unless all models were asked.
[[nodiscard]] std::vector<ModelScore> model_scores(const Analysis& analysis);

// The predictions of a merged row's first device that has any; empty unless all were asked.
[[nodiscard]] const std::vector<ModelTime>& by_model_of(const Analysis& analysis,
                                                        const MergedRow& row);

}  // namespace inline_prof::join
