#include "join/compare/compare.hpp"

#include "join/rows/row.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace inline_prof::join {
namespace {

// An event within its layer, and how often it came before there: a launch that an earlier layer has
// more shifts its occurrence in the iteration, and not this number.
using EventKey = std::pair<std::string, std::size_t>;
using LayerEvents = std::map<EventKey, std::size_t>;  // indices into merged
using LayerIndex = std::map<std::string, LayerEvents>;

LayerIndex index_of(const Analysis& analysis) {
  LayerIndex index;
  std::map<std::pair<std::string, std::string>, std::size_t> met;
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    const MergedRow& row = analysis.merged[i];
    index[row.layer].emplace(EventKey{row.event, met[{row.layer, row.event}]++}, i);
  }
  return index;
}

// Time in an iteration.  The interval is that of the raw median, moved and stretched like it.
std::optional<Estimate> estimate_of(const MergedRow& row) {
  if (!row.corrected_us || !row.in_iteration_us || *row.corrected_us <= 0) return {};
  Estimate estimate{*row.in_iteration_us, {}};
  const double calls = *row.in_iteration_us / *row.corrected_us;
  const double bias_us = *row.raw_us - *row.corrected_us;
  if (row.raw_ci95_us)
    estimate.ci95 = Interval{calls * std::max(0.0, row.raw_ci95_us->lower - bias_us),
                             calls * (row.raw_ci95_us->upper - bias_us)};
  return estimate;
}

std::string phase_of(const Analysis& analysis) {
  for (const Run& run : analysis.runs) {
    if (std::string phase = read::shown_phase(run.profile); !phase.empty()) return phase;
  }
  return {};
}

// Returns "33.6 % slower", and "3.8 times as long" where percents would be hard to read.
std::string percent_words(double ratio) {
  if (ratio >= 2.0) return fmt::format("{:.1f} times as long", ratio);
  if (ratio <= 0.5) return fmt::format("{:.1f} times faster", 1.0 / ratio);
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(ratio - 1.0),
                     ratio > 1.0 ? "slower" : "faster");
}

using Changes = std::vector<std::string>;

// Returns {"m 2048 -> 4096"} for "gemm m=2048 n=1" and "gemm m=4096 n=1".  A size that one of the
// two does not have is not known, and one within `same` explains no verdict.
Changes size_changes(const std::string& before, const std::string& after, const Interval& same) {
  const auto words_of = [](const std::string& text) {
    std::istringstream words(text);
    return Changes(std::istream_iterator<std::string>(words), {});
  };
  const Changes own = words_of(before);
  const Changes others = words_of(after);
  Changes changes;
  if (own.empty() || others.empty() || own.front() != others.front()) return changes;
  for (const std::string& word : own) {
    const std::size_t value = word.find('=') + 1;
    const auto other = std::ranges::find_if(
        others, [&](const std::string& text) { return text.starts_with(word.substr(0, value)); });
    if (value == 0 || other == others.end() || *other == word) continue;
    const double ratio =
        std::strtod(&(*other)[value], nullptr) / std::strtod(&word[value], nullptr);
    const bool is_number = word.find('x', value) == std::string::npos;
    if (is_number && ratio >= same.lower && ratio <= same.upper) continue;
    changes.push_back(fmt::format("{} {} -> {}", word.substr(0, value - 1), word.substr(value),
                                  other->substr(value)));
  }
  return changes;
}

