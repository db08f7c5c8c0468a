#include "measure/pacing.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace inline_prof::measure {

MedianOfRepeats median_of(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no repeats");
  std::ranges::sort(values);
  const base::Interval interval = base::median_interval95_of_sorted(values).value_or(
      base::Interval{values.front(), values.back()});
  return {
      .median = base::median_of_sorted(values), .lower = interval.lower, .upper = interval.upper};
}

bool is_enough(const std::vector<double>& values, const RepeatLimits& limits) {
  if (values.size() < limits.least) return false;
  if (values.size() >= limits.most) return true;
  const MedianOfRepeats found = median_of(values);
  return found.upper - found.lower <= 2 * limits.precision * found.median;
}

Turns::Turns(std::vector<Case> cases) : left_(cases.size()) {
  for (Case& one : cases) {
    auto& waiting = tables_[one.table].waiting;
    waiting.push_back(std::move(one));
  }
}

std::optional<Case> Turns::next() {
  Table* first = nullptr;
  for (auto& [name, table] : tables_) {
    if (table.waiting.empty()) continue;
    if (first == nullptr || table.spent_s < first->spent_s) first = &table;
  }
  if (first == nullptr) return std::nullopt;
  Case one = std::move(first->waiting.front());
  first->waiting.pop_front();
  --left_;
  return one;
}

}  // namespace inline_prof::measure
