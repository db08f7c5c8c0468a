#include "schedule/recurrence.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace inline_prof::schedule {
namespace {

// Shares and counts that decide.  Chosen so that the programs of iteration_finder_test.cpp are
// found and those without a period are not; none is at its limit there.
constexpr double kLeastSteadyShare = 0.75;      // of an iteration's launches
constexpr double kOtherSegment = 0.2;           // of a cycle's launches differ: not mere variation
constexpr double kMostInterrupted = 1.0 / 3.0;  // of the segments
constexpr double kOftenPresent = 0.6;  // a kernel in more segments than this is no optimizer's

std::size_t median(std::vector<std::size_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool are_all_equal(const std::vector<std::size_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::vector<std::size_t> gaps_of(const std::vector<std::size_t>& places) {
  std::vector<std::size_t> gaps;
  for (std::size_t i = 1; i < places.size(); ++i)
    gaps.push_back(places[i] - places[i - 1]);
  return gaps;
}

// A reading of the segments: what is steady, what varies.
struct Reading {
  std::vector<std::uint32_t> steady;
  std::vector<bool> varies;
  bool may_vary;  // segments that differ a little add to what varies
};

enum class Kind : std::uint8_t { kRegular, kInterrupted, kOther };

class Study {
 public:
  Study(Launches launches, std::span<const std::uint32_t> positions, std::size_t kernel_count)
      : launches_(launches),
        positions_(positions),
        kernel_count_(kernel_count),
        counts_(kernel_count) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = segment_count() - std::min<std::size_t>(segment_count(), 32);
         i < segment_count(); ++i) {
      lengths.push_back(segment(i).size());
    }
    needed_ = needed_segments(median(std::move(lengths)));
    window_ = std::min(segment_count(), needed_);
  }

  [[nodiscard]] std::optional<Cycle> repeated() {
    auto reading = equal_segments();
    return reading ? follow_back(std::move(*reading)) : std::nullopt;
  }

  [[nodiscard]] std::optional<Cycle> varying() {
    auto reading = similar_segments();
    return reading ? follow_back(std::move(*reading)) : std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t segment_count() const { return positions_.size() - 1; }
  [[nodiscard]] Launches segment(std::size_t i) const {
    return launches_.subspan(positions_[i], positions_[i + 1] - positions_[i]);
  }

  static std::vector<std::uint32_t> without(Launches segment, const std::vector<bool>& varies) {
    std::vector<std::uint32_t> kept;
    kept.reserve(segment.size());
    for (const std::uint32_t kernel : segment) {
      if (!varies[kernel]) kept.push_back(kernel);
    }
    return kept;
  }

  // The segment that most of the last ones equal.
  [[nodiscard]] std::optional<Reading> equal_segments() const {
    std::size_t best = 0;
    std::size_t most = 0;
    std::map<std::size_t, std::vector<std::size_t>> kinds;  // by length: one segment of each kind
    std::map<std::size_t, std::size_t> times;               // by that segment
    for (std::size_t i = segment_count() - window_; i < segment_count(); ++i) {
      auto& same_length = kinds[segment(i).size()];
      const auto known = std::find_if(
          same_length.begin(), same_length.end(),
          [&](std::size_t other) { return std::ranges::equal(segment(other), segment(i)); });
      const std::size_t kind = known == same_length.end() ? same_length.emplace_back(i) : *known;
      if (++times[kind] > most) {
        most = times[kind];
        best = kind;
      }
      if (static_cast<double>(times.size()) > kMostInterrupted * static_cast<double>(window_) + 1)
        return std::nullopt;
    }
    if (static_cast<double>(most) < (1 - kMostInterrupted) * static_cast<double>(window_))
      return std::nullopt;
    const Launches typical = segment(best);
    return Reading{.steady = {typical.begin(), typical.end()},
                   .varies = std::vector<bool>(kernel_count_),
                   .may_vary = false};
  }

  // How often each kernel is launched in a segment tells which ones vary.
  [[nodiscard]] std::optional<Reading> similar_segments() const {
    const LaunchCounts counts = count_launches();
    const std::size_t kernels = counts.kernels.size();
    std::vector<std::size_t> usual(kernels);
    std::vector<std::size_t> deviations(window_);
    std::size_t usual_length = 0;
    for (std::size_t k = 0; k < kernels; ++k) {
      usual[k] = most_frequent(counts, k);
      usual_length += usual[k];
      for (std::size_t i = 0; i < window_; ++i)
        deviations[i] += distance(counts.at(k, i), usual[k]);
    }
    const auto is_other = [&](std::size_t i) {
      return static_cast<double>(deviations[i]) > kOtherSegment * static_cast<double>(usual_length);
    };
    std::size_t others = 0;
    std::size_t newest = window_;
    for (std::size_t i = 0; i < window_; ++i) {
      if (is_other(i)) {
        ++others;
      } else {
        newest = i;
      }
    }
    if (static_cast<double>(others) > kMostInterrupted * static_cast<double>(window_))
      return std::nullopt;

    Reading reading{.steady = {}, .varies = std::vector<bool>(kernel_count_), .may_vary = true};
    for (std::size_t k = 0; k < kernels; ++k) {
      for (std::size_t i = 0; i < window_; ++i) {
        if (!is_other(i) && counts.at(k, i) != usual[k]) reading.varies[counts.kernels[k]] = true;
      }
    }
    reading.steady = without(window_segment(newest), reading.varies);
    return reading;
  }

  // Of each kernel in each of the last segments.
  struct LaunchCounts {
    std::vector<std::uint32_t> kernels;  // those that occur
    std::vector<std::uint32_t> counts;   // by (kernel, segment)
    std::size_t segments;

    [[nodiscard]] std::uint32_t at(std::size_t kernel, std::size_t segment) const {
      return counts[kernel * segments + segment];
    }
  };

  [[nodiscard]] LaunchCounts count_launches() const {
    LaunchCounts result{.kernels = {}, .counts = {}, .segments = window_};
    constexpr std::uint32_t unknown = UINT32_MAX;
    std::vector<std::uint32_t> place(kernel_count_, unknown);
    for (std::size_t i = 0; i < window_; ++i) {
      for (const std::uint32_t kernel : window_segment(i)) {
        if (place[kernel] == unknown) {
          place[kernel] = static_cast<std::uint32_t>(result.kernels.size());
          result.kernels.push_back(kernel);
          result.counts.resize(result.counts.size() + window_);
        }
        ++result.counts[place[kernel] * window_ + i];
      }
    }
    return result;
  }

  [[nodiscard]] Launches window_segment(std::size_t i) const {
    return segment(segment_count() - window_ + i);
  }

  // The count that most segments have.
  [[nodiscard]] std::size_t most_frequent(const LaunchCounts& counts, std::size_t kernel) const {
    std::vector<std::uint32_t> values;
    for (std::size_t i = 0; i < window_; ++i)
      values.push_back(counts.at(kernel, i));
    std::sort(values.begin(), values.end());
    std::size_t best = values.front();
    std::size_t most = 0;
    for (std::size_t i = 0; i < values.size();) {
      std::size_t end = i;
      while (end < values.size() && values[end] == values[i])
        ++end;
      if (end - i > most) {
        most = end - i;
        best = values[i];
      }
      i = end;
    }
    return best;
  }

  static std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

  // From the last segment backwards as far as the reading holds.
  [[nodiscard]] std::optional<Cycle> follow_back(Reading reading) {
    std::vector<bool> interrupts(kernel_count_);
    std::vector<std::size_t> regular;      // segments of the run, newest first
    std::vector<std::size_t> interrupted;  // likewise
    std::size_t i = segment_count();
    for (; i > 0; --i) {
      const Kind kind = classify(segment(i - 1), reading, interrupts);
      if (kind == Kind::kOther) break;
      (kind == Kind::kRegular ? regular : interrupted).push_back(i - 1);
    }
    if (regular.empty() || !is_like_an_iteration(reading, regular)) return std::nullopt;
    std::reverse(regular.begin(), regular.end());
    std::reverse(interrupted.begin(), interrupted.end());
    if (!are_evaluations(interrupted, i, regular.size())) return std::nullopt;

    Cycle cycle{.first_segment = i, .regular = regular.size(), .needed = needed_};
    std::vector<std::size_t> lengths;
    std::size_t launches = 0;
    for (const std::size_t r : regular) {
      lengths.push_back(segment(r).size());
      launches += segment(r).size();
    }
    cycle.needed = std::max(cycle.needed, 2 * longest_run_before(i, reading));
    cycle.is_settled = !grows_or_shrinks(lengths);
    const Rare rare = rare_kernels(reading, regular);
    if (rare == Rare::kRegular) return std::nullopt;
    if (rare == Rare::kUndecided) cycle.is_settled = false;
    cycle.length = median(std::move(lengths));
    cycle.steady_share =
        static_cast<double>(reading.steady.size() * regular.size()) / static_cast<double>(launches);
    cycle.steady = std::move(reading.steady);
    cycle.varies = std::move(reading.varies);
    cycle.interrupts = std::move(interrupts);
    return cycle;
  }

  [[nodiscard]] Kind classify(Launches launches, Reading& reading, std::vector<bool>& interrupts) {
    const auto kept = without(launches, reading.varies);
    if (kept == reading.steady) return Kind::kRegular;
    if (is_evaluation(kept, reading, interrupts)) return Kind::kInterrupted;
    if (reading.may_vary && vary_more(kept, reading)) return Kind::kRegular;
    return Kind::kOther;
  }

  // `kept` is the cycle with a block of further launches at one place, most of kernels it knows.
  [[nodiscard]] bool is_evaluation(const std::vector<std::uint32_t>& kept, const Reading& reading,
                                   std::vector<bool>& interrupts) {
    const auto& steady = reading.steady;
    if (kept.size() <= steady.size()) return false;
    const std::size_t inserted = kept.size() - steady.size();
    if (reading.may_vary &&
        static_cast<double>(inserted) < kOtherSegment * static_cast<double>(steady.size()))
      return false;
    const auto head = static_cast<std::size_t>(
        std::mismatch(steady.begin(), steady.end(), kept.begin()).first - steady.begin());
    const auto tail = static_cast<std::size_t>(
        std::mismatch(steady.rbegin(), steady.rend(), kept.rbegin()).first - steady.rbegin());
    if (head + tail < steady.size()) return false;

    const Launches block = Launches(kept).subspan(head, inserted);
    std::size_t known_launches = 0;
    std::size_t known_kernels = 0;
    std::size_t kernels = 0;
    count(steady, 1);
    std::vector<bool> met(kernel_count_);
    for (const std::uint32_t kernel : block) {
      const bool is_known = counts_[kernel] > 0;
      if (is_known) ++known_launches;
      if (met[kernel]) continue;
      met[kernel] = true;
      ++kernels;
      if (is_known) ++known_kernels;
    }
    count(steady, -1);
    if (2 * known_launches < block.size() || 2 * known_kernels < kernels) return false;
    for (const std::uint32_t kernel : block)
      interrupts[kernel] = true;
    return true;
  }

  // Kernels that are launched more or less often in `kept` vary from now on, if they are few and
  // the rest is as before.
  [[nodiscard]] bool vary_more(const std::vector<std::uint32_t>& kept, Reading& reading) {
    count(reading.steady, 1);
    count(kept, -1);
    std::size_t deviation = 0;
    std::vector<std::uint32_t> changed;
    const auto collect = [&](const std::vector<std::uint32_t>& kernels) {
      for (const std::uint32_t kernel : kernels) {
        if (counts_[kernel] == 0) continue;
        deviation += static_cast<std::size_t>(std::abs(counts_[kernel]));
        counts_[kernel] = 0;
        changed.push_back(kernel);
      }
    };
    collect(reading.steady);
    collect(kept);
    if (static_cast<double>(deviation) > kOtherSegment * static_cast<double>(reading.steady.size()))
      return false;
    std::vector<bool> varies = reading.varies;
    for (const std::uint32_t kernel : changed)
      varies[kernel] = true;
    auto steady = without(reading.steady, varies);
    if (steady != without(kept, varies)) return false;
    reading.varies = std::move(varies);
    reading.steady = std::move(steady);
    return true;
  }

  void count(const std::vector<std::uint32_t>& kernels, int by) {
    for (const std::uint32_t kernel : kernels)
      counts_[kernel] += by;
  }

  // An iteration has two kernels at least, and most of its launches do not vary.
  [[nodiscard]] bool is_like_an_iteration(const Reading& reading,
                                          const std::vector<std::size_t>& regular) const {
    const auto& steady = reading.steady;
    if (steady.empty() || are_same(steady)) return false;
    std::size_t launches = 0;
    for (const std::size_t i : regular)
      launches += segment(i).size();
    return static_cast<double>(steady.size() * regular.size()) >=
           kLeastSteadyShare * static_cast<double>(launches);
  }

  static bool are_same(const std::vector<std::uint32_t>& kernels) {
    return std::adjacent_find(kernels.begin(), kernels.end(), std::not_equal_to<>()) ==
           kernels.end();
  }

  // Evaluations come every n iterations.  Interruptions at random are batches of another kind.
  // `first` is the run's first segment, `regular` counts its regular ones.
  static bool are_evaluations(const std::vector<std::size_t>& interrupted, std::size_t first,
                              std::size_t regular) {
    if (interrupted.empty()) return true;
    const std::size_t run = regular + interrupted.size();
    if (static_cast<double>(interrupted.size()) > kMostInterrupted * static_cast<double>(run))
      return false;
    const std::size_t before = interrupted.front() - first + 1;
    const std::size_t behind = first + run - 1 - interrupted.back();
    if (interrupted.size() == 1) return behind < before;
    const auto gaps = gaps_of(interrupted);
    return are_all_equal(gaps) && before <= gaps.front() && behind < gaps.front();
  }

  // Equal segments in a row before the run: a loop that ended, or the micro-steps before an
  // optimizer's step.  The run has to outlast it.
  [[nodiscard]] std::size_t longest_run_before(std::size_t end, const Reading& reading) const {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (std::size_t i = end; i > 0; --i) {
      run = without(segment(i - 1), reading.varies) == reading.steady ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  }

  // Each segment as long as the one before or longer: no iteration yet, but a sequence that grows.
  static bool grows_or_shrinks(const std::vector<std::size_t>& lengths) {
    return lengths.front() != lengths.back() && (std::is_sorted(lengths.begin(), lengths.end()) ||
                                                 std::is_sorted(lengths.rbegin(), lengths.rend()));
  }

  // `places` (ascending, below `end`) may be every k-th one of 0..end-1, for some k.
  static bool fits_a_period(const std::vector<std::size_t>& places, std::size_t end) {
    const auto gaps = gaps_of(places);
    if (gaps.empty()) return true;
    return are_all_equal(gaps) && places.front() < gaps.front() &&
           end - 1 - places.back() < gaps.front();
  }

  enum class Rare : std::uint8_t { kRegular, kUndecided, kIrregular };

  // A kernel that only some segments have is an optimizer's if it comes every k-th time.
  [[nodiscard]] Rare rare_kernels(const Reading& reading,
                                  const std::vector<std::size_t>& regular) const {
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> places;
    for (std::size_t r = 0; r < regular.size(); ++r) {
      for (const std::uint32_t kernel : segment(regular[r])) {
        if (!reading.varies[kernel]) continue;
        auto& of_kernel = places[kernel];
        if (of_kernel.empty() || of_kernel.back() != r) of_kernel.push_back(r);
      }
    }
    Rare result = Rare::kIrregular;
    for (const auto& [kernel, of_kernel] : places) {
      if (static_cast<double>(of_kernel.size()) >
          kOftenPresent * static_cast<double>(regular.size()))
        continue;
      if (!fits_a_period(of_kernel, regular.size())) continue;
      if (of_kernel.size() > 2) return Rare::kRegular;
      result = Rare::kUndecided;
    }
    return result;
  }

  Launches launches_;
  std::span<const std::uint32_t> positions_;
  std::size_t kernel_count_;
  std::vector<int> counts_;  // by kernel; zeros between two uses
  std::size_t needed_ = 0;
  std::size_t window_ = 0;  // last segments that a reading is made from
};

}  // namespace

std::size_t needed_segments(std::size_t length) {
  constexpr std::size_t launches = 4096;
  constexpr std::size_t fewest = 9;
  return std::max((launches + length - 1) / std::max<std::size_t>(length, 1), fewest);
}

std::optional<Cycle> study(Launches launches, std::span<const std::uint32_t> positions,
                           std::size_t kernel_count) {
  Study segments(launches, positions, kernel_count);
  std::optional<Cycle> cycle = segments.repeated();
  if (cycle && cycle->is_proven()) return cycle;
  std::optional<Cycle> other = segments.varying();
  return other && (!cycle || other->is_proven()) ? other : cycle;
}

}  // namespace inline_prof::schedule