// Returns the first ones with how many others there are.
std::string first_of(Changes changes) {
  constexpr std::size_t most = 2;
  const std::size_t others = changes.size() - std::min(most, changes.size());
  changes.resize(changes.size() - others);
  return fmt::format("{}{}", fmt::join(changes, ", "),
                     others > 0 ? fmt::format(", {} more", others) : "");
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
    has_interval = has_interval && estimate.ci95;
    if (!has_interval) return;
    below += square(estimate.value - estimate.ci95->lower);
    above += square(estimate.ci95->upper - estimate.value);
  }
  void add(const Sum& other) {
    value += other.value;
    below += other.below;
    above += other.above;
    has_interval = has_interval && other.has_interval;
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
        bool judges_other_sizes)
      : same_(same_ratios), judges_other_sizes_(judges_other_sizes) {
    for (const Difference& difference : differences) {
      if (difference.is_allowed) continue;
      if (!obstacles_.empty()) obstacles_ += ", ";
      obstacles_ += difference.what;
    }
  }

  [[nodiscard]] const Interval& same() const { return same_; }

  void decide(ComparedTime& time) const {
    set_ratio(time);
    if (time.change == Change::kAdded || time.change == Change::kRemoved) return;
    if (!obstacles_.empty()) {
      time.reason = fmt::format("the runs differ in {}", obstacles_);
    } else if (!time.sizes.empty() && !judges_other_sizes_) {
      time.reason = "other sizes: " + time.sizes;
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
  bool judges_other_sizes_;
  std::string obstacles_;
};

// The times of some rows of both runs.
struct TwoSums {
  Sum before;
  Sum after;
  std::size_t unmeasured = 0;  // rows that are in neither

  void add(Sum TwoSums::*side, const MergedRow& row) {
    if (const auto time = estimate_of(row)) (this->*side).add(*time);
    if (!row.corrected_us) ++unmeasured;
  }
};

// Compares the events and the sums of layers.
class Comparer {
 public:
  Comparer(const Analysis& before, const Analysis& after, const Judge& judge)
      : before_(before), after_(after), judge_(judge) {}

  void compare(const std::string& layer, const LayerEvents* before, const LayerEvents* after) {
    static const LayerEvents none;
    const LayerEvents& own = before != nullptr ? *before : none;
    const LayerEvents& other = after != nullptr ? *after : none;
    TwoSums common, all;
    bool is_same_outermost = true, is_changed = false;
    std::set<std::string> sizes;
    const auto last_of = [](const LayerEvents& events, const std::string& event) {
      return std::prev(events.upper_bound({event, events.size()}))->first.second;
    };
    for (const auto& [key, row] : own) {
      const auto found = other.find(key);
      // One launch more or less pairs launches that have nothing in common.
      if (found == other.end() || last_of(own, key.first) != last_of(other, key.first)) continue;
      const Changes changes = changes_of(before_.merged[row], after_.merged[found->second]);
      sizes.insert(changes.begin(), changes.end());
    }
    const std::string sizes_of_layer = first_of({sizes.begin(), sizes.end()});
    for (const auto& [key, row] : own) {
      const auto found = other.find(key);
      is_changed = is_changed || found == other.end();
      const MergedRow* const same = found == other.end() ? nullptr : &after_.merged[found->second];
      // A region has its kernels' sizes.
      compare_event(layer, key, &before_.merged[row], same,
                    same == nullptr ? ""
                    : before_.merged[row].is_region
                        ? sizes_of_layer
                        : first_of(changes_of(before_.merged[row], *same)));
      if (!is_outermost_of_layer(before_.merged, row)) continue;
      all.add(&TwoSums::before, before_.merged[row]);
      const bool is_in_both =
          found != other.end() && is_outermost_of_layer(after_.merged, found->second);
      is_same_outermost = is_same_outermost && is_in_both;
      if (!is_in_both || !estimate_of(before_.merged[row]) || !estimate_of(*same)) continue;
      common.add(&TwoSums::before, before_.merged[row]);
      common.add(&TwoSums::after, *same);
    }
    for (const auto& [key, row] : other) {
      const bool is_in_both = own.contains(key);
      is_changed = is_changed || !is_in_both;
      if (!is_in_both) compare_event(layer, key, nullptr, &after_.merged[row], {});
      if (!is_outermost_of_layer(after_.merged, row)) continue;
      all.add(&TwoSums::after, after_.merged[row]);
      is_same_outermost = is_same_outermost && is_in_both;
    }
    ComparedTime time;
    time.layer = layer;
    time.kernels_changed = is_changed;
    time.sizes = sizes_of_layer;
    for (const std::string& size : sizes)
      ++layers_of_size_[size];
    add_layer(std::move(time), is_same_outermost ? common : all);
  }

  // Adds up the layers that differ in numbers only, and orders everything by its change.
  void finish(Comparison& result) {
    for (auto& [name, pattern] : patterns_) {
      if (pattern.time.layers < 2) continue;
      judge_layer(pattern.time, pattern.sums);
      result.patterns.push_back(std::move(pattern.time));
    }
    result.layers = std::move(layers_);
    result.events = std::move(events_);
    for (auto* times : {&result.patterns, &result.layers, &result.events})
      std::ranges::stable_sort(*times, std::greater(), [](const ComparedTime& time) {
        return std::abs(time.after_us.value - time.before_us.value);
      });
  }

  // Returns "m 2048 -> 4096 in 9 layers", those of most layers first; empty if none has others.
  [[nodiscard]] std::string sizes() const {
    std::vector<std::pair<std::string, std::size_t>> sizes(layers_of_size_.begin(),
                                                           layers_of_size_.end());
    std::ranges::stable_sort(sizes, std::greater(), [](const auto& size) { return size.second; });
    Changes changes;
    changes.reserve(sizes.size());
    for (const auto& [size, layers] : sizes)
      changes.push_back(fmt::format("{} in {} layer{}", size, layers, layers == 1 ? "" : "s"));
    return first_of(std::move(changes));
  }

 private:
  struct PatternSums {
    ComparedTime time;
    TwoSums sums;
  };

  [[nodiscard]] Changes changes_of(const MergedRow& before, const MergedRow& after) const {
    return size_changes(before_.rows[before.rows.front()].sizes,
                        after_.rows[after.rows.front()].sizes, judge_.same());
  }

  void compare_event(const std::string& layer, const EventKey& key, const MergedRow* before,
                     const MergedRow* after, std::string sizes) {
    const auto time_before = before != nullptr ? estimate_of(*before) : std::nullopt;
    const auto time_after = after != nullptr ? estimate_of(*after) : std::nullopt;
    if ((before != nullptr && !time_before) || (after != nullptr && !time_after)) return;
    ComparedTime time;
    time.layer = layer;
    time.event = key.first;
    time.source = before != nullptr ? before->source : after->source;
    time.occurrence = static_cast<std::int64_t>(key.second);
    time.before_us = time_before.value_or(Estimate());
    time.after_us = time_after.value_or(Estimate());
    time.share_percent = share_of(time);
    time.sizes = std::move(sizes);
    if (before == nullptr) time.change = Change::kAdded;
    if (after == nullptr) time.change = Change::kRemoved;
    judge_.decide(time);
    events_.push_back(std::move(time));
  }

  void add_layer(ComparedTime time, const TwoSums& sums) {
    if (!(sums.before.value > 0) && !(sums.after.value > 0)) return;
    const std::string name = layer_pattern(time.layer);
    const auto [it, is_new] = patterns_.try_emplace(name);
    auto& [pattern, pattern_sums] = it->second;
    pattern.layer = name;
    if (!is_new) ++pattern.layers;
    pattern.kernels_changed = pattern.kernels_changed || time.kernels_changed;
    if (pattern.sizes.empty()) pattern.sizes = time.sizes;
    pattern_sums.before.add(sums.before);
    pattern_sums.after.add(sums.after);
    pattern_sums.unmeasured += sums.unmeasured;
    judge_layer(time, sums);
    layers_.push_back(std::move(time));
  }

  void judge_layer(ComparedTime& time, const TwoSums& sums) const {
    time.before_us = sums.before.estimate();
    time.after_us = sums.after.estimate();
    time.share_percent = share_of(time);
    if (!(time.before_us.value > 0)) time.change = Change::kAdded;
    if (!(time.after_us.value > 0)) time.change = Change::kRemoved;
    judge_.decide(time);
    if (sums.unmeasured == 0 || time.change == Change::kAdded || time.change == Change::kRemoved)
      return;
    time.change = Change::kAmbiguous;
    time.reason = fmt::format("kernels changed, and {} of them were not measured", sums.unmeasured);
  }

  // Shares are those of rows alone, as far as the iteration's time is known.
  [[nodiscard]] std::optional<double> share_of(const ComparedTime& time) const {
    if (!before_.iteration.us || !(*before_.iteration.us > 0)) return {};
    return 100.0 * time.before_us.value / *before_.iteration.us;
  }

  const Analysis& before_;
  const Analysis& after_;
  const Judge& judge_;
  std::map<std::string, PatternSums> patterns_;
  std::map<std::string, std::size_t> layers_of_size_;
  std::vector<ComparedTime> layers_;
  std::vector<ComparedTime> events_;
};

bool has_anything_in_common(const LayerIndex& before, const LayerIndex& after) {
  return std::ranges::any_of(before, [&](const auto& layer) {
    const auto other = after.find(layer.first);
    if (other == after.end()) return false;
    return !layer.first.empty() || std::ranges::any_of(layer.second, [&](const auto& event) {
      return other->second.contains(event.first);
    });
  });
}

}  // namespace

