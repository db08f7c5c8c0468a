#include "join/compare/compare.hpp"

#include "join/compare/run_differences.hpp"
#include "join/phase_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

// Layer, event, occurrence, and which of several streams that have it.
using EventKey = std::tuple<std::string, std::string, std::int64_t, std::size_t>;
using EventIndex = std::map<EventKey, std::size_t>;

EventIndex index_of(const Analysis& analysis) {
  EventIndex index;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> met;
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    const MergedRow& row = analysis.merged[i];
    const std::size_t nth = met[{row.layer, row.event, row.occurrence}]++;
    index.emplace(EventKey{row.layer, row.event, row.occurrence, nth}, i);
  }
  return index;
}

// Time in an iteration.  The interval is that of the raw median, moved and stretched like it.
std::optional<Estimate> estimate_of(const MergedRow& row) {
  if (!row.corrected_us || !row.in_iteration_us || *row.corrected_us <= 0) return {};
  Estimate estimate{*row.in_iteration_us, {}};
  const double calls = *row.in_iteration_us / *row.corrected_us;
  const double bias_us = *row.raw_us - *row.corrected_us;
  if (row.raw_ci95_us) {
    estimate.ci95 = Interval{calls * std::max(0.0, row.raw_ci95_us->lower - bias_us),
                             calls * (row.raw_ci95_us->upper - bias_us)};
  }
  return estimate;
}

std::string phase_of(const Analysis& analysis) {
  for (const Run& run : analysis.runs) {
    const std::string name = phase_name(run.profile);
    if (!name.empty()) return name + ": " + phase_words(run.profile.phases[run.profile.phase]);
  }
  return {};
}

double square(double value) {
  return value * value;
}

// Sums with the squares of the distances to the ends of the intervals.
struct Sum {
  double value = 0.0;
  double below = 0.0;
  double above = 0.0;
  bool has_interval = true;

  void add(const Estimate& estimate) {
    value += estimate.value;
    if (!estimate.ci95) {
      has_interval = false;
      return;
    }
    below += square(estimate.value - estimate.ci95->lower);
    above += square(estimate.ci95->upper - estimate.value);
  }
  [[nodiscard]] Estimate estimate() const {
    if (!has_interval) return {value, {}};
    return {value, Interval{std::max(0.0, value - std::sqrt(below)), value + std::sqrt(above)}};
  }
};

void set_ratio(ComparedTime& time) {
  const auto [before, before_ci] = time.before_us;
  const auto [after, after_ci] = time.after_us;
  if (before <= 0) return;
  time.ratio = after / before;
  if (!before_ci || !after_ci || before_ci->lower <= 0 || after_ci->lower <= 0) return;
  const double middle = std::log(after / before);
  const double below =
      std::hypot(std::log(after / after_ci->lower), std::log(before_ci->upper / before));
  const double above =
      std::hypot(std::log(after_ci->upper / after), std::log(before / before_ci->lower));
  time.ratio_ci95 = Interval{std::exp(middle - below), std::exp(middle + above)};
}

class Judge {
 public:
  Judge(const Interval& same_ratios, const std::vector<Difference>& differences,
        const std::vector<std::string>& despite)
      : same_(same_ratios) {
    for (const Difference& difference : differences) {
      if (std::ranges::find(despite, difference.what) != despite.end()) continue;
      if (!obstacles_.empty()) obstacles_ += ", ";
      obstacles_ += difference.what;
    }
  }

  void decide(ComparedTime& time) const {
    set_ratio(time);
    time.change = Change::kAmbiguous;
    if (!obstacles_.empty()) {
      time.reason = fmt::format("the runs differ in {}", obstacles_);
    } else if (!time.ratio) {
      time.reason = "it takes no time";
    } else if (!time.ratio_ci95) {
      time.reason = "too few samples for an interval";
    } else if (time.ratio_ci95->lower > same_.upper) {
      time.change = Change::kSlower;
    } else if (time.ratio_ci95->upper < same_.lower) {
      time.change = Change::kFaster;
    } else if (time.ratio_ci95->lower >= same_.lower && time.ratio_ci95->upper <= same_.upper) {
      time.change = Change::kSame;
    } else {
      time.reason = "the interval spans a border of the margin";
    }
  }

