// Sums over an iteration: by operator, by pattern of layers, and by what could be saved.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

// Times of one iteration, means over devices.
struct Total {
  std::string name;
  std::size_t count = 0;  // of kernels, or of layers
  double time_us = 0.0;
  std::optional<double> share_percent;
  std::optional<double> ratio;      // of the rows that have both times: measured over predicted
  std::optional<double> peak_part;  // of the peak of its matrix products: model flops utilisation
};

// Return the largest share first.  Operators are those of PyTorch, library calls, or kernels where
// nobody said what they compute.
[[nodiscard]] std::vector<Total> totals_by_operator(const Analysis& analysis);
[[nodiscard]] std::vector<Total> totals_by_layer_pattern(const Analysis& analysis);

// Returns the part of the peak that the matrix products of an iteration reach; empty where there is
// no product, or its machine is not known.
[[nodiscard]] std::optional<double> flops_utilisation(const Analysis& analysis);

// Returns what the program said of the whole run by this name; null if it did not.
[[nodiscard]] const std::string* fact_of(const read::Profile& profile, std::string_view name);

// A reason why the iteration takes longer than it has to.
struct Cause {
  std::string name;                  // "dtype casts"
  std::string advice;                // what to do about it
  std::string where;                 // its largest part; may be empty
  std::optional<std::size_t> row{};  // that part: index into merged
  std::size_t rows = 0;              // 0: idle time
  std::string_view unit = "kernel";  // of rows; "row" where one of them is several kernels
  double time_us = 0.0;
  std::optional<double> share_percent{};  // of the iteration; what overlaps counts once
  double gain_us = 0.0;                   // at most
  std::optional<double> gain_percent{};
};

// Returns those that may save a per cent of the iteration, the largest gain first.  A row belongs
// to one cause.
[[nodiscard]] std::vector<Cause> find_causes(const Analysis& analysis);

// Counts the rows that were faster than their bound allows.
[[nodiscard]] std::size_t impossible_rows(const Analysis& analysis);

// The time that the rows of one layer take together in an iteration, mean over devices.
struct LayerSum {
  std::string layer;                    // "" for events without one
  std::vector<std::size_t> rows;        // indices into Analysis::merged, in order of their start
  std::vector<std::size_t> outer_rows;  // of these, those that no other row of the layer encloses
  std::optional<double> time_us;        // corrected, of the outer rows that have a time
  std::optional<double> share_percent;
  // Sums over the largest rows that are both measured and predicted, so that the two can be
  // compared; without what was waited for other ranks:
  std::optional<double> compared_us;
  std::optional<double> predicted_us;
  std::optional<double> ratio;  // compared / predicted
};

// The layers in order of their first start.
[[nodiscard]] std::vector<LayerSum> layer_sums(const Analysis& analysis);

// How each model does on a run: its predictions beside the measured times, by kind of operation.

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
