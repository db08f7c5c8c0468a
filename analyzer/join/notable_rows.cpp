#include "join/notable_rows.hpp"

#include "join/diagnose/belonging.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace inline_prof::join {
namespace {

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

}  // namespace

// Every other event without samples has a reason then.
bool is_left_out(const Row& row, const read::Profile& profile) {
  return row.samples == 0 && row.unmeasured_reason.empty() &&
         (profile.complete || has_ended(profile));
}

std::optional<MissingSamples> missing_samples(const Analysis& analysis) {
  if (analysis.runs.empty()) return std::nullopt;
  const read::Profile& profile = analysis.runs.front().profile;
  const auto repeat = profile.profiler.repeat;
  if (!repeat || profile.profiler.policy == "adaptive" || profile.profiler.mode != "fine_grained")
    return std::nullopt;
  MissingSamples missing;
  missing.repeat = *repeat;
  missing.warmup_iterations = profile.profiler.warmup_iterations.value_or(0);
  for (const Row& row : analysis.rows) {
    if (row.profile != 0) continue;
    if (is_left_out(row, profile)) {
      ++missing.left_out;
      continue;
    }
    ++missing.events;
    if (row.samples == 0) ++missing.without;
    if (std::cmp_less(row.samples, kLeastSamples)) ++missing.few;
  }
  return missing;
}

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
    if (found.unpredicted == nullptr && row->corrected_us &&
        row->verdict == Verdict::kNoPrediction) {
      found.unpredicted = row;
    }
  }
  return found;
}

}  // namespace inline_prof::join
