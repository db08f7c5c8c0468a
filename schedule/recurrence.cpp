#include "schedule/recurrence.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace inline_prof::schedule {
namespace {

// Shares and counts that decide.  Chosen so that the programs of iteration_finder_test.cpp are
// found and those without a period are not; none is at its limit there.
constexpr double kLeastSteadyShare = 0.75;      // of an iteration's launches
constexpr double kLeastEvenShare = 0.2;         // the same, where segments are even
constexpr double kOtherSegment = 0.2;           // of a cycle's launches differ: not mere variation
constexpr double kMostInterrupted = 1.0 / 3.0;  // of the segments
constexpr double kOftenPresent = 0.6;     // a kernel in more segments than this is no optimizer's
constexpr std::size_t kMostWindow = 128;  // segments compared launch by launch
// An evaluation has so many launches in a row in common with the iteration: half a layer.
constexpr std::size_t kFewestInCommon = 8;
constexpr std::size_t kEnoughInCommon = 24;

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
  bool may_vary;                // segments that differ a little add to what varies
  std::uint64_t hash = 0;       // of a regular segment, where nothing varies
  std::size_t even_length = 0;  // of all segments, immediate repetitions left out; 0: not even
};

enum class Kind : std::uint8_t { kRegular, kInterrupted, kOther };

// How many launches are left where a group of up to four that is repeated at once counts once.
std::size_t even_length(Launches segment) {
  constexpr std::size_t longest = 4;
  std::vector<std::uint32_t> left;
  left.reserve(segment.size());
  for (const std::uint32_t kernel : segment) {
    left.push_back(kernel);
    for (std::size_t group = 1; group <= longest && 2 * group <= left.size(); ++group) {
      const auto middle = left.end() - static_cast<std::ptrdiff_t>(group);
      if (!std::equal(middle, left.end(), middle - static_cast<std::ptrdiff_t>(group))) continue;
      left.erase(middle, left.end());
      break;
    }
  }
  return left.size();
}

