#include "join/place/merge.hpp"

#include "base/two_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace inline_prof::join {
namespace {

using MergeKey = std::tuple<SharedText, SharedText, std::int64_t, std::int64_t>;
using MergedOf = std::unordered_map<MergeKey, std::size_t, SharedHash>;

MergeKey key_of(const Row& row) {
  return {row.layer, row.event, row.occurrence, row.stream_index};
}

// Room for the samples of one merged row, kept from row to row.
struct Pool {
  std::vector<float> raw_ms;
  std::vector<double> raw_us;
  std::vector<double> unbiased_us;
};

// Returns what is taken off every sample of `merged`, if that is one value.
std::optional<double> common_bias_us(const MergedRow& merged, const std::vector<Row>& rows,
                                     const SamplesOfRuns& samples) {
  std::optional<float> common;
  for (const std::size_t i : merged.rows) {
    for (const float bias_us : samples.bias_us(rows[i].profile, i)) {
      if (common.value_or(bias_us) != bias_us) return std::nullopt;
      common = bias_us;
    }
  }
  return common;
}

// One bias moves all samples alike, so that their order is that of the raw ones.
void merge_times_of_one_bias(MergedRow& merged, const std::vector<Row>& rows,
                             const SamplesOfRuns& samples, double bias_us, Pool& pool) {
  pool.raw_ms.clear();
  for (const std::size_t i : merged.rows) {
    const std::span<const float> times_ms = samples.measured_ms(rows[i].profile, i);
    pool.raw_ms.insert(pool.raw_ms.end(), times_ms.begin(), times_ms.end());
  }
  const MedianAndInterval of_ms = median_and_interval95(std::span(pool.raw_ms));
  merged.raw_us = of_ms.median * 1e3;
  merged.corrected_us = std::max(0.0, *merged.raw_us - bias_us);
  if (of_ms.ci95) merged.raw_ci95_us = {of_ms.ci95->lower * 1e3, of_ms.ci95->upper * 1e3};
}

void merge_times(MergedRow& merged, const std::vector<Row>& rows, const SamplesOfRuns& samples,
                 Pool& pool) {
  for (const std::size_t i : merged.rows) {
    const Row& row = rows[i];
    merged.samples += row.samples;
    merged.not_tight += row.not_tight;
    if (row.raw_spread_us) merged.outliers += row.raw_spread_us->outliers;
    if (row.corrected_us)
      merged.slowest_us = std::max(merged.slowest_us.value_or(0.0), *row.corrected_us);
  }
  if (merged.samples == 0) return;
  if (merged.rows.size() == 1) {
    const Row& only = rows[merged.rows.front()];
    merged.raw_us = only.raw_us;
    merged.corrected_us = only.corrected_us;
    merged.raw_ci95_us = only.raw_ci95_us;
    return;
  }
  if (const auto bias_us = common_bias_us(merged, rows, samples)) {
    merge_times_of_one_bias(merged, rows, samples, *bias_us, pool);
    return;
  }
  pool.raw_us.clear();
  pool.unbiased_us.clear();
  for (const std::size_t i : merged.rows)
    samples.append_us(rows[i].profile, i, pool.raw_us, pool.unbiased_us);
  const MedianAndInterval raw_us = median_and_interval95(std::span(pool.raw_us));
  merged.raw_us = raw_us.median;
  merged.raw_ci95_us = raw_us.ci95;
  merged.corrected_us = std::max(0.0, median_in_place(pool.unbiased_us));
}

// All devices of a collective work as long: what the merged time has beyond that is waiting.
void merge_waits(MergedRow& merged, const std::vector<Row>& rows) {
  if (!merged.corrected_us) return;
  std::vector<double> times_us;
  std::vector<double> working_us;
  bool has_waited = false;
  for (const std::size_t i : merged.rows) {
    const Row& row = rows[i];
    if (!row.corrected_us) continue;
    times_us.push_back(*row.corrected_us);
    working_us.push_back(*row.working_us());
    has_waited = has_waited || row.waited_us;
  }
  if (!has_waited) return;
  merged.waited_us = std::max(0.0, *merged.corrected_us - mean(working_us));
  if (mean(times_us) > 0) merged.working_part = mean(working_us) / mean(times_us);
}

// Devices that run the same operation have the same prediction; where they differ, their mean.
void merge_predictions(MergedRow& merged, const std::vector<Row>& rows) {
  const Row& first = rows[merged.rows.front()];
  merged.bound = first.bound;
  merged.model = first.model;
  merged.parameters = first.parameters;
  std::vector<double> predicted_us;
  std::vector<double> lower_us;
  std::vector<double> upper_us;
  for (const std::size_t i : merged.rows) {
    const Row& row = rows[i];
    if (!row.predicted_us) {
      merged.reason = row.reason;
      continue;
    }
    predicted_us.push_back(*row.predicted_us);
    if (row.bound.str() != merged.bound) merged.bound = "mixed";
    if (row.predicted_ci90_us) {
      lower_us.push_back(row.predicted_ci90_us->lower);
      upper_us.push_back(row.predicted_ci90_us->upper);
    }
  }
  if (predicted_us.size() < merged.rows.size()) {
    merged.bound.clear();
    merged.model.clear();
    merged.parameters.clear();
    merged.verdict = first.verdict == Verdict::kImpossible ? first.verdict : Verdict::kNoPrediction;
    return;
  }
  merged.predicted_us = mean(predicted_us);
  if (lower_us.size() == merged.rows.size())
    merged.predicted_ci90_us = Interval{mean(lower_us), mean(upper_us)};
  if (!merged.corrected_us) {
    merged.verdict = Verdict::kNotMeasured;
    return;
  }
  const double waited_us = merged.waited_us.value_or(0.0);
  merged.ratio = (*merged.corrected_us - waited_us) / *merged.predicted_us;
  merged.raw_ratio = (*merged.raw_us - waited_us) / *merged.predicted_us;
  const auto says = [&](Verdict verdict) {
    return std::ranges::count_if(merged.rows,
                                 [&](std::size_t i) { return rows[i].verdict == verdict; }) *
               2 >
           static_cast<std::ptrdiff_t>(merged.rows.size());
  };
  // One device that is slow is not a slow layer: most of them have to be.
  const double working_us = *merged.corrected_us - waited_us;
  merged.verdict = judge(
      working_us, *merged.predicted_us, merged.predicted_ci90_us,
      {.is_extrapolated = says(Verdict::kExtrapolated),
       .is_finding = says(Verdict::kSlower) || says(Verdict::kFaster) || says(Verdict::kUpperBound),
       .may_hold_launching = may_hold_launching(merged, working_us)});
}

bool lies_in(const std::vector<MergedRow>& merged, std::size_t row, std::size_t region) {
  for (std::optional<std::size_t> at = row; at; at = merged[*at].parent) {
    if (*at == region) return true;
  }
  return false;
}

// A merged row lies in what one of its rows lies in, unless that lies in it already: devices may
// nest in different ways, and a name may be met within itself.
std::vector<std::string> set_parents(std::vector<MergedRow>& all, const std::vector<Row>& rows,
                                     const MergedOf& merged_of) {
  std::set<std::string> in_each_other;
  for (std::size_t i = 0; i < all.size(); ++i) {
    MergedRow& merged = all[i];
    for (const std::size_t row : merged.rows) {
      const std::optional<std::size_t> of_row = rows[row].parent;
      if (merged.parent) break;
      if (!of_row) continue;
      const std::size_t parent = merged_of.at(key_of(rows[*of_row]));
      if (lies_in(all, parent, i)) {
        in_each_other.insert(fmt::format("{}.{}", merged.layer, merged.event));
      } else {
        merged.parent = parent;
      }
    }
  }
  if (in_each_other.empty()) return {};
  return {
      fmt::format("{} enclose each other on different devices, or themselves: each stands for "
                  "itself where that is so",
                  fmt::join(in_each_other, ", "))};
}

// Mean over the devices on which the time is known.
std::optional<double> mean_in_iteration_us(const MergedRow& merged, const std::vector<Row>& rows) {
  std::vector<double> times_us;
  for (const std::size_t row : merged.rows) {
    if (const auto& time_us = rows[row].in_iteration_us) times_us.push_back(*time_us);
  }
  return times_us.empty() ? std::nullopt : std::optional(mean(times_us));
}

// Returns that of the device that takes longest.
std::optional<Isolated> merged_isolated(const MergedRow& merged, const std::vector<Row>& rows) {
  const Row* slowest = nullptr;
  for (const std::size_t i : merged.rows) {
    if (rows[i].isolated && (slowest == nullptr || *rows[i].corrected_us > *slowest->corrected_us))
      slowest = &rows[i];
  }
  return slowest == nullptr ? std::nullopt : slowest->isolated;
}

}  // namespace

