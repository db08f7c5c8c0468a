#include "schedule/launch_log.hpp"

namespace inline_prof::schedule {
namespace {

constexpr std::uint32_t kSmallSymbols = std::uint32_t{64} << 10U;

}  // namespace

std::uint32_t LaunchLog::number_of_other(std::uint32_t symbol) {
  constexpr std::size_t room = 1024;
  if (symbols_.empty()) {
    launches_.reserve(room);
    before_.reserve(room);
    hashes_.reserve(room);
  }
  const auto fresh = static_cast<std::uint32_t>(symbols_.size());
  if (symbol < kSmallSymbols) {
    if (symbol >= numbers_.size()) numbers_.resize(std::size_t{symbol} + 1, kNone);
    numbers_[symbol] = fresh;
  } else {
    const auto [known, is_new] = numbers_of_large_.try_emplace(symbol, fresh);
    if (!is_new) return known->second;
  }
  symbols_.push_back(symbol);
  weights_.push_back(1);
  updates_.push_back(false);
  last_.push_back(kNone);
  runs_.push_back(0);
  return fresh;
}

void LaunchLog::append_place(std::vector<std::uint32_t>& places) const {
  const auto next = static_cast<std::uint32_t>(launches_.size());
  if (places.empty() || places.back() != next) places.push_back(next);
}

void LaunchLog::drop_older_half() {
  const std::size_t half = launches_.size() / 2;
  const auto end = [half](const auto& values) {
    return values.begin() + static_cast<std::ptrdiff_t>(half);
  };
  hash_before_ = hashes_[half - 1];
  launches_.erase(launches_.begin(), end(launches_));
  hashes_.erase(hashes_.begin(), end(hashes_));
  dropped_turns_ += static_cast<std::size_t>(std::lower_bound(turns_.begin(), turns_.end(), half) -
                                             turns_.begin());
  for (std::vector<std::uint32_t>* places : {&waits_, &turns_, &reductions_}) {
    std::erase_if(*places, [half](std::uint32_t place) { return place < half; });
    for (std::uint32_t& place : *places)
      place -= static_cast<std::uint32_t>(half);
  }
  std::fill(last_.begin(), last_.end(), kNone);
  std::fill(runs_.begin(), runs_.end(), 0U);
  before_.clear();
  for (std::size_t launch = 0; launch < launches_.size(); ++launch)
    link(launch);
  dropped_ += half;
}

void LaunchLog::clear() {
  *this = LaunchLog();
}

std::size_t LaunchLog::weight_of(Launches segment) const {
  if (!has_weights_) return segment.size();
  std::size_t sum = 0;
  for (const std::uint32_t kernel : segment)
    sum += weights_[kernel];
  return sum;
}

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
