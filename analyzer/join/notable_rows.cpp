#include "join/notable_rows.hpp"

#include "base/text.hpp"
#include "join/diagnose/belonging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace inline_prof::join {
namespace {

// The largest share first; without shares the longest.
std::vector<const MergedRow*> innermost_rows(const Analysis& analysis) {
  std::vector<bool> has_children(analysis.merged.size(), false);
  for (const MergedRow& row : analysis.merged) {
    if (row.parent) has_children[*row.parent] = true;
  }
  std::vector<const MergedRow*> rows;
  for (std::size_t i = 0; i < has_children.size(); ++i) {
    if (!has_children[i]) rows.push_back(&analysis.merged[i]);
  }
  std::ranges::stable_sort(rows, std::greater(), [](const MergedRow* row) {
    return row->share_percent.value_or(row->in_iteration_us.value_or(0.0));
  });
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
    if (row.is_graph_node) ++missing.graph_nodes;
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
      found.slow_percent += row->share_percent.value_or(0.0);
    }
    if (row->verdict == Verdict::kUpperBound) {
      ++found.upper_bounds;
      continue;
    }
    if (row->ratio && row->predicted_ci90_us && row->verdict != Verdict::kExtrapolated)
      ++found.judged;
    if (found.unpredicted == nullptr && row->corrected_us &&
        row->verdict == Verdict::kNoPrediction && row->reason != kMachineNotKnown)
      found.unpredicted = row;
  }
  return found;
}

RowOrder row_order(const Analysis& analysis, std::size_t top, std::string_view layers) {
  const auto& merged = analysis.merged;
  RowOrder order;
  // A layer fits whatever encloses it: blocks.2 is GPT.blocks.2.
  const std::string glob = fmt::format("*{}", layers);
  const auto is_other = [&](const MergedRow& row) {
    return !layers.empty() && !base::glob_matches(glob, row.layer);
  };
  std::vector<bool> shown(merged.size(), false);
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const MergedRow& row = merged[i];
    if (is_other(row)) continue;
    if (!row.raw_us && !row.predicted_us && row.in_iteration_us.value_or(0) <= 0) continue;
    for (std::optional<std::size_t> at = i; at && !shown[*at]; at = merged[*at].parent)
      shown[*at] = true;
  }
  std::vector<std::vector<std::size_t>> children(merged.size());
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (!shown[i]) {
      ++(is_other(merged[i]) ? order.other_layers : order.nothing_known);
      continue;
    }
    (merged[i].parent ? children[*merged[i].parent] : outer).push_back(i);
  }
  std::vector<OrderedRow> to_do;
  const auto push = [&](std::vector<std::size_t> rows, std::size_t depth) {
    std::ranges::stable_sort(rows, std::greater(), [&](std::size_t i) {
      return merged[i].in_iteration_us.value_or(-1.0);
    });
    for (auto it = rows.rbegin(); it != rows.rend(); ++it)
      to_do.push_back({*it, depth});
  };
  push(outer, 0);
  while (!to_do.empty() && (top == 0 || order.rows.size() < top)) {
    const OrderedRow next = to_do.back();
    to_do.pop_back();
    order.rows.push_back(next);
    push(children[next.row], next.depth + 1);
  }
  return order;
}

}  // namespace inline_prof::join
