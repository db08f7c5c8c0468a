#include "schedule/launch_log.hpp"

#include <algorithm>

namespace inline_prof::schedule {
namespace {

constexpr std::uint32_t kSmallSymbols = std::uint32_t{64} << 10U;
constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15U;

// SplitMix64's finalizer (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014): a polynomial of small numbers would make equal hashes likely.
std::uint64_t mixed(std::uint64_t value) {
  value += kBase;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

std::uint32_t LaunchLog::number_of(std::uint32_t symbol) {
  if (symbol < numbers_.size() && numbers_[symbol] != kNone) return numbers_[symbol];
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
  last_.push_back(kNone);
  runs_.push_back(0);
  return fresh;
}

void LaunchLog::append(std::uint32_t kernel, std::uint32_t weight) {
  if (launches_.size() == kMostLaunches) drop_older_half();
  if (weights_[kernel] != weight) {
    weights_[kernel] = weight;
    has_weights_ = true;
  }
  launches_.push_back(kernel);
  hashes_.push_back((hashes_.empty() ? hash_before_ : hashes_.back()) * kBase + mixed(kernel));
  link(launches_.size() - 1);
}

void LaunchLog::link(std::size_t launch) {
  const std::uint32_t kernel = launches_[launch];
  before_.push_back(last_[kernel]);
  if (!begins_run(launch)) return;
  last_[kernel] = static_cast<std::uint32_t>(launch);
  ++runs_[kernel];
}

void LaunchLog::append_wait() {
  const auto next = static_cast<std::uint32_t>(launches_.size());
  if (waits_.empty() || waits_.back() != next) waits_.push_back(next);
}

void LaunchLog::drop_older_half() {
  const std::size_t half = launches_.size() / 2;
  const auto end = [half](const auto& values) {
    return values.begin() + static_cast<std::ptrdiff_t>(half);
  };
  hash_before_ = hashes_[half - 1];
  launches_.erase(launches_.begin(), end(launches_));
  hashes_.erase(hashes_.begin(), end(hashes_));
  std::erase_if(waits_, [half](std::uint32_t wait) { return wait < half; });
  for (std::uint32_t& wait : waits_)
    wait -= static_cast<std::uint32_t>(half);
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

std::uint64_t LaunchLog::power_of_base(std::size_t exponent) const {
  if (exponent == last_exponent_) return last_power_;
  last_exponent_ = exponent;
  last_power_ = 1;
  for (std::uint64_t factor = kBase; exponent > 0; exponent >>= 1U, factor *= factor) {
    if ((exponent & 1U) != 0) last_power_ *= factor;
  }
  return last_power_;
}

std::uint64_t LaunchLog::hash(std::size_t begin, std::size_t end) const {
  if (begin == end) return 0;
  const std::uint64_t before = begin == 0 ? hash_before_ : hashes_[begin - 1];
  return hashes_[end - 1] - before * power_of_base(end - begin);
}

std::uint64_t LaunchLog::hash_of_three(std::size_t begin) const {
  constexpr std::uint64_t cube = kBase * kBase * kBase;
  const std::uint64_t before = begin == 0 ? hash_before_ : hashes_[begin - 1];
  return hashes_[begin + 2] - before * cube;
}

}  // namespace inline_prof::schedule