class Study {
 public:
  Study(const LaunchLog& log, std::span<const std::uint32_t> positions, Readings readings,
        Allowance& allowance)
      : log_(log),
        may_be_interrupted_(readings != Readings::kEqualOnly),
        launches_(log.launches()),
        positions_(positions),
        kernel_count_(log.kernel_count()),
        counts_(kernel_count_),
        allowance_(allowance) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = segment_count() - std::min<std::size_t>(segment_count(), 32);
         i < segment_count(); ++i) {
      lengths.push_back(segment(i).size());
    }
    const std::size_t length = median(std::move(lengths));
    weight_ = length;
    for (std::size_t i = segment_count(); i > 0; --i) {
      if (segment(i - 1).size() != length) continue;
      weight_ = log.weight_of(segment(i - 1));
      break;
    }
    needed_ = needed_segments(weight_);
    window_ = std::min(segment_count(), needed_);
    allowance_ -= static_cast<Allowance>(segment_count() + kernel_count_ / 8);
  }

  [[nodiscard]] std::optional<Cycle> repeated() {
    auto reading = equal_segments();
    return reading ? follow_back(std::move(*reading)) : std::nullopt;
  }

  // So many segments are there that it is worth while to look launch by launch.
  [[nodiscard]] bool may_be_proven() const { return segment_count() >= needed_; }

  [[nodiscard]] std::optional<Cycle> varying() {
    window_ = std::min(window_, kMostWindow);
    auto reading = similar_segments();
    return reading ? follow_back(std::move(*reading)) : std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t segment_count() const { return positions_.size() - 1; }
  [[nodiscard]] Launches segment(std::size_t i) const {
    return launches_.subspan(positions_[i], positions_[i + 1] - positions_[i]);
  }
  [[nodiscard]] std::uint64_t hash(std::size_t i) const {
    return log_.hash(positions_[i], positions_[i + 1]);
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
    std::unordered_map<std::uint64_t, std::size_t> times;
    for (std::size_t i = segment_count() - window_; i < segment_count(); ++i) {
      const std::size_t so_far = ++times[hash(i)];
      if (so_far > most) {
        most = so_far;
        best = i;
      }
      if (static_cast<double>(times.size()) > kMostInterrupted * static_cast<double>(window_) + 1)
        return std::nullopt;
    }
    if (static_cast<double>(most) < (1 - kMostInterrupted) * static_cast<double>(window_))
      return std::nullopt;
    const Launches typical = segment(best);
    return Reading{.steady = {typical.begin(), typical.end()},
                   .varies = std::vector<bool>(kernel_count_),
                   .may_vary = false,
                   .hash = hash(best)};
  }

  // The last segments, equal ones once.
  struct Different {
    std::vector<std::size_t> segments;  // the newest of each, ascending
    std::vector<std::size_t> times;
  };

  [[nodiscard]] Different different_segments() const {
    Different result;
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = segment_count(); i > segment_count() - window_; --i) {
      const auto [place, is_new] = places.try_emplace(hash(i - 1), result.segments.size());
      if (is_new) {
        result.segments.push_back(i - 1);
        result.times.push_back(0);
      }
      ++result.times[place->second];
    }
    std::reverse(result.segments.begin(), result.segments.end());
    std::reverse(result.times.begin(), result.times.end());
    return result;
  }

  // How often each kernel is launched in a segment tells which ones vary.
  [[nodiscard]] std::optional<Reading> similar_segments() {
    const Different different = different_segments();
    const std::size_t size = different.segments.size();
    const LaunchCounts counts = count_launches(different);
    const std::size_t kernels = counts.kernels.size();
    std::vector<std::size_t> usual(kernels);
    std::vector<std::size_t> deviations(size);
    std::size_t usual_length = 0;
    for (std::size_t k = 0; k < kernels; ++k) {
      usual[k] =
          most_frequent(different, [&](std::size_t i) -> std::size_t { return counts.at(k, i); });
      usual_length += usual[k];
      for (std::size_t i = 0; i < size; ++i)
        deviations[i] += distance(counts.at(k, i), usual[k]);
    }
    std::vector<std::size_t> even;
    for (const std::size_t i : different.segments)
      even.push_back(even_length(segment(i)));
    const std::size_t usual_even = most_frequent(different, [&](std::size_t i) { return even[i]; });
    const auto is_other = [&](std::size_t i) {
      return even[i] != usual_even &&
             static_cast<double>(deviations[i]) > kOtherSegment * static_cast<double>(usual_length);
    };
    bool all_are_even = true;
    std::size_t others = 0;
    std::size_t newest = size;
    for (std::size_t i = 0; i < size; ++i) {
      if (is_other(i)) {
        others += different.times[i];
      } else {
        newest = i;
        all_are_even = all_are_even && even[i] == usual_even;
      }
    }
    if (newest == size ||
        static_cast<double>(others) > kMostInterrupted * static_cast<double>(window_))
      return std::nullopt;

    Reading reading{.steady = {},
                    .varies = std::vector<bool>(kernel_count_),
                    .may_vary = true,
                    .even_length = all_are_even ? usual_even : 0};
    for (std::size_t k = 0; k < kernels; ++k) {
      for (std::size_t i = 0; i < size; ++i) {
        if (!is_other(i) && counts.at(k, i) != usual[k]) reading.varies[counts.kernels[k]] = true;
      }
    }
    reading.steady = without(segment(different.segments[newest]), reading.varies);
    return reading;
  }

  // Of each kernel in each of some segments.
  struct LaunchCounts {
    std::vector<std::uint32_t> kernels;  // those that occur
    std::vector<std::uint32_t> counts;   // by (kernel, segment)
    std::size_t segments;

    [[nodiscard]] std::uint32_t at(std::size_t kernel, std::size_t segment) const {
      return counts[kernel * segments + segment];
    }
  };

  [[nodiscard]] LaunchCounts count_launches(const Different& different) {
    const std::size_t size = different.segments.size();
    LaunchCounts result{.kernels = {}, .counts = {}, .segments = size};
    constexpr std::uint32_t unknown = UINT32_MAX;
    std::vector<std::uint32_t> place(kernel_count_, unknown);
    for (std::size_t i = 0; i < size; ++i) {
      const Launches launches = segment(different.segments[i]);
      allowance_ -= static_cast<Allowance>(4 * launches.size());
      for (const std::uint32_t kernel : launches) {
        if (place[kernel] == unknown) {
          place[kernel] = static_cast<std::uint32_t>(result.kernels.size());
          result.kernels.push_back(kernel);
          result.counts.resize(result.counts.size() + size);
        }
        ++result.counts[place[kernel] * size + i];
      }
    }
    return result;
  }

  // The value that most segments have.
  template <typename Value>
  static std::size_t most_frequent(const Different& different, const Value& value) {
    std::vector<std::pair<std::size_t, std::size_t>> values;  // and how often it is there
    for (std::size_t i = 0; i < different.segments.size(); ++i)
      values.emplace_back(value(i), different.times[i]);
    std::sort(values.begin(), values.end());
    std::size_t best = values.front().first;
    std::size_t most = 0;
    for (std::size_t i = 0; i < values.size();) {
      std::size_t times = 0;
      const std::size_t one = values[i].first;
      for (; i < values.size() && values[i].first == one; ++i)
        times += values[i].second;
      if (times > most) {
        most = times;
        best = one;
      }
    }
    return best;
  }

  static std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

  // From the last segment backwards as far as the reading holds.
  [[nodiscard]] std::optional<Cycle> follow_back(Reading reading) {
    std::vector<bool> interrupts(kernel_count_);
    std::vector<std::size_t> regular;      // segments of the run, newest first
    std::vector<std::size_t> interrupted;  // likewise
    kinds_.clear();
    std::size_t i = segment_count();
    for (; i > 0; --i) {
      const Kind kind = kind_of(i - 1, reading, interrupts);
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
    cycle.is_settled = !grows_or_shrinks(lengths);
    if (reading.even_length == 0) {
      const Rare rare = rare_kernels(reading, regular);
      if (rare == Rare::kRegular) return std::nullopt;
      if (rare == Rare::kUndecided) cycle.is_settled = false;
    }
    cycle.is_even = reading.even_length != 0;
    cycle.length = reading.may_vary ? median(std::move(lengths)) : weight_;
    cycle.steady_share =
        static_cast<double>(reading.steady.size() * regular.size()) / static_cast<double>(launches);
    if (interrupted.size() > 1) {
      cycle.with_evaluation = positions_[interrupted[1]] - positions_[interrupted[0]];
    }
    const std::size_t structured = needed_structured_segments(weight_);
    if (!reading.may_vary && regular.size() >= structured) {
      cycle.inner_length = inner_length(reading.steady);
      const bool is_structured = cycle.inner_length != 0 || has_one_wait_each(regular) ||
                                 weight_ > segment(regular.back()).size();
      if (is_structured && i <= 2 && log_.dropped() == 0)
        cycle.needed = std::min(cycle.needed, structured);
    }
    cycle.needed = std::max(cycle.needed, 2 * longest_run_before(i, reading));
    cycle.steady = std::move(reading.steady);
    cycle.varies = std::move(reading.varies);
    cycle.interrupts = std::move(interrupts);
    return cycle;
  }

  // Equal segments are looked into once.
  [[nodiscard]] Kind kind_of(std::size_t i, Reading& reading, std::vector<bool>& interrupts) {
    const std::uint64_t key = hash(i);
    if (!reading.may_vary && key == reading.hash) return Kind::kRegular;
    if (const auto known = kinds_.find(key); known != kinds_.end()) return known->second;
    allowance_ -= static_cast<Allowance>(2 * segment(i).size());
    const std::size_t steady = reading.steady.size();
    const Kind kind = classify(segment(i), reading, interrupts);
    // More varies now than before: other segments are seen with new eyes.
    if (reading.steady.size() != steady) kinds_.clear();
    return kinds_.insert_or_assign(key, kind).first->second;
  }

  // The host waits before one launch of each, and always before the same.
  [[nodiscard]] bool has_one_wait_each(const std::vector<std::size_t>& segments) const {
    const auto waits = log_.waits();
    auto wait = std::lower_bound(waits.begin(), waits.end(), positions_[segments.front()]);
    std::optional<std::size_t> offset;
    for (const std::size_t i : segments) {
      while (wait != waits.end() && *wait < positions_[i])
        ++wait;
      if (wait == waits.end() || *wait >= positions_[i + 1]) return false;
      if (offset && *offset != *wait - positions_[i]) return false;
      offset = *wait - positions_[i];
      ++wait;
      if (wait != waits.end() && *wait < positions_[i + 1]) return false;
    }
    return true;
  }

  // The largest part that comes three times in a row or more and is a good part of the cycle.
  [[nodiscard]] std::size_t inner_length(const std::vector<std::uint32_t>& steady) {
    constexpr std::size_t tried = 12;
    std::unordered_map<std::uint32_t, std::pair<std::size_t, std::map<std::size_t, int>>> gaps;
    for (std::size_t i = 0; i < steady.size(); ++i) {
      auto& [last, of_kernel] =
          gaps.try_emplace(steady[i], i, std::map<std::size_t, int>()).first->second;
      if (i != last) ++of_kernel[i - last];
      last = i;
    }
    std::set<std::size_t, std::greater<>> lengths;
    for (const auto& [kernel, entry] : gaps) {
      const auto most =
          std::max_element(entry.second.begin(), entry.second.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most != entry.second.end() && most->first > 1) lengths.insert(most->first);
    }
    std::size_t left = tried;
    for (const std::size_t length : lengths) {
      if (left-- == 0) break;
      allowance_ -= static_cast<Allowance>(steady.size());
      std::size_t run = 0;
      std::size_t longest = 0;
      for (std::size_t i = length; i < steady.size(); ++i) {
        run = steady[i] == steady[i - length] ? run + 1 : 0;
        longest = std::max(longest, run);
      }
      if (longest >= 2 * length && 3 * (longest + length) >= steady.size()) return length;
    }
    return 0;
  }

  [[nodiscard]] Kind classify(Launches launches, Reading& reading, std::vector<bool>& interrupts) {
    const auto kept = without(launches, reading.varies);
    if (kept == reading.steady) return Kind::kRegular;
    if (may_be_interrupted_ && is_evaluation(kept, reading, interrupts)) return Kind::kInterrupted;
    const bool is_even = reading.even_length != 0 && even_length(launches) == reading.even_length;
    if (reading.may_vary && vary_more(kept, reading, is_even)) return Kind::kRegular;
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
    if (!has_stretch_of(block, steady)) return false;
    for (const std::uint32_t kernel : block)
      interrupts[kernel] = true;
    return true;
  }

  // A long one that both have.  A network's head, or its optimizer's step, has none of its blocks'.
  static bool has_stretch_of(Launches block, Launches steady) {
    const std::size_t length = std::clamp(steady.size() / 4, kFewestInCommon, kEnoughInCommon);
    if (block.size() < length || steady.size() < length || 5 * block.size() < steady.size())
      return false;
    const auto hash = [&](Launches launches, std::size_t begin) {
      std::uint64_t value = 0;
      for (const std::uint32_t kernel : launches.subspan(begin, length))
        value = (value ^ (kernel + 1)) * 0x100000001b3U;  // FNV-1a's prime
      return value;
    };
    std::vector<std::uint64_t> of_block;
    for (std::size_t i = 0; i + length <= block.size(); i += length)
      of_block.push_back(hash(block, i));
    std::sort(of_block.begin(), of_block.end());
    for (std::size_t i = 0; i + length <= steady.size(); ++i) {
      if (std::binary_search(of_block.begin(), of_block.end(), hash(steady, i))) return true;
    }
    return false;
  }

  // Kernels that are launched more or less often in `kept` vary from now on, if they are few and
  // the rest is as before.
  [[nodiscard]] bool vary_more(const std::vector<std::uint32_t>& kept, Reading& reading,
                               bool is_even) {
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
    if (!is_even &&
        static_cast<double>(deviation) > kOtherSegment * static_cast<double>(reading.steady.size()))
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
    if (steady.empty()) return false;
    if (are_same(steady) && log_.weight(steady.front()) == 1) return false;
    std::size_t launches = 0;
    for (const std::size_t i : regular)
      launches += segment(i).size();
    const double least = reading.even_length == 0 ? kLeastSteadyShare : kLeastEvenShare;
    return static_cast<double>(steady.size() * regular.size()) >=
           least * static_cast<double>(launches);
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
  [[nodiscard]] std::size_t longest_run_before(std::size_t end, const Reading& reading) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (std::size_t i = end; i > 0; --i) {
      run = equals(i - 1, reading) ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  }

  [[nodiscard]] bool equals(std::size_t i, const Reading& reading) {
    const std::uint64_t key = hash(i);
    if (!reading.may_vary) return key == reading.hash;
    const auto [known, is_new] = kinds_.try_emplace(key, Kind::kOther);
    if (is_new) {
      allowance_ -= static_cast<Allowance>(segment(i).size());
      if (without(segment(i), reading.varies) == reading.steady) known->second = Kind::kRegular;
    }
    return known->second == Kind::kRegular;
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
                                  const std::vector<std::size_t>& all_regular) const {
    const std::span<const std::size_t> regular =
        std::span(all_regular).last(std::min(all_regular.size(), kMostWindow));
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

  const LaunchLog& log_;
  bool may_be_interrupted_;
  Launches launches_;
  std::span<const std::uint32_t> positions_;
  std::size_t kernel_count_;
  std::vector<int> counts_;  // by kernel; zeros between two uses
  std::size_t needed_ = 0;
  std::size_t window_ = 0;  // last segments that a reading is made from
  std::size_t weight_ = 0;  // launches of a usual segment, those of graphs included
  std::unordered_map<std::uint64_t, Kind> kinds_{};  // by segment's hash
  Allowance& allowance_;
};

}  // namespace

std::size_t needed_segments(std::size_t length) {
  constexpr std::size_t launches = 4096;
  constexpr std::size_t fewest = 9;
  return std::max((launches + length - 1) / std::max<std::size_t>(length, 1), fewest);
}

std::size_t needed_structured_segments(std::size_t length) {
  constexpr std::size_t launches = 2048;
  if (length >= 2 * launches) return 4;
  return std::max<std::size_t>((launches + length - 1) / std::max<std::size_t>(length, 1), 9);
}

std::optional<Cycle> study(const LaunchLog& log, std::span<const std::uint32_t> positions,
                           Readings readings, Allowance& allowance) {
  Study segments(log, positions, readings, allowance);
  std::optional<Cycle> cycle = segments.repeated();
  if (readings != Readings::kAll || allowance < 0 || !segments.may_be_proven() ||
      (cycle && (cycle->is_settled || cycle->is_proven()))) {
    return cycle;
  }
  std::optional<Cycle> other = segments.varying();
  return other && (!cycle || other->is_proven()) ? other : cycle;
}

}  // namespace inline_prof::schedule
