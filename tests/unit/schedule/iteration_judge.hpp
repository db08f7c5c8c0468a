// Shows a sequence of launches to the search for iterations, and judges each of its answers.
#pragma once

#include "launch_sequence.hpp"
#include "schedule/iteration_finder.hpp"
#include "schedule/iteration_follower.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::schedule::test {

inline constexpr std::size_t kIterationsShown = 30;

enum class Verdict : std::uint8_t { kExact, kWrong, kNoAnswer, kRightlyNone };

struct Answer {
  double confidence = 0;
  bool is_right = false;
};

struct Judgement {
  std::string name;
  bool is_for_judging = false;
  Verdict verdict = Verdict::kNoAnswer;
  std::size_t found_in = 0;  // iteration, where the last answer came first
  std::size_t length = 0;
  std::size_t true_length = 0;
  double confidence = 0;
  std::size_t other_period = 0;
  std::vector<Answer> answers{};  // all that were given, one after the other, and the last one
};

// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
inline bool is_for_judging(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return ((hash >> 16U) & 1U) != 0;
}

inline std::size_t kernels_between(const Sequence& sequence, std::uint64_t begin,
                                   std::uint64_t end) {
  std::size_t sum = 0;
  for (std::uint64_t i = begin; i < end; ++i)
    sum += sequence.calls()[i].kernels;
  return sum;
}

// The first iteration's first launch is one of the true ones, or lies in the first one, which may
// prepare more than others do; and most iterations that follow begin exactly where they should.
inline bool is_right(const Sequence& sequence, const FoundIteration& found, std::uint64_t seen) {
  const auto& starts = sequence.starts();
  if (!found.first_launch) return false;
  if (!std::binary_search(starts.begin(), starts.end(), *found.first_launch) &&
      (*found.first_launch < starts[0] || *found.first_launch > starts[1]))
    return false;
  IterationFollower follower(found);
  std::vector<std::uint64_t> followed;
  for (std::uint64_t i = seen; i < sequence.calls().size(); ++i) {
    const auto handle = [&](Step step) {
      if ((step == Step::kStartsAgain || step == Step::kVoid) && !followed.empty())
        followed.pop_back();
      if (step == Step::kStarts || step == Step::kStartsAgain) followed.push_back(i);
    };
    const std::uint32_t symbol = sequence.calls()[i].symbol;
    if (symbol == found.first) handle(follower.on_first());
    if (symbol == found.anchor) handle(follower.on_anchor());
  }
  // An evaluation behind the last iteration looks like a start.
  while (!followed.empty() && followed.back() > starts.back())
    followed.pop_back();
  if (followed.size() < 5) return false;
  const auto next = std::lower_bound(starts.begin(), starts.end(), followed.front());
  std::size_t hits = 0;
  for (const std::uint64_t start : followed)
    hits += std::binary_search(starts.begin(), starts.end(), start) ? 1U : 0U;
  const auto due = static_cast<std::size_t>(starts.end() - next);
  return hits == followed.size() && 10 * hits >= 9 * due;
}

inline Judgement judge(const NamedSequence& named) {
  const Sequence& sequence = named.sequence;
  const auto& starts = sequence.starts();
  const bool iterates = !starts.empty();
  const std::uint64_t shown = iterates ? starts.at(kIterationsShown) : sequence.calls().size();
  Judgement result{.name = named.name, .is_for_judging = is_for_judging(named.name)};
  if (iterates) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < kIterationsShown; ++i)
      lengths.push_back(kernels_between(sequence, starts[i], starts[i + 1]));
    std::sort(lengths.begin(), lengths.end());
    result.true_length = lengths[lengths.size() / 2];
  }
  IterationFinder finder;
  const auto note = [&](std::uint64_t seen) {
    if (finder.found()) {
      result.answers.push_back(
          {finder.found()->confidence, iterates && is_right(sequence, *finder.found(), seen)});
    }
  };
  for (std::uint64_t i = 0; i < shown; ++i) {
    const Call& call = sequence.calls()[i];
    if (call.host_waits_before) finder.add_wait();
    if (call.is_another_thread) finder.add_turn();
    if (call.bytes_reduced_before != 0) finder.add_reduction(call.bytes_reduced_before);
    if (!finder.add(call.symbol, call.kernels, call.updates)) continue;
    note(i + 1);
    result.found_in = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), i) -
                                               starts.begin());
  }
  if (!finder.found()) {
    result.verdict = iterates ? Verdict::kNoAnswer : Verdict::kRightlyNone;
    return result;
  }
  note(shown);
  result.verdict = result.answers.back().is_right ? Verdict::kExact : Verdict::kWrong;
  result.length = finder.found()->launches_per_iteration;
  result.confidence = finder.found()->confidence;
  result.other_period = finder.found()->other_period;
  return result;
}

inline void print_table(const std::vector<Judgement>& judgements) {
  const char* const words[] = {"exact", "WRONG", "no answer", "none, rightly"};
  std::printf("%-32s %-8s %-14s %8s %8s %8s %6s %6s\n", "sequence", "for", "answer", "launches",
              "true", "other", "in", "conf");
  for (const Judgement& one : judgements) {
    std::printf("%-32s %-8s %-14s %8zu %8zu %8zu %6zu %6.2f\n", one.name.c_str(),
                one.is_for_judging ? "judging" : "building",
                words[static_cast<std::size_t>(one.verdict)], one.length, one.true_length,
                one.other_period, one.found_in, one.confidence);
  }
}

inline std::size_t count(const std::vector<Judgement>& judgements, Verdict verdict,
                         std::optional<bool> for_judging = std::nullopt) {
  return static_cast<std::size_t>(
      std::count_if(judgements.begin(), judgements.end(), [&](const Judgement& one) {
        return one.verdict == verdict && (!for_judging || one.is_for_judging == *for_judging);
      }));
}

// Answers by their confidence.
struct Bin {
  double below;
  std::size_t answers = 0;
  std::size_t right = 0;
  double sum = 0;
};

inline std::vector<Bin> calibration(const std::vector<Judgement>& judgements) {
  std::vector<Bin> bins{{0.6}, {0.8}, {0.9}, {1.01}};
  for (const Judgement& one : judgements) {
    for (const Answer& answer : one.answers) {
      Bin& bin = *std::find_if(bins.begin(), bins.end(),
                               [&](const Bin& each) { return answer.confidence < each.below; });
      ++bin.answers;
      bin.right += answer.is_right ? 1U : 0U;
      bin.sum += answer.confidence;
    }
  }
  for (const Bin& bin : bins) {
    if (bin.answers == 0) continue;
    const auto size = static_cast<double>(bin.answers);
    std::printf("confidence %.2f (mean, %zu answers): %.2f right\n", bin.sum / size, bin.answers,
                static_cast<double>(bin.right) / size);
  }
  return bins;
}

}  // namespace inline_prof::schedule::test
