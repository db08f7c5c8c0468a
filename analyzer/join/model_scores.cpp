#include "join/model_scores.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace inline_prof::join {
namespace {

// The rows of one model and kind, before they are summed up.
struct Gathered {
  ModelScore score;
  double time_us = 0;
  std::vector<PredictedAndMeasured> pairs;
  std::map<std::string, std::size_t> reasons;
};

double time_of(const Row& row) {
  return row.in_iteration_us.value_or(row.corrected_us.value_or(0.0));
}

void add(Gathered& gathered, const Row& row, const ModelTime& time) {
  ModelScore& score = gathered.score;
  ++score.rows;
  if (!time.predicted_us) {
    ++gathered.reasons[time.reason.str()];
    return;
  }
  ++score.predicted;
  gathered.time_us += time_of(row);
  const double measured_us = *row.working_us();
  gathered.pairs.push_back({.predicted = *time.predicted_us, .measured = measured_us});
  if (!time.predicted_ci90_us) return;
  ++score.with_interval;
  if (measured_us >= time.predicted_ci90_us->lower && measured_us <= time.predicted_ci90_us->upper)
    ++score.inside;
}

ModelScore summed_up(Gathered gathered, double all_us) {
  ModelScore score = std::move(gathered.score);
  if (all_us > 0) score.share_percent = 100 * gathered.time_us / all_us;
  score.errors = prediction_errors(gathered.pairs);
  const auto commonest =
      std::ranges::max_element(gathered.reasons, {}, [](const auto& each) { return each.second; });
  if (commonest != gathered.reasons.end()) score.reason = commonest->first;
  return score;
}

}  // namespace

std::vector<ModelScore> model_scores(const Analysis& analysis) {
  struct Kind {
    double time_us = 0;
    std::vector<Gathered> models;
  };
  std::map<std::string, Kind> kinds;
  double all_us = 0;
  for (const Row& row : analysis.rows) {
    if (!row.corrected_us) continue;
    if (!row.parent) all_us += time_of(row);
    if (row.by_model.empty()) continue;
    Kind& kind = kinds[row.op_kind.str()];
    kind.time_us += time_of(row);
    const auto add_to = [&](const ModelTime& time) {
      auto found = std::ranges::find(kind.models, time.model.str(),
                                     [](const Gathered& each) { return each.score.model; });
      if (found == kind.models.end()) {
        found = kind.models.insert(kind.models.end(), Gathered{});
        found->score.kind = row.op_kind.str();
        found->score.model = time.model.str();
      }
      add(*found, row, time);
    };
    const bool is_own = row.predicted_us && !row.is_sum_of_children;
    add_to({.model = kOwnChoice,
            .predicted_us = is_own ? row.predicted_us : std::nullopt,
            .predicted_ci90_us = is_own ? row.predicted_ci90_us : std::nullopt,
            .reason = row.reason});
    for (const ModelTime& time : row.by_model)
      add_to(time);
  }
  std::vector<Kind*> largest_first;
  largest_first.reserve(kinds.size());
  for (auto& [name, kind] : kinds)
    largest_first.push_back(&kind);
  std::ranges::stable_sort(largest_first, std::greater{}, &Kind::time_us);
  std::vector<ModelScore> scores;
  for (Kind* kind : largest_first) {
    for (Gathered& gathered : kind->models)
      scores.push_back(summed_up(std::move(gathered), all_us));
  }
  return scores;
}

const std::vector<ModelTime>& by_model_of(const Analysis& analysis, const MergedRow& row) {
  static const std::vector<ModelTime> none;
  for (const std::size_t device : row.rows) {
    if (!analysis.rows[device].by_model.empty()) return analysis.rows[device].by_model;
  }
  return none;
}

}  // namespace inline_prof::join
