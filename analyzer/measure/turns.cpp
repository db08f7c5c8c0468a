#include "measure/turns.hpp"

#include <utility>

namespace inline_prof::measure {

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