 private:
  Interval same_;
  std::string obstacles_;
};

struct LayerSums {
  Sum before;
  Sum after;
  double share_percent = 0.0;
};

std::string name_of(const EventKey& key) {
  const auto& [layer, event, occurrence, nth] = key;
  return fmt::format("{}{}{}{}", layer, layer.empty() ? "" : " ", event,
                     occurrence > 0 ? fmt::format(" #{}", occurrence) : "");
}

std::vector<std::string> missing_in(const EventIndex& other, const EventIndex& own) {
  std::vector<std::string> names;
  for (const auto& [key, row] : own) {
    if (!other.contains(key)) names.push_back(name_of(key));
  }
  return names;
}

void largest_first(std::vector<ComparedTime>& times) {
  std::ranges::stable_sort(times, [](const ComparedTime& a, const ComparedTime& b) {
    return a.share_percent.value_or(-1.0) > b.share_percent.value_or(-1.0);
  });
}

}  // namespace

std::string_view change_name(Change change) {
  switch (change) {
    case Change::kSame:
      return "SAME";
    case Change::kFaster:
      return "FASTER";
    case Change::kSlower:
      return "SLOWER";
    case Change::kAmbiguous:
      break;
  }
  return "AMBIGUOUS";
}

Comparison compare_runs(const Analysis& before, const Analysis& after,
                        const CompareOptions& options) {
  const EventIndex events_before = index_of(before);
  const EventIndex events_after = index_of(after);
  Comparison result;
  result.margin = options.margin;
  result.same_ratios = {1.0 / (1.0 + options.margin), 1.0 + options.margin};
  result.phase_before = phase_of(before);
  result.phase_after = phase_of(after);
  result.only_before = missing_in(events_after, events_before);
  result.only_after = missing_in(events_before, events_after);
  if (result.only_before.size() == events_before.size()) {
    throw std::invalid_argument(
        fmt::format("the two runs have no event in common: {} events before, {} after",
                    events_before.size(), events_after.size()));
  }
  result.differences = run_differences(before, after);
  if (!result.only_before.empty() || !result.only_after.empty()) {
    result.differences.push_back(
        {"events", fmt::format("events: {} only before, {} only after", result.only_before.size(),
                               result.only_after.size())});
  }
  const Judge judge(result.same_ratios, result.differences, options.despite);

  std::map<std::string, LayerSums> layers;
  for (const auto& [key, row_before] : events_before) {
    const auto found = events_after.find(key);
    if (found == events_after.end()) continue;
    const MergedRow& row = before.merged[row_before];
    const auto time_before = estimate_of(row);
    const auto time_after = estimate_of(after.merged[found->second]);
    if (!time_before || !time_after) continue;
    ComparedTime time;
    time.layer = row.layer;
    time.event = row.event;
    time.occurrence = row.occurrence;
    time.share_percent = row.share_percent;
    time.before_us = *time_before;
    time.after_us = *time_after;
    judge.decide(time);
    result.events.push_back(std::move(time));
    if (!is_outermost_of_layer(before.merged, row_before)) continue;
    LayerSums& sums = layers[row.layer];
    sums.before.add(*time_before);
    sums.after.add(*time_after);
    sums.share_percent += row.share_percent.value_or(0.0);
  }
  for (const auto& [layer, sums] : layers) {
    ComparedTime time;
    time.layer = layer;
    if (before.shares_percent) time.share_percent = sums.share_percent;
    time.before_us = sums.before.estimate();
    time.after_us = sums.after.estimate();
    judge.decide(time);
    result.layers.push_back(std::move(time));
  }
  largest_first(result.layers);
  largest_first(result.events);

  if (before.iteration.us && after.iteration.us) {
    ComparedTime time;
    time.share_percent = 100.0;
    time.before_us = {*before.iteration.us, before.iteration.ci95_us};
    time.after_us = {*after.iteration.us, after.iteration.ci95_us};
    judge.decide(time);
    result.iteration = std::move(time);
  }
  return result;
}

}  // namespace inline_prof::join
