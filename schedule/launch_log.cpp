#include "schedule/launch_log.hpp"

#include <algorithm>

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

}  // namespace inline_prof::schedule
