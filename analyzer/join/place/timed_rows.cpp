#include "join/place/timed_rows.hpp"

#include "join/rows/nesting.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

// Returns the time of all calls in one iteration.  The calls of an any_occurrence row are those of
// the whole run.
double in_iteration_us(const Row& row, double time_us, const Run& run) {
  double calls = static_cast<double>(row.calls);
  if (row.any_occurrence) {
    calls /= std::max(1.0, static_cast<double>(run.profile.iter_time_ms.size()));
  }
  return calls * time_us;
}

class UnmeasuredTimes {
 public:
  explicit UnmeasuredTimes(const std::vector<Row>& rows) {
    std::map<Key, std::vector<double>> times;
    for (const Row& row : rows) {
      if (row.corrected_us) times[key(row)].push_back(*row.corrected_us);
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

}  // namespace

TimedRows timed_rows(const std::vector<Run>& runs, std::vector<Row> rows) {
  TimedRows timed{.rows = std::move(rows), .unmeasured = {}};
  UnmeasuredRows& counts = timed.unmeasured;
  std::optional<UnmeasuredTimes> times;  // seldom needed, and long in the making
  const auto children = children_of(timed.rows);
  for (std::size_t i = 0; i < timed.rows.size(); ++i) {
    Row& row = timed.rows[i];
    // Samples of any occurrence come from calls of different sizes: the calls take their mean.
    std::optional<double> time_us = row.any_occurrence ? row.mean_us : row.corrected_us;
    if (!time_us) {
      ++counts.unmeasured_events;
      if (!row.unmeasured_reason.empty()) ++counts.unmeasured_reasons[row.unmeasured_reason];
      if (children[i].empty()) {
        if (!times) times.emplace(timed.rows);
        time_us = times->of(row);
      }
      if (!time_us && children[i].empty()) ++counts.unmeasured_without_time;
    }
    if (time_us) row.in_iteration_us = in_iteration_us(row, *time_us, runs[row.profile]);
  }
  return timed;
}

}  // namespace inline_prof::join
