#include "join/notable_rows.hpp"

#include <algorithm>
#include <functional>

namespace inline_prof::join {
namespace {

constexpr double kLeastGainPercent = 1.0;

double share_of(const MergedRow* row) {
  return row->share_percent.value_or(0.0);
}

// The largest share first.
std::vector<const MergedRow*> innermost_rows(const Analysis& analysis) {
  std::vector<bool> has_children(analysis.merged.size(), false);
  for (const MergedRow& row : analysis.merged) {
    if (row.parent) has_children[*row.parent] = true;
  }
  std::vector<const MergedRow*> rows;
  for (std::size_t i = 0; i < has_children.size(); ++i) {
    if (!has_children[i]) rows.push_back(&analysis.merged[i]);
  }
  std::ranges::stable_sort(rows, std::greater(), share_of);
  return rows;
}

const MergedRow* largest_gain(const Analysis& analysis) {
  if (analysis.worth_fixing.empty() || !analysis.iteration.us) return nullptr;
  const MergedRow& row = analysis.merged[analysis.worth_fixing.front()];
  const double saved_us = row.saved_us_if_predicted.value_or(0.0);
  return saved_us * 100.0 < kLeastGainPercent * *analysis.iteration.us ? nullptr : &row;
}

}  // namespace

bool is_bound(const MergedRow& row) {
  return row.ratio && !row.predicted_ci90_us;
}

std::vector<const MergedRow*> isolated_by_loss(const Analysis& analysis) {
  std::vector<const MergedRow*> rows;
  for (const MergedRow& row : analysis.merged) {
    if (row.isolated && row.corrected_us) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::greater(), [](const MergedRow* row) {
    return *row->corrected_us - row->isolated->alone_us;
  });
  return rows;
}

NotableRows notable_rows(const Analysis& analysis) {
  NotableRows found;
  found.largest_gain = largest_gain(analysis);
  double most_above_bound = 0.0;
  for (const MergedRow* row : innermost_rows(analysis)) {
    if (row->verdict == Verdict::kSlower) {
      found.slow.push_back(row);
      found.slow_percent += share_of(row);
    }
    if (row->verdict == Verdict::kUpperBound) {
      ++found.upper_bounds;
      continue;
    }
    if (row->ratio && row->predicted_ci90_us && row->verdict != Verdict::kExtrapolated) {
      ++found.judged;
    }
    if (is_bound(*row)) {
      const double above =
          share_of(row) * row->working_part * (1.0 - 1.0 / std::max(1.0, *row->ratio));
      if (found.above_bound == nullptr || above > most_above_bound) {
        found.above_bound = row;
        most_above_bound = above;
      }
    }
    if (found.unpredicted == nullptr && row->corrected_us &&
        row->verdict == Verdict::kNoPrediction) {
      found.unpredicted = row;
    }
  }
  return found;
}

}  // namespace inline_prof::join
