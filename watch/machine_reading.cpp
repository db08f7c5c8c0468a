#include "watch/machine_reading.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace inline_prof::watch {
namespace {

constexpr std::size_t kReadingsBefore = 12;  // 2 minutes: the beginning of a change is an estimate
constexpr double kLeastClockChange = 0.015;  // two steps of 15 MHz at 1,980 MHz
constexpr double kLeastTemperatureRiseC = 10;

using Readings = std::span<const MachineReading>;

std::uint64_t bits(double value) {
  return std::isnan(value) ? 0 : static_cast<std::uint64_t>(value);
}

std::uint64_t bits_of(Readings readings) {
  std::uint64_t seen = 0;
  for (const MachineReading& reading : readings)
    seen |= bits(reading.throttle_reasons);
  return seen;
}

// NaN if no reading has the value.
double median(Readings readings, double MachineReading::*value) {
  std::vector<double> known;
  for (const MachineReading& reading : readings) {
    if (!std::isnan(reading.*value)) known.push_back(reading.*value);
  }
  if (known.empty()) return kUnknown;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

std::string change_of(const char* what, double before, double after, const char* unit) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%s %.0f -> %.0f %s", what, before, after, unit);
  return text.data();
}

// Returns the reasons that came with the slowdown, or were there all the time.
std::string words_of(std::uint64_t before, std::uint64_t after) {
  const std::uint64_t fresh = after & ~before;
  std::string words;
  for (const auto& [bit, word] : kLowClockReasons) {
    if (((fresh != 0 ? fresh : after) & bit) == 0) continue;
    words.append(words.empty() ? "" : " and ").append(word);
  }
  return words;
}

}  // namespace

void MachineReadings::add(const MachineReading& reading) {
  if (!std::isfinite(reading.time_s)) return;
  if (!kept_.empty() && reading.time_s <= kept_.back().time_s) return;
  kept_.push_back(reading);
  counts_.push_back(1);
  if (kept_.size() > kMost) merge_two();
}

// Merges the two neighbours that are closest for their age.
void MachineReadings::merge_two() {
  const double now = kept_.back().time_s;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 2 < kept_.size(); ++i) {
    const double begin = i == 0 ? 0 : kept_[i - 1].time_s;
    const double width = (kept_[i + 1].time_s - begin) / (now - kept_[i].time_s);
    if (width >= least) continue;
    least = width;
    best = i;
  }
  const MachineReading& from = kept_[best];
  MachineReading& into = kept_[best + 1];
  const auto weight = static_cast<double>(counts_[best]);
  const auto other = static_cast<double>(counts_[best + 1]);
  for (const MachineColumn& column : kMachineColumns) {
    const double older = from.*column.value;
    double& value = into.*column.value;
    if (std::isnan(older)) continue;
    if (std::isnan(value)) {
      value = older;
    } else if (column.merged_by == MergedBy::kMean) {
      value = (older * weight + value * other) / (weight + other);
    } else if (column.merged_by == MergedBy::kAnyBit) {
      value = static_cast<double>(bits(older) | bits(value));
    }
  }
  counts_[best + 1] += counts_[best];
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(best));
  counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(best));
}

std::string reason_of_change(Readings readings, double began_s, double detected_s, double ratio) {
  const auto first_later_than = [&](double time_s) {
    return static_cast<std::size_t>(std::upper_bound(readings.begin(), readings.end(), time_s,
                                                     [](double time, const MachineReading& each) {
                                                       return time < each.time_s;
                                                     }) -
                                    readings.begin());
  };
  const std::size_t begin = first_later_than(began_s);
  const std::size_t end = std::max(begin, first_later_than(detected_s));
  const std::size_t count = std::min(begin, kReadingsBefore);
  if (count == 0 || begin == end) return "";
  const Readings before = readings.subspan(begin - count, count);
  const Readings after = readings.subspan(begin, end - begin);
  const bool is_slower = ratio > 1;

  std::vector<std::string> found;
  const std::string words = is_slower ? words_of(bits_of(before), bits_of(after)) : "";
  bool clocks_are_known = false;
  for (const auto& [what, value] : {std::pair{"SM clock", &MachineReading::sm_clock_mhz},
                                    std::pair{"memory clock", &MachineReading::memory_clock_mhz}}) {
    const double was = median(before, value);
    const double is = median(after, value);
    clocks_are_known = clocks_are_known || !std::isnan(is);
    if (!(std::abs(is - was) > kLeastClockChange * was) || (is < was) != is_slower) continue;
    found.push_back(change_of(what, was, is, "MHz"));
    if (!words.empty()) found.back().append(": ").append(words);
  }
  if (found.empty() && !clocks_are_known && !words.empty()) found.push_back(words);
  const double was_c = median(before, &MachineReading::temperature_c);
  const double is_c = median(after, &MachineReading::temperature_c);
  if (is_slower && is_c - was_c >= kLeastTemperatureRiseC)
    found.push_back(change_of("temperature", was_c, is_c, "C"));
  for (const auto& [what, value] : {std::pair{"ECC errors", &MachineReading::ecc_errors},
                                    std::pair{"NVLink errors", &MachineReading::nvlink_errors}}) {
    const double more = after.back().*value - before.front().*value;
    if (more > 0) found.push_back(what + (" +" + std::to_string(static_cast<std::int64_t>(more))));
  }
  std::string sentence;
  for (const std::string& each : found)
    sentence.append(sentence.empty() ? "" : ", ").append(each);
  return sentence;
}

}  // namespace inline_prof::watch
