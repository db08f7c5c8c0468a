#include "join/shares.hpp"

#include "join/idle.hpp"
#include "join/lanes.hpp"
#include "join/nesting.hpp"
#include "join/offsets_in_order.hpp"
#include "join/outermost.hpp"
#include "join/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

bool is_measured(const Row& row) {
  return row.corrected_us.has_value();
}

// Time of all calls in one iteration.  The calls of an any_occurrence row are those of the whole
// run.
double in_iteration_us(const Row& row, double time_us, const Run& run) {
  double calls = static_cast<double>(row.calls);
  if (row.any_occurrence) {
    calls /= std::max(1.0, static_cast<double>(run.profile.iter_time_ms.size()));
  }
  return calls * time_us;
}

// An unmeasured event is taken to last as long as what launches the same kernel on the same device,
// else as long as predicted.
class UnmeasuredTimes {
 public:
  explicit UnmeasuredTimes(const std::vector<Row>& rows) {
    std::map<Key, std::vector<double>> times;
    for (const Row& row : rows) {
      if (is_measured(row)) times[key(row)].push_back(*row.corrected_us);
    }
    for (auto& [kernel, values] : times)
      median_us_[kernel] = median(std::move(values));
  }

  [[nodiscard]] std::optional<double> of(const Row& row) const {
    const auto it = median_us_.find(key(row));
    if (it != median_us_.end()) return it->second;
    return row.predicted_us;
  }

 private:
  using Key = std::tuple<std::size_t, std::int64_t, std::string>;
  static Key key(const Row& row) {
    return {row.profile, row.device_id, row.kernel_name.empty() ? row.event : row.kernel_name};
  }
  std::map<Key, double> median_us_;
};

class DeviceShares {
 public:
  struct Credit {
    std::size_t row = 0;
    double time_us = 0.0;
  };

  DeviceShares(const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children)
      : rows_(rows), children_(children) {}

  // Gives `root`, and what it encloses, `time_us` of the device's time.
  void credit(std::size_t root, double time_us) {
    std::size_t next = credits_.size();
    credits_.push_back({root, time_us});
    for (; next < credits_.size(); ++next)
      share_out(credits_[next]);
  }

  [[nodiscard]] const Shares& shares_us() const { return shares_us_; }
  [[nodiscard]] const std::vector<Credit>& credits() const { return credits_; }

 private:
  // Adds one row's time to its share, or hands it on to the rows that it encloses.
  void share_out(const Credit credit) {
    const Row& row = rows_[credit.row];
    if (!is_measured(row)) {
      shares_us_.seen += credit.time_us;
      return;
    }
    double inner_us = 0.0;
    for (const std::size_t child : children_[credit.row]) {
      inner_us += rows_[child].in_iteration_us.value_or(0.0);
    }
    const bool stands_alone = row.predicted_us && !row.is_sum_of_children;
    if (inner_us <= 0 || stands_alone) {
      (row.predicted_us ? shares_us_.predicted : shares_us_.measured) += credit.time_us;
      return;
    }
    const double whole_us = std::max(*row.in_iteration_us, inner_us);
    const double scale = credit.time_us / whole_us;
    for (const std::size_t child : children_[credit.row]) {
      const auto& child_us = rows_[child].in_iteration_us;
      if (child_us) credits_.push_back({child, *child_us * scale});
    }
    shares_us_.measured += (whole_us - inner_us) * scale;
  }

  const std::vector<Row>& rows_;
  const std::vector<std::vector<std::size_t>>& children_;
  std::vector<Credit> credits_;  // in the order in which they are shared out
  Shares shares_us_;
};

std::vector<double> claimed_times(const Analysis& analysis, std::size_t profile,
                                  const std::vector<std::size_t>& roots) {
  const std::vector<Row>& rows = analysis.rows;
  const auto offsets_us = better_offsets(analysis, profile, roots);
  std::vector<double> claimed_us;
  std::vector<Piece> pieces;
  Lanes lanes;
  bool placed = true;  // rows without a place in the iteration can only be added up
  for (const std::size_t i : roots) {
    const Row& row = rows[i];
    const double length_us = *row.in_iteration_us;
    claimed_us.push_back(length_us);
    if (row.any_occurrence) placed = false;
    const auto offset_us = offsets_us.find(i);
    const Lanes::Place place =
        offset_us != offsets_us.end() ? lanes.place(row, offset_us->second) : lanes.place(row);
    pieces.push_back({place.lane, place.start_us, length_us});
  }
  if (!placed || lanes.count() < 2) return claimed_us;
  return busy_time(std::move(pieces));
}

void scale_down(Shares& shares, double factor) {
  shares.predicted *= factor;
  shares.measured *= factor;
  shares.seen *= factor;
}

void add(Shares& sum, const Shares& shares, double factor) {
  sum.predicted += shares.predicted * factor;
  sum.measured += shares.measured * factor;
  sum.seen += shares.seen * factor;
  sum.idle += shares.idle * factor;
}