std::string_view change_name(Change change) {
  constexpr std::array<std::string_view, 6> names{"SAME", "FASTER", "SLOWER",
                                                  "NEW",  "GONE",   "AMBIGUOUS"};
  return names.at(static_cast<std::size_t>(change));
}

Comparison compare_runs(const Analysis& before, const Analysis& after,
                        const CompareOptions& options) {
  const LayerIndex layers_before = index_of(before);
  const LayerIndex layers_after = index_of(after);
  if (!has_anything_in_common(layers_before, layers_after))
    throw std::invalid_argument(
        fmt::format("the two runs have no event in common: {} events before, {} after",
                    before.merged.size(), after.merged.size()));
  Comparison result;
  result.margin = options.margin;
  result.min_share_percent = options.min_share_percent;
  result.same_ratios = {1.0 / (1.0 + options.margin), 1.0 + options.margin};
  result.phase_before = phase_of(before);
  result.phase_after = phase_of(after);
  result.differences = run_differences(before, after);
  const auto is_allowed = [&](std::string_view what) {
    return std::ranges::find(options.despite, what) != options.despite.end();
  };
  for (Difference& difference : result.differences)
    difference.is_allowed = is_allowed(difference.what);
  const Judge judge(result.same_ratios, result.differences, is_allowed("sizes"));

  Comparer comparer(before, after, judge);
  for (const auto& [layer, events] : layers_before) {
    const auto other = layers_after.find(layer);
    comparer.compare(layer, &events, other == layers_after.end() ? nullptr : &other->second);
  }
  for (const auto& [layer, events] : layers_after) {
    if (!layers_before.contains(layer)) comparer.compare(layer, nullptr, &events);
  }
  comparer.finish(result);
  const std::string sizes = comparer.sizes();
  if (!sizes.empty())
    result.differences.push_back({"sizes", "sizes: " + sizes, is_allowed("sizes")});

  for (const Analysis* run : {&before, &after}) {
    const auto missing = missing_samples(*run);
    if (missing && missing->few > 0) result.missing = missing;
  }
  if (before.iteration.us && after.iteration.us) {
    ComparedTime time;
    time.share_percent = 100.0;
    time.sizes = sizes;
    time.before_us = {*before.iteration.us, before.iteration.ci95_us};
    time.after_us = {*after.iteration.us, after.iteration.ci95_us};
    judge.decide(time);
    result.iteration = std::move(time);
  }
  return result;
}

