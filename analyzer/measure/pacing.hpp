// Decides how often a case is repeated, and which case is next.
#pragma once

#include "measure/case.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::measure {

struct RepeatLimits {
  std::size_t least = 5;
  std::size_t most = 100;
  double precision = 0.01;  // half the interval of the median, as a part of the median
};

struct MedianOfRepeats {
  double median = 0;
  // The interval of base/median.hpp; of fewer than 6 values the extremes, which hold the true
  // median less often than 95 times out of 100.
  double lower = 0;
  double upper = 0;
};

// Throws std::invalid_argument if there are no values.
[[nodiscard]] MedianOfRepeats median_of(std::vector<double> values);

[[nodiscard]] bool is_enough(const std::vector<double>& values, const RepeatLimits& limits);

// Takes the next case from the table that has had the least time so far, so that a table of slow
// cases takes no time from the others.  Within a table, cases keep their order.
class Turns {
 public:
  explicit Turns(std::vector<Case> cases);

  [[nodiscard]] std::size_t left() const { return left_; }
  // Returns nothing when all have had their turn.
  [[nodiscard]] std::optional<Case> next();
  void add_time(const std::string& table, double time_s) { tables_[table].spent_s += time_s; }

 private:
  struct Table {
    std::deque<Case> waiting;
    double spent_s = 0;
  };
  std::map<std::string, Table> tables_;
  std::size_t left_;
};

}  // namespace inline_prof::measure
