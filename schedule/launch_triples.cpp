#include "schedule/launch_triples.hpp"

namespace inline_prof::schedule {

std::size_t LaunchTriples::update(const LaunchLog& log) {
  const std::size_t size = log.launches().size();
  if (size < 3) return 0;
  if (log.dropped() != dropped_ || size - begin_ > 2 * kLastLaunches) {
    *this = LaunchTriples();
    dropped_ = log.dropped();
    begin_ = size > kLastLaunches ? size - kLastLaunches : 0;
  }
  const std::size_t known = before_.size();
  before_.resize(size - 2 - begin_);
  for (std::size_t i = known; i < before_.size(); ++i) {
    if (!log.begins_run(begin_ + i)) continue;
    Triple& triple = triple_of(log.hash_of_three(begin_ + i));
    before_[i] = triple.last;
    triple.last = static_cast<std::uint32_t>(i + 1);
    ++triple.times;
  }
  return before_.size() - known;
}

LaunchTriples::Triple& LaunchTriples::triple_of(std::uint64_t hash) {
  if (2 * triples_.size() >= table_.size()) grow();
  std::size_t slot = static_cast<std::size_t>(hash >> 20U) & (table_.size() - 1);
  while (table_[slot] != 0 && triples_[table_[slot] - 1].hash != hash)
    slot = (slot + 1) & (table_.size() - 1);
  if (table_[slot] == 0) {
    triples_.push_back({.hash = hash});
    table_[slot] = static_cast<std::uint32_t>(triples_.size());
  }
  return triples_[table_[slot] - 1];
}

void LaunchTriples::grow() {
  constexpr std::size_t smallest = 256;
  table_.assign(table_.empty() ? smallest : 4 * table_.size(), 0);
  for (std::size_t i = 0; i < triples_.size(); ++i) {
    std::size_t slot = static_cast<std::size_t>(triples_[i].hash >> 20U) & (table_.size() - 1);
    while (table_[slot] != 0)
      slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void LaunchTriples::gaps_of(const Triple& triple, std::size_t most,
                            std::vector<std::size_t>& gaps) const {
  gaps.clear();
  for (std::uint32_t at = triple.last; gaps.size() < most; at = before_[at - 1]) {
    if (before_[at - 1] == 0) return;
    gaps.push_back(at - before_[at - 1]);
  }
}

}  // namespace inline_prof::schedule