MergedRows merge_devices(const std::vector<Row>& rows, const SamplesOfRuns& samples) {
  MergedRows result;
  std::vector<MergedRow>& all = result.merged;
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // start, row
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    order.emplace_back(rows[i].start_index, i);
  std::ranges::sort(order);

  MergedOf merged_of;
  for (const auto& [start_index, i] : order) {
    const Row& row = rows[i];
    const auto [it, is_new] = merged_of.try_emplace(key_of(row), all.size());
    if (is_new) {
      MergedRow merged;
      merged.layer = row.layer;
      merged.event = row.event;
      merged.occurrence = row.occurrence;
      merged.calls = row.calls;
      merged.is_one_launch = row.is_one_launch;
      merged.source = row.source;
      all.push_back(std::move(merged));
    }
    MergedRow& merged = all[it->second];
    merged.calls = std::max(merged.calls, row.calls);
    merged.is_region = merged.is_region || row.is_region;
    if (merged.source != row.source.str()) merged.source.clear();
    merged.rows.push_back(i);
  }
  result.warnings = set_parents(all, rows, merged_of);
  // With many ranks a row has hundreds of thousands of samples, and no row needs another one.
  base::in_two_threads(
      all.size(),
      [&](std::size_t i) {
        static thread_local Pool pool;
        MergedRow& merged = all[i];
        merge_times(merged, rows, samples, pool);
        merge_waits(merged, rows);
        merge_predictions(merged, rows);
        merged.in_iteration_us = mean_in_iteration_us(merged, rows);
        merged.isolated = merged_isolated(merged, rows);
        return i;
      },
      [](std::size_t, std::size_t) {});
  return result;
}

bool is_outermost_of_layer(const std::vector<MergedRow>& merged, std::size_t row) {
  for (auto parent = merged[row].parent; parent; parent = merged[*parent].parent) {
    if (merged[*parent].layer == merged[row].layer) return false;
  }
  return true;
}

}  // namespace inline_prof::join