void set_times(Analysis& analysis) {
  std::optional<UnmeasuredTimes> unmeasured;  // seldom needed, and long in the making
  const auto children = children_of(analysis.rows);
  for (std::size_t i = 0; i < analysis.rows.size(); ++i) {
    Row& row = analysis.rows[i];
    // Samples of any occurrence come from calls of different sizes: the calls take their mean.
    std::optional<double> time_us = row.any_occurrence ? row.mean_us : row.corrected_us;
    if (!time_us) {
      ++analysis.unmeasured_events;
      if (!row.unmeasured_reason.empty()) ++analysis.unmeasured_reasons[row.unmeasured_reason];
      if (children[i].empty()) {
        if (!unmeasured) unmeasured.emplace(analysis.rows);
        time_us = unmeasured->of(row);
      }
      if (!time_us && children[i].empty()) ++analysis.unmeasured_without_time;
    }
    if (time_us) row.in_iteration_us = in_iteration_us(row, *time_us, analysis.runs[row.profile]);
  }
}

// Mean over the devices on which the time is known.
void set_merged_times(Analysis& analysis) {
  for (MergedRow& merged : analysis.merged) {
    std::vector<double> times_us;
    for (const std::size_t row : merged.rows) {
      if (const auto& time_us = analysis.rows[row].in_iteration_us) times_us.push_back(*time_us);
    }
    if (!times_us.empty()) merged.in_iteration_us = mean(times_us);
  }
}

void set_row_shares(Analysis& analysis, const std::vector<double>& credited_percent) {
  for (MergedRow& merged : analysis.merged) {
    double sum = 0.0;
    for (const std::size_t row : merged.rows)
      sum += credited_percent[row];
    merged.share_percent = sum;
  }
}

}  // namespace

void compute_shares(Analysis& analysis) {
  set_times(analysis);
  set_merged_times(analysis);
  const auto children = children_of(analysis.rows);
  const auto roots = outermost_rows(analysis.rows, children);
  for (const auto& [device, of_device] : roots) {
    if (!analysis.runs[device.first].iteration_us) {
      analysis.shares_reason =
          fmt::format("{} has no iteration times", analysis.runs[device.first].profile.file);
      return;
    }
  }
  if (roots.empty()) {
    analysis.shares_reason = "no events";
    return;
  }

  const double weight = 1.0 / static_cast<double>(roots.size());
  Shares percent;
  Shares time_us;
  double iteration_sum_us = 0.0;
  std::optional<Interval> iteration_ci95_us = Interval{};
  std::vector<double> credited_percent(analysis.rows.size(), 0.0);
  for (const auto& [device, of_device] : roots) {
    const double iteration_us = *analysis.runs[device.first].iteration_us;
    DeviceShares of_this(analysis.rows, children);
    const std::vector<double> claimed_us = claimed_times(analysis, device.first, of_device);
    for (std::size_t i = 0; i < of_device.size(); ++i) {
      of_this.credit(of_device[i], claimed_us[i]);
    }

    Shares shares = of_this.shares_us();
    const double sum_us = shares.predicted + shares.measured + shares.seen;
    double factor = 1.0;
    if (sum_us > iteration_us) {
      factor = iteration_us / sum_us;
    }
    // Medians of different iterations: a sum of them may come out a little above the median of
    // sums.
    if (sum_us > 1.001 * iteration_us) {
      analysis.warnings.push_back(fmt::format(
          "device {} of {}: the events take {:.3f} ms, more than the iteration's {:.3f} ms; their "
          "shares are scaled down to 100 %",
          device.second, analysis.runs[device.first].profile.file, sum_us * 1e-3,
          iteration_us * 1e-3));
    }
    scale_down(shares, factor);
    shares.idle = std::max(0.0, iteration_us - shares.predicted - shares.measured - shares.seen);
    if (auto idle = find_idle(analysis, device.first, device.second, of_device, shares.idle))
      analysis.idle.push_back(std::move(*idle));
    add(time_us, shares, weight);
    add(percent, shares, weight * 100.0 / iteration_us);
    iteration_sum_us += iteration_us * weight;
    const auto& ci95_us = analysis.runs[device.first].iteration_ci95_us;
    if (ci95_us && iteration_ci95_us) {  // ranks of one run are slow together
      iteration_ci95_us->lower += ci95_us->lower * weight;
      iteration_ci95_us->upper += ci95_us->upper * weight;
    } else {
      iteration_ci95_us.reset();
    }
    for (const auto& [row, row_us] : of_this.credits()) {
      credited_percent[row] += row_us * factor * weight * 100.0 / iteration_us;
    }
  }
  analysis.iteration_us = iteration_sum_us;
  analysis.iteration_ci95_us = iteration_ci95_us;
  analysis.shares_percent = percent;
  analysis.shares_us = time_us;
  set_row_shares(analysis, credited_percent);
}

}  // namespace inline_prof::join