std::string change_words(const ComparedTime& time, double margin) {
  switch (time.change) {
    case Change::kAdded:
      return "new";
    case Change::kRemoved:
      return "gone";
    case Change::kAmbiguous:
      return "undecided";
    case Change::kSame:
      if (!time.ratio_ci95 || (time.ratio_ci95->lower <= 1.0 && time.ratio_ci95->upper >= 1.0))
        return "same";
      return fmt::format("{}, within the margin of {:g} %", percent_words(*time.ratio),
                         100.0 * margin);
    case Change::kFaster:
    case Change::kSlower:
      break;
  }
  return percent_words(*time.ratio);
}

namespace {

using Values = std::set<std::string>;

}  // namespace

std::vector<Difference> run_differences(const Analysis& before, const Analysis& after) {
  std::vector<Difference> differences;
  const auto check = [&](std::string_view what, const auto& collect) {
    Values of_before, of_after;
    for (const Run& run : before.runs)
      collect(run.profile, of_before);
    for (const Run& run : after.runs)
      collect(run.profile, of_after);
    if (of_before.empty() || of_after.empty() || of_before == of_after) return;
    differences.push_back(
        {std::string(what), fmt::format("{}: {} before, {} after", what, fmt::join(of_before, ", "),
                                        fmt::join(of_after, ", "))});
  };
  // `text_of` gives "" for a device that does not say it.
  const auto check_devices = [&](std::string_view what, const auto& text_of) {
    check(what, [&](const read::Profile& profile, Values& values) {
      for (const read::Device& device : profile.devices) {
        if (std::string text = text_of(device); !text.empty()) values.insert(std::move(text));
      }
    });
  };
  check_devices("gpu", [](const read::Device& device) { return device.name; });
  check_devices("clocks", [](const read::Device& device) {
    if (device.sm_clock_khz == 0 && device.memory_clock_khz == 0) return std::string();
    return fmt::format("SM {} MHz, memory {} MHz", device.sm_clock_khz / 1000,
                       device.memory_clock_khz / 1000);
  });
  check_devices("mig", [](const read::Device& device) {
    return fmt::format("{}{}", device.mig ? "MIG" : "whole GPU",
                       device.mps_percent && *device.mps_percent < 100
                           ? fmt::format(", MPS {:g} %", *device.mps_percent)
                           : "");
  });
  check_devices("driver", [](const read::Device& device) { return device.driver_version; });
  check("libraries", [](const read::Profile& profile, Values& values) {
    for (const auto& [name, version] : profile.libraries)
      values.insert(fmt::format("{} {}", name, version));
  });
  return differences;
}

}  // namespace inline_prof::join
