// Whose turn it is when several tables share the time there is.
#pragma once

#include "measure/case.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::measure {

// The next case is one of the table that has had the least time so far: a table of slow cases takes
// no time of the others, and what small ones leave goes to the large.  Each table has its cases in
// the order in which they were given.
class Turns {
 public:
  explicit Turns(std::vector<Case> cases);

  [[nodiscard]] std::size_t left() const { return left_; }
  // Empty when all have had their turn.
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
