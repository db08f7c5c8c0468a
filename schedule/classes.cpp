#include "schedule/classes.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace inline_prof::schedule {
namespace {

// Sorts by a heap, since std::sort calls itself: this runs where 3 KiB of stack may be too many.
template <typename T>
void sort_flat(std::vector<T>& values) {
  std::make_heap(values.begin(), values.end());
  std::sort_heap(values.begin(), values.end());
}

constexpr double kLevel = 0.001;
constexpr double kRelevantRatio = 1.02;
constexpr std::size_t kFewestSamples = 8;

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

bool divides(char byte) {
  return byte == '.' || byte == '/';
}

// A label with its indices taken out: "layers..attn", and "12".
struct NamePattern {
  std::vector<std::string_view> texts;  // one more than indices
  std::vector<std::string_view> indices;
};

NamePattern pattern_of(std::string_view label) {
  NamePattern pattern;
  std::size_t text = 0;  // the start of the text that is not yet stored
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (!is_digit(label[i])) continue;
    std::size_t end = i;
    while (end < label.size() && is_digit(label[end]))
      ++end;
    if (end == label.size() || divides(label[end])) {
      pattern.texts.push_back(label.substr(text, i - text));
      pattern.indices.push_back(label.substr(i, end - i));
      text = end;
    }
    i = end - 1;
  }
  pattern.texts.push_back(label.substr(text));
  return pattern;
}

std::string label_of(const ClassMember& member) {
  return member.layer.empty() ? member.event : member.layer + "." + member.event;
}

std::string common_name(const std::vector<NamePattern>& patterns) {
  const NamePattern& first = patterns.front();
  std::string name(first.texts.front());
  for (std::size_t i = 0; i < first.indices.size(); ++i) {
    const bool all_have_it = std::ranges::all_of(patterns, [&](const NamePattern& pattern) {
      return pattern.indices[i] == first.indices[i];
    });
    name += all_have_it ? first.indices[i] : "*";
    name += first.texts[i + 1];
  }
  return name;
}

// Returns the two-sided probability that two samples of one distribution differ in rank at least as
// much as these.
double rank_sum_probability(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value, is of a
  all.reserve(a.size() + b.size());
  for (const double value : a)
    all.emplace_back(value, true);
  for (const double value : b)
    all.emplace_back(value, false);
  sort_flat(all);
  double rank_sum = 0;  // of a
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    std::size_t of_a = 0;
    for (; end < all.size() && all[end].first == all[i].first; ++end)
      of_a += all[end].second ? std::size_t{1} : 0;
    const auto equal = static_cast<double>(end - i);
    const double rank = (static_cast<double>(i) + 1 + static_cast<double>(end)) / 2;
    rank_sum += rank * static_cast<double>(of_a);
    ties += equal * equal * equal - equal;
    i = end;
  }
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)));
  if (!(variance > 0)) return 1;
  const double difference = std::abs(rank_sum - n * (total + 1) / 2);
  return std::erfc(std::max(difference - 0.5, 0.0) / std::sqrt(2 * variance));
}

}  // namespace

std::vector<EventClass> make_classes(const std::vector<ClassMember>& events) {
  using Key = std::tuple<std::string_view, std::array<unsigned, 3>, std::string_view,
                         std::vector<std::string_view>>;
  std::vector<std::string> labels;
  labels.reserve(events.size());
  for (const ClassMember& event : events)
    labels.push_back(label_of(event));

  std::vector<EventClass> classes;
  std::vector<std::vector<NamePattern>> patterns;  // of each class's members
  std::map<Key, std::size_t> known;
  for (std::size_t i = 0; i < events.size(); ++i) {
    NamePattern pattern = pattern_of(labels[i]);
    const auto [entry, is_new] = known.try_emplace(
        {events[i].kernel, events[i].grid, events[i].op, pattern.texts}, classes.size());
    if (is_new) {
      classes.emplace_back();
      patterns.emplace_back();
    }
    classes[entry->second].members.push_back(i);
    patterns[entry->second].push_back(std::move(pattern));
  }

  std::map<std::string, int> times;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    classes[c].name = common_name(patterns[c]);
    const int time = ++times[classes[c].name];
    if (time > 1) classes[c].name += " #" + std::to_string(time);
  }
  return classes;
}

std::vector<std::vector<std::size_t>> groups_that_agree(
    const std::vector<std::vector<double>>& samples) {
  std::vector<std::pair<double, std::size_t>> by_median;
  std::vector<std::size_t> silent;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].size() < kFewestSamples) {
      silent.push_back(i);
    } else {
      by_median.emplace_back(base::median(samples[i]), i);
    }
  }
  sort_flat(by_median);

  std::vector<std::vector<std::size_t>> groups;
  std::vector<double> pooled;  // samples of the last group
  for (const auto& [median, member] : by_median) {
    const bool differs = !groups.empty() && median > kRelevantRatio * base::median(pooled) &&
                         rank_sum_probability(samples[member], pooled) <
                             kLevel / static_cast<double>(by_median.size());
    if (groups.empty() || differs) {
      groups.emplace_back();
      pooled.clear();
    }
    groups.back().push_back(member);
    pooled.insert(pooled.end(), samples[member].begin(), samples[member].end());
  }
  if (groups.empty()) groups.emplace_back();
  auto& largest = *std::ranges::max_element(
      groups, [](const auto& a, const auto& b) { return a.size() < b.size(); });
  largest.insert(largest.end(), silent.begin(), silent.end());
  for (auto& group : groups)
    sort_flat(group);
  return groups;
}

}  // namespace inline_prof::schedule
