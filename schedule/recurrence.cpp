#include "schedule/recurrence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace inline_prof::schedule {
namespace {

// Limits of the decisions. Chosen so that the programs of iteration_finder_test.cpp are found and
// those without a period are not; none is at its limit there.
constexpr double kLeastSteadyShare = 0.75;      // of an iteration's launches
constexpr double kLeastEvenShare = 0.2;         // the same, where segments are even
constexpr double kOtherSegment = 0.2;           // of a cycle's launches differ: not mere variation
constexpr double kMostInterrupted = 1.0 / 3.0;  // of the segments
constexpr double kMostEvaluations = 1.0 / 4.0;  // likewise, by evaluations
constexpr double kMostBetweenUpdates = 0.55;    // likewise, where each other one updates parameters
constexpr double kMostlyInside = 0.5;           // of the launches are in the cycle
constexpr double kMostlyTheSame = 0.95;         // of an iteration's launches do not vary
constexpr double kMostForeign = 0.25;           // of an evaluation's launches: metrics, logs
constexpr std::size_t kFewestOfWaits = 16;      // launches that a wait makes an iteration
constexpr std::size_t kFewestRegular = 3;       // interruptions, to be called regular
constexpr double kUsualUpdates = 0.9;      // of the segments update: a gradient scaler skips few
constexpr double kOftenPresent = 0.6;      // a kernel in more segments than this is no optimizer's
constexpr std::size_t kMoreThanACopy = 8;  // kernels: a copy with a change of type has fewer
constexpr std::size_t kMoreThanALayer =
    24;                                   // kernels: a layer's forward or backward pass has fewer
constexpr std::size_t kMostWindow = 128;  // segments compared launch by launch
// An optimizer's step has this many launches besides, at least, where gradients are computed.
constexpr std::size_t kFewestBesideUpdates = 8;

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

// Counts how often each value was added. Few of them differ, as a rule.
class ValueCounts {
 public:
  struct Entry {
    std::uint64_t value = 0;
    std::size_t count = 0;
  };

  // Returns the value's place, in the order in which they were first added.
  std::size_t add(std::uint64_t value, std::size_t times = 1) {
    auto known =
        std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.value == value; });
    if (known == entries_.end()) known = entries_.insert(known, {.value = value});
    known->count += times;
    return static_cast<std::size_t>(known - entries_.begin());
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_{};
};

// A reading of the segments: what is steady, what varies.
struct Reading {
  std::vector<std::uint32_t> steady;
  std::vector<bool> varies;
  std::size_t newest = 0;       // usual segment, where launches vary
  bool may_vary;                // segments that differ a little add to what varies
  std::uint64_t hash = 0;       // of a regular segment, where nothing varies
  std::size_t waits = 0;        // of the host, in a usual segment
  std::size_t turns = 0;        // of the thread, likewise
  bool updates = false;         // parameters, in a usual segment
  bool reduces = false;         // ranks add up gradients in a usual segment
  std::size_t even_length = 0;  // of all segments, immediate repetitions left out; 0: not even
};

enum class Kind : std::uint8_t { kRegular, kInterrupted, kVariant, kOther };

// Returns the segment with each group of up to four launches that is repeated at once counted once.
// `places`, if given, are those of its launches in the segment.
std::vector<std::uint32_t> even_form(Launches segment, std::vector<std::size_t>* places = nullptr) {
  constexpr std::size_t longest = 4;
  std::vector<std::uint32_t> left(segment.size());
  if (places != nullptr) places->resize(segment.size());
  std::size_t size = 0;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    const std::uint32_t kernel = segment[at];
    const std::uint32_t* const end = left.data() + size;
    if (places != nullptr) (*places)[size] = at;
    left[size++] = kernel;
    const std::size_t most = std::min(longest, size / 2);
    for (std::size_t group = 1; group <= most; ++group) {
      if (end[-static_cast<std::ptrdiff_t>(group)] != kernel ||
          !std::equal(end - group + 1, end, end - 2 * group + 1))
        continue;
      size -= group;
      break;
    }
  }
  left.resize(size);
  if (places != nullptr) places->resize(size);
  return left;
}

std::size_t even_length(Launches segment) {
  return even_form(segment).size();
}

// Returns true if the parts are equal except for some launches, each another kernel at the same
// place: variants of one for data that lie differently in memory, say, which alternate.
bool is_made_of_variants(Launches launches) {
  constexpr std::size_t most_parts = 16;
  constexpr std::size_t shortest_part = 16;
  constexpr std::size_t one_differs_of = 16;
  std::vector<std::size_t> places;
  const std::vector<std::uint32_t> even = even_form(launches, &places);
  places.push_back(launches.size());
  for (std::size_t parts = 2; parts <= most_parts; ++parts) {
    const std::size_t length = even.size() / parts;
    if (length < shortest_part) return false;
    if (even.size() % parts != 0) continue;
    const auto size_of = [&](std::size_t part) {
      return places[(part + 1) * length] - places[part * length];
    };
    std::size_t most = 0;  // launches of a part that differ
    for (std::size_t part = 1; part < parts; ++part) {
      // A part that repeats more may update the parameters.
      std::size_t different =
          std::max(size_of(part), size_of(0)) - std::min(size_of(part), size_of(0));
      for (std::size_t i = 0; i < length; ++i)
        different += even[i] != even[part * length + i] ? 1U : 0U;
      most = std::max(most, different);
    }
    if (one_differs_of * most <= length) return true;
  }
  return false;
}

// Launches in a row that tell whether kernels come in the same order.
constexpr std::size_t kFourInARow = 4;

std::uint64_t hash_of_four(Launches launches, std::size_t begin) {
  std::uint64_t hash = 0;
  for (const std::uint32_t kernel : launches.subspan(begin, kFourInARow))
    hash = (hash + kernel + 1) * HashBase::kValue;
  return hash;
}

class Study {
 public:
  Study(const LaunchLog& log, std::span<const std::uint32_t> positions, Readings readings,
        Allowance& allowance)
      : log_(log),
        may_be_interrupted_(readings != Readings::kEqualOnly),
        are_between_waits_(readings == Readings::kBetweenWaits),
        launches_(log.launches()),
        positions_(positions),
        kernel_count_(log.kernel_count()),
        allowance_(allowance) {
    std::array<std::size_t, 32> lengths{};
    const std::size_t looked_at = std::min(segment_count(), lengths.size());
    for (std::size_t i = 0; i < looked_at; ++i)
      lengths[i] = segment(segment_count() - looked_at + i).size();
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(looked_at / 2);
    std::nth_element(lengths.begin(), middle,
                     lengths.begin() + static_cast<std::ptrdiff_t>(looked_at));
    const std::size_t length = *middle;
    weight_ = length;
    length_ = length;
    for (std::size_t i = segment_count(); i > 0; --i) {
      if (segment(i - 1).size() != length) continue;
      weight_ = log.weight_of(segment(i - 1));
      break;
    }
    needed_ = needed_segments(weight_);
    fewest_ = log.is_paced() ? needed_paced_segments(weight_) : needed_structured_segments(weight_);
    window_ = std::min(segment_count(), needed_);
    allowance_ -= static_cast<Allowance>(segment_count() + kernel_count_ / 8);
  }

  [[nodiscard]] std::optional<Cycle> repeated() {
    auto reading = equal_segments();
    return reading ? follow_back(std::move(*reading)) : std::nullopt;
  }

  // Returns true if there are enough segments to compare them launch by launch.
  [[nodiscard]] bool may_be_proven() const { return segment_count() >= fewest_; }

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

  // Takes the segment that most of the last ones equal.
  [[nodiscard]] std::optional<Reading> equal_segments() const {
    std::size_t best = 0;
    std::size_t most = 0;
    ValueCounts times;
    for (std::size_t i = segment_count() - window_; i < segment_count(); ++i) {
      const std::size_t so_far = times.entries()[times.add(hash(i))].count;
      if (so_far > most) {
        most = so_far;
        best = i;
      }
      if (static_cast<double>(times.entries().size()) >
          kMostInterrupted * static_cast<double>(window_) + 1)
        return std::nullopt;
    }
    const Launches typical = segment(best);
    const double most_others = is_step(typical) ? kMostBetweenUpdates : kMostInterrupted;
    if (static_cast<double>(most) < (1 - most_others) * static_cast<double>(window_))
      return std::nullopt;
    return Reading{.steady = {typical.begin(), typical.end()},
                   .varies = std::vector<bool>(kernel_count_),
                   .may_vary = false,
                   .hash = hash(best),
                   .waits = waits_in(best),
                   .turns = places_in(log_.turns(), best),
                   .updates = is_step(typical),
                   .reduces = places_in(log_.reductions(), best) != 0};
  }

  // The last segments, equal ones once.
  struct Different {
    std::vector<std::size_t> segments;  // the newest of each, ascending
    std::vector<std::size_t> times;
  };

  [[nodiscard]] Different different_segments() const {
    Different result;
    ValueCounts counts;
    for (std::size_t i = segment_count(); i > segment_count() - window_; --i) {
      if (counts.add(hash(i - 1)) == result.segments.size()) result.segments.push_back(i - 1);
    }
    for (const ValueCounts::Entry& entry : counts.entries())
      result.times.push_back(entry.count);
    std::ranges::reverse(result.segments);
    std::ranges::reverse(result.times);
    return result;
  }

  // Counts each kernel's launches in a segment: these tell which kernels vary.
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
      return even[i] != usual_even && !is_between_waits(segment(different.segments[i])) &&
             static_cast<double>(deviations[i]) > kOtherSegment * static_cast<double>(usual_length);
    };
    bool all_are_even = true;
    std::size_t others = 0;
    std::vector<std::size_t> usual_ones;  // of `different`
    for (std::size_t i = 0; i < size; ++i) {
      if (is_other(i)) {
        others += different.times[i];
      } else {
        usual_ones.push_back(i);
        all_are_even = all_are_even && even[i] == usual_even;
      }
    }
    if (usual_ones.empty() ||
        static_cast<double>(others) > kMostInterrupted * static_cast<double>(window_))
      return std::nullopt;

    const std::size_t newest = different.segments[usual_ones.back()];
    Reading reading{.steady = {},
                    .varies = std::vector<bool>(kernel_count_),
                    .newest = newest,
                    .may_vary = true,
                    .waits = waits_in(newest),
                    .turns = places_in(log_.turns(), newest),
                    .updates = is_step(segment(newest)),
                    .reduces = places_in(log_.reductions(), newest) != 0,
                    .even_length = all_are_even ? usual_even : 0};
    for (std::size_t k = 0; k < kernels; ++k) {
      reading.varies[counts.kernels[k]] = std::ranges::any_of(
          usual_ones, [&](std::size_t i) { return counts.at(k, i) != usual[k]; });
    }
    reading.steady = without(segment(newest), reading.varies);
    return reading;
  }

  // The launches of each kernel in each of some segments.
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

  // Returns the value that most segments have, the least of several; few values differ, as a rule.
  template <typename Value>
  [[nodiscard]] std::size_t most_frequent(const Different& different, const Value& value) {
    const std::size_t first = value(0);
    std::size_t equal = 1;
    while (equal < different.segments.size() && value(equal) == first)
      ++equal;
    if (equal == different.segments.size()) return first;
    values_.clear();
    for (std::size_t i = 0; i < different.segments.size(); ++i)
      values_.add(value(i), different.times[i]);
    return std::ranges::min_element(values_.entries(),
                                    [](const auto& a, const auto& b) {
                                      return std::pair(b.count, a.value) <
                                             std::pair(a.count, b.value);
                                    })
        ->value;
  }

  [[nodiscard]] bool is_between_waits(Launches launches) const {
    return are_between_waits_ && 2 * launches.size() >= length_ && launches.size() <= 2 * length_;
  }

  static std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

  // Follows the segments from the last one backwards as far as the reading holds.
  [[nodiscard]] std::optional<Cycle> follow_back(Reading reading) {
    std::vector<bool> interrupts(kernel_count_);
    std::vector<std::size_t> regular;  // segments of the run, newest first
    regular.reserve(segment_count());
    std::vector<std::size_t> interrupted;  // likewise
    std::vector<std::size_t> variants;     // likewise
    kinds_.clear();
    std::size_t i = segment_count();
    for (; i > 0; --i) {
      const Kind kind = kind_of(i - 1, reading, interrupts);
      if (kind == Kind::kOther) break;
      auto& places = kind == Kind::kRegular   ? regular
                     : kind == Kind::kVariant ? variants
                                              : interrupted;
      places.push_back(i - 1);
    }
    // The end of the set-up may look like one, too.
    const auto is_oldest = [&](const auto& places) {
      return !places.empty() && places.back() == i;
    };
    for (; is_oldest(interrupted) || is_oldest(variants); ++i)
      (is_oldest(variants) ? variants : interrupted).pop_back();
    if (variants.size() > 2 && are_all_equal(gaps_of(variants))) return std::nullopt;
    if (regular.empty() || !is_like_an_iteration(reading, regular)) return std::nullopt;
    if (regular.size() >= fewest_ && are_made_of_variants(regular)) return std::nullopt;
    std::ranges::reverse(regular);
    std::ranges::reverse(interrupted);
    // Several equal gaps are those of a longer iteration.
    const double most_evaluations = reading.updates ? kMostBetweenUpdates : kMostEvaluations;
    const bool is_at_random = !are_evaluations(interrupted, i, regular.size(), most_evaluations);
    const bool may_be_at_random = reading.updates && !reading.may_vary;
    if (is_at_random && !may_be_at_random &&
        (reading.may_vary || regular.size() < fewest_ ||
         (interrupted.size() > 2 && are_all_equal(gaps_of(interrupted))) ||
         static_cast<double>(interrupted.size()) >
             kMostEvaluations * static_cast<double>(segment_count() - i)))
      return std::nullopt;
    if (waits_only_in(interrupted, regular)) return std::nullopt;

    const bool has_regular_notes = !reading.updates && are_notes_regular(regular, reading);

    Cycle cycle{.first_segment = i, .regular = regular.size(), .needed = needed_};
    std::vector<std::size_t> lengths;
    lengths.reserve(regular.size());
    std::size_t launches = 0;
    const std::size_t steady_weight = log_.weight_of(reading.steady);
    for (const std::size_t r : regular) {
      const bool is_usual = !reading.may_vary && hash(r) == reading.hash;
      lengths.push_back(is_usual ? steady_weight : log_.weight_of(segment(r)));
      launches += lengths.back();
    }
    cycle.is_settled = !reading.may_vary || !grows_or_shrinks(lengths);
    if (reading.may_vary) {
      const Rare rare = rare_kernels(reading, regular);
      if (rare == Rare::kRegular) return std::nullopt;
      if (rare == Rare::kUndecided) cycle.is_settled = false;
      cycle.may_be_part = rare == Rare::kDoubtful;
    }
    cycle.is_even = reading.even_length != 0;
    cycle.length = reading.may_vary ? median(std::move(lengths)) : weight_;
    cycle.steady_share =
        static_cast<double>(steady_weight * regular.size()) / static_cast<double>(launches);
    for (const std::size_t v : variants)
      launches += log_.weight_of(segment(v));
    const double regular_share =
        static_cast<double>(launches) / static_cast<double>(log_.weight_of(launches_.subspan(
                                            positions_[i], positions_.back() - positions_[i])));
    if (interrupted.size() > 1) {
      cycle.with_evaluation = positions_[interrupted[1]] - positions_[interrupted[0]];
    }
    // A loop over layers makes nothing but launches, and the head comes behind it. A solver's host
    // waits for the residual of each of its few launches.
    const bool is_told_by_launches_alone = !reading.updates && !reading.reduces &&
                                           reading.turns == 0 &&
                                           (reading.waits == 0 || weight_ < kFewestOfWaits);
    // Evaluations come regularly, or seldom: others may begin iterations with data of another kind.
    const bool may_begin_some = is_at_random && interrupted.size() >= kFewestRegular &&
                                10 * interrupted.size() > regular.size() &&
                                !are_all_equal(gaps_of(interrupted));
    cycle.may_be_part =
        cycle.may_be_part || may_begin_some || has_regular_notes || regular_share < kMostlyInside ||
        (is_told_by_launches_alone && interrupted.size() >= kFewestRegular) ||
        (reading.turns != 0 && !reading.updates &&
         (interrupted.size() >= kFewestRegular || cycle.steady_share < kMostlyTheSame)) ||
        begins_with_interruption(interrupted, i, reading);
    if (may_end_an_iteration(interrupted, regular, reading)) {
      // An optimizer's steps with as much between them, and as regularly.
      if (reading.updates && regular_share < kMostlyInside) return std::nullopt;
      cycle.may_be_part = cycle.may_be_part || !reading.updates;
    }
    if (regular.size() >= fewest_) {
      cycle.waits = common_places(log_.waits(), regular, reading);
      if (!reading.may_vary) look_inside(cycle, reading.steady);
      if (is_at_random && !may_be_at_random && cycle.waits.empty() && cycle.inner_length == 0)
        return std::nullopt;
      if (i <= 2 && log_.dropped() == 0)
        cycle.needed = std::min(cycle.needed, needed_of(cycle, regular, reading));
    }
    const std::size_t outlasted = 2 * longest_run_before(i, reading);
    cycle.needed = std::max(cycle.needed, outlasted);
    cycle.needed_soonest =
        regular.size() < fewest_ && i <= 2 ? std::max(fewest_, outlasted) : cycle.needed;
    cycle.steady = std::move(reading.steady);
    cycle.varies = std::move(reading.varies);
    cycle.interrupts = std::move(interrupts);
    return cycle;
  }

  // Classifies a segment; equal ones are examined once.
  [[nodiscard]] Kind kind_of(std::size_t i, Reading& reading, std::vector<bool>& interrupts) {
    const std::uint64_t key = hash(i);
    if (!reading.may_vary && key == reading.hash) return Kind::kRegular;
    if (const auto known = kinds_.find(key); known != kinds_.end()) return known->second;
    allowance_ -= static_cast<Allowance>(2 * segment(i).size());
    const std::size_t steady = reading.steady.size();
    const Kind kind = has_note(i, reading) ? Kind::kRegular : classify(i, reading, interrupts);
    // More kernels vary now, so earlier answers may be wrong.
    if (reading.steady.size() != steady) kinds_.clear();
    return kinds_.insert_or_assign(key, kind).first->second;
  }

  // Returns true if much of what interrupts the cycle is of kernels that the cycle has not, though
  // an evaluation's are those of forward passes, and if it comes as regularly as the end of an
  // iteration of several cycles, or the cycle trains without a known optimizer.
  [[nodiscard]] bool may_end_an_iteration(const std::vector<std::size_t>& interrupted,
                                          const std::vector<std::size_t>& regular,
                                          const Reading& reading) {
    if (interrupted.empty()) return false;
    const bool is_regular =
        interrupted.size() >= kFewestRegular && are_all_equal(gaps_of(interrupted));
    if (!is_regular && (reading.updates || places_in(log_.turns(), regular.back()) == 0))
      return false;
    std::size_t block = 0;
    std::size_t foreign = 0;
    count(reading.steady, 1);
    for (const std::size_t i : interrupted) {
      for (const std::uint32_t kernel : segment(i))
        foreign += counts_[kernel] == 0 && !reading.varies[kernel] ? 1U : 0U;
      block += segment(i).size() - std::min(reading.steady.size(), segment(i).size());
    }
    count(reading.steady, -1);
    allowance_ -= static_cast<Allowance>(block + interrupted.size() * reading.steady.size());
    return static_cast<double>(foreign) > kMostForeign * static_cast<double>(block);
  }

  // Returns true if what interrupts the cycle every few segments is longer than some of them and
  // came before the first one: a policy plays before it is trained, and both are an iteration.
  [[nodiscard]] bool begins_with_interruption(const std::vector<std::size_t>& interrupted,
                                              std::size_t first, const Reading& reading) {
    constexpr std::size_t compared = 8;
    constexpr std::size_t most_segments = 64;
    if (interrupted.size() < 2 || log_.dropped() != 0 || reading.may_vary) return false;
    const auto gaps = gaps_of(interrupted);
    const Launches launches = segment(interrupted.front());
    const auto& steady = reading.steady;
    if (gaps.front() > most_segments || !are_all_equal(gaps) || launches.size() < 3 * steady.size())
      return false;
    const auto head = static_cast<std::size_t>(
        std::mismatch(steady.begin(), steady.end(), launches.begin()).first - steady.begin());
    const std::size_t begin = positions_[interrupted.front()] + head;
    const std::size_t end = begin + launches.size() - steady.size();
    const std::size_t middle = begin + (end - begin) / 2;
    const std::uint64_t hash = log_.hash(middle, middle + compared);
    const auto times_in = [&](std::size_t from, std::size_t to) {
      std::size_t times = 0;
      for (std::size_t i = from; i + compared <= to; ++i)
        times += log_.hash(i, i + compared) == hash ? 1U : 0U;
      return times;
    };
    allowance_ -= static_cast<Allowance>(end - begin + positions_[first]);
    return 2 * times_in(0, positions_[first]) >= times_in(begin, end);
  }

  // Returns the segments needed of a cycle that has come since its anchor was first launched.
  [[nodiscard]] std::size_t needed_of(const Cycle& cycle, const std::vector<std::size_t>& regular,
                                      const Reading& reading) {
    const std::size_t kernels = kernels_of(reading.steady);
    const bool is_paced =
        !cycle.waits.empty() || !common_places(log_.turns(), regular, reading).empty();
    if (is_paced && kernels >= kMoreThanACopy) return needed_paced_segments(weight_);
    const bool is_structured = is_paced || (!reading.may_vary && (cycle.inner_length != 0 ||
                                                                  weight_ > reading.steady.size() ||
                                                                  kernels >= kMoreThanALayer));
    return is_structured ? needed_structured_segments(weight_) : needed_;
  }

  // Returns true for a regular segment in which the host reads something more, such as the mean of
  // the losses every ten iterations.
  [[nodiscard]] bool has_note(std::size_t i, const Reading& reading) const {
    constexpr std::size_t longest_note = 4;  // kernels
    const Launches launches = segment(i);
    const auto& steady = reading.steady;
    if (reading.may_vary || launches.size() <= steady.size()) return false;
    const std::size_t inserted = launches.size() - steady.size();
    if (inserted > longest_note) return false;
    const auto head = static_cast<std::size_t>(
        std::mismatch(steady.begin(), steady.end(), launches.begin()).first - steady.begin());
    if (!std::equal(steady.begin() + static_cast<std::ptrdiff_t>(head), steady.end(),
                    launches.begin() + static_cast<std::ptrdiff_t>(head + inserted)))
      return false;
    const Launches note = launches.subspan(head, inserted);
    const std::size_t kernels = log_.weight_of(note);
    if (kernels > longest_note || 25 * kernels > log_.weight_of(steady) || updates(note))
      return false;
    const auto waits = log_.waits();
    // A number is read behind its launches; what is behind a wait is the work on further data.
    const auto wait = std::upper_bound(waits.begin(), waits.end(), positions_[i] + head);
    return wait != waits.end() && *wait <= positions_[i] + head + inserted;
  }

  // Returns true if notes come at equal distances: they may be what ends a longer iteration.
  [[nodiscard]] bool are_notes_regular(const std::vector<std::size_t>& regular,
                                       const Reading& reading) const {
    if (reading.may_vary) return false;
    std::vector<std::size_t> notes;
    for (const std::size_t r : regular) {
      if (hash(r) != reading.hash) notes.push_back(r);
    }
    return notes.size() >= kFewestRegular && are_all_equal(gaps_of(notes));
  }

  // Examines the newest ones, of which one may lack a launch.
  [[nodiscard]] bool are_made_of_variants(const std::vector<std::size_t>& regular) const {
    if (is_made_of_variants(segment(regular[0]))) return true;
    return regular.size() > 1 && hash(regular[1]) != hash(regular[0]) &&
           is_made_of_variants(segment(regular[1]));
  }

  [[nodiscard]] bool updates(Launches launches) const {
    return std::ranges::any_of(launches,
                               [&](std::uint32_t kernel) { return log_.updates(kernel); });
  }
  // Returns true for launches that update parameters, and compute what these are updated by.
  [[nodiscard]] bool is_step(Launches launches) const {
    const auto updates = static_cast<std::size_t>(std::ranges::count_if(
        launches, [&](std::uint32_t kernel) { return log_.updates(kernel); }));
    return updates > 0 && log_.weight_of(launches) >= updates + kFewestBesideUpdates;
  }
  [[nodiscard]] std::size_t waits_in(std::size_t i) const { return places_in(log_.waits(), i); }
  // Counts those of `places` that are in segment `i`.
  [[nodiscard]] std::size_t places_in(std::span<const std::uint32_t> places, std::size_t i) const {
    const auto first = std::lower_bound(places.begin(), places.end(), positions_[i]);
    return static_cast<std::size_t>(std::lower_bound(first, places.end(), positions_[i + 1]) -
                                    first);
  }

  // Host activity once per outer period tells that the inner periods are its parts.
  [[nodiscard]] bool waits_only_in(const std::vector<std::size_t>& interrupted,
                                   const std::vector<std::size_t>& regular) const {
    const auto has_waits = [&](std::size_t i) { return waits_in(i) != 0; };
    return interrupted.size() > 1 && std::ranges::all_of(interrupted, has_waits) &&
           std::ranges::none_of(regular, has_waits);
  }

  // Returns each kernel once.
  [[nodiscard]] std::vector<std::uint32_t> kernels_in(
      const std::vector<std::uint32_t>& launches) const {
    std::vector<bool> met(kernel_count_);
    std::vector<std::uint32_t> kernels;
    for (const std::uint32_t kernel : launches) {
      if (!met[kernel]) kernels.push_back(kernel);
      met[kernel] = true;
    }
    return kernels;
  }
  // Counts them, those of graphs included.
  [[nodiscard]] std::size_t kernels_of(const std::vector<std::uint32_t>& launches) const {
    return log_.weight_of(kernels_in(launches));
  }

  // Returns the places of waits of the host, or of changes back to the first thread, that most of
  // the last segments share; an evaluation may have its own.
  [[nodiscard]] std::vector<std::size_t> common_places(std::span<const std::uint32_t> places,
                                                       const std::vector<std::size_t>& regular,
                                                       const Reading& reading) {
    constexpr std::size_t looked_at = 12;
    if (places.empty() || places.back() < positions_[regular.front()]) return {};
    const std::size_t size = std::min(looked_at, regular.size());
    std::map<std::size_t, std::size_t> times;
    for (const std::size_t i : std::span(regular).last(size)) {
      auto place = std::lower_bound(places.begin(), places.end(), positions_[i]);
      if (place == places.end() || *place >= positions_[i + 1]) continue;
      if (!reading.may_vary) {
        for (; place != places.end() && *place < positions_[i + 1]; ++place) {
          if (!log_.is_by_other_thread(*place))
            ++times[(*place - positions_[i]) % reading.steady.size()];
        }
        continue;
      }
      allowance_ -= static_cast<Allowance>(segment(i).size() / 4);
      std::size_t steady = 0;
      for (std::size_t launch = positions_[i]; launch < positions_[i + 1]; ++launch) {
        if (place != places.end() && *place == launch) {
          if (!log_.is_by_other_thread(launch)) ++times[steady % reading.steady.size()];
          ++place;
        }
        if (!reading.varies[launches_[launch]]) ++steady;
      }
    }
    std::vector<std::size_t> result;
    for (const auto& [steady, seen] : times) {
      if (4 * seen >= 3 * size) result.push_back(steady);
    }
    return result;
  }

  // Finds the largest part that comes three times in a row or more and is a good part of the cycle.
  void look_inside(Cycle& cycle, const std::vector<std::uint32_t>& steady) {
    constexpr std::size_t tried = 12;
    if (steady.size() < 3 * kFourInARow) return;
    std::vector<std::pair<std::uint64_t, std::size_t>> places;  // of four launches in a row
    for (std::size_t i = 0; i + kFourInARow <= steady.size(); ++i)
      places.emplace_back(hash_of_four(steady, i), i);
    std::ranges::sort(places);
    // The most frequent distance from one to the next equal ones.
    std::set<std::size_t, std::greater<>> lengths;
    ValueCounts::Entry best;
    values_.clear();
    for (std::size_t i = 1; i <= places.size(); ++i) {
      if (i < places.size() && places[i].first == places[i - 1].first) {
        const std::size_t gap = places[i].second - places[i - 1].second;
        const ValueCounts::Entry& known = values_.entries()[values_.add(gap)];
        if (known.count > best.count) best = known;
        continue;
      }
      if (best.value > 1 && best.count > 1) lengths.insert(best.value);
      best = {};
      values_.clear();
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
      if (longest < 2 * length || 3 * (longest + length) < steady.size()) continue;
      cycle.inner_length = length;
      cycle.inner_share =
          static_cast<double>(longest + length) / static_cast<double>(steady.size());
      return;
    }
  }

  [[nodiscard]] Kind classify(std::size_t i, Reading& reading, std::vector<bool>& interrupts) {
    const Launches launches = segment(i);
    const auto kept = without(launches, reading.varies);
    if (kept == reading.steady) return Kind::kRegular;
    if (may_be_interrupted_ && (reading.reduces || places_in(log_.reductions(), i) == 0) &&
        !has_backward_pass(i, reading) &&
        is_evaluation(kept, reading, interrupts, waits_in(i) > reading.waits))
      return Kind::kInterrupted;
    const bool is_even = reading.even_length != 0 && even_length(launches) == reading.even_length;
    if (reading.may_vary && vary_more(kept, reading, is_even || is_between_waits(launches)))
      return Kind::kRegular;
    if (is_variant(i, reading) || has_skipped_update(i, reading)) {
      count(reading.steady, 1);
      for (const std::uint32_t kernel : launches)
        --counts_[kernel];
      for (const Launches some : {launches, Launches(reading.steady)}) {
        for (const std::uint32_t kernel : some) {
          if (std::exchange(counts_[kernel], 0) != 0) interrupts[kernel] = true;
        }
      }
      return Kind::kVariant;
    }
    return Kind::kOther;
  }

  // Returns true for an iteration that lacks a part of the others with all their updates: a
  // gradient scaler leaves a step out where the gradients have overflown.
  [[nodiscard]] bool has_skipped_update(std::size_t i, const Reading& reading) const {
    const Launches launches = segment(i);
    const Launches usual = reading.steady;
    if (!may_be_interrupted_ || !reading.updates || reading.may_vary || updates(launches) ||
        launches.size() >= usual.size() || 2 * launches.size() < usual.size() ||
        places_in(log_.turns(), i) != reading.turns)
      return false;
    const auto head = static_cast<std::size_t>(
        std::mismatch(launches.begin(), launches.end(), usual.begin()).first - launches.begin());
    return std::equal(launches.rbegin(), launches.rend() - static_cast<std::ptrdiff_t>(head),
                      usual.rbegin());
  }

  // Returns true for an iteration with data of another kind: it begins and ends as the others do,
  // and so do the host's waits, but it differs in several places, unlike one with a block inserted.
  [[nodiscard]] bool is_variant(std::size_t i, const Reading& reading) const {
    constexpr std::size_t fewest_in_common = 4;
    const Launches launches = segment(i);
    const Launches usual = reading.may_vary ? segment(reading.newest) : Launches(reading.steady);
    if (!may_be_interrupted_ || reading.waits == 0 || waits_in(i) != reading.waits ||
        places_in(log_.turns(), i) != reading.turns || updates(launches) != updates(usual) ||
        log_.weight_of(usual) > 2 * log_.weight_of(launches) ||
        log_.weight_of(launches) > 2 * log_.weight_of(usual))
      return false;
    const auto head = static_cast<std::size_t>(
        std::mismatch(usual.begin(), usual.end(), launches.begin(), launches.end()).first -
        usual.begin());
    const auto tail = static_cast<std::size_t>(
        std::mismatch(usual.rbegin(), usual.rend(), launches.rbegin(), launches.rend()).first -
        usual.rbegin());
    return head + tail >= fewest_in_common && head + tail < std::min(usual.size(), launches.size());
  }

  // Returns true if another thread than the cycle's launches a part of a segment, as PyTorch's does
  // in a backward pass: an evaluation has none.
  [[nodiscard]] bool has_backward_pass(std::size_t i, const Reading& reading) const {
    return reading.steady.size() >= kMoreThanALayer && places_in(log_.turns(), i) > reading.turns;
  }

  // Returns true if `kept` is the cycle with a block of further launches at one place: most of
  // kernels it knows, or of any if the cycle updates parameters and the block does not, or if it is
  // long and the host waits for a result. None of them is an optimizer's that the cycle has not.
  [[nodiscard]] bool is_evaluation(const std::vector<std::uint32_t>& kept, const Reading& reading,
                                   std::vector<bool>& interrupts, bool host_waits) {
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
    bool updates = false;
    count(steady, 1);
    std::vector<bool> met(kernel_count_);
    for (const std::uint32_t kernel : block) {
      const bool is_met_inside = counts_[kernel] > 0;
      if (is_met_inside) ++known_launches;
      if (met[kernel]) continue;
      met[kernel] = true;
      ++kernels;
      updates = updates || (!is_met_inside && log_.updates(kernel));
      if (is_met_inside) ++known_kernels;
    }
    count(steady, -1);
    if (updates && (!reading.updates || is_step(block))) return false;
    // It may be an iteration without the anchor, if that has no update that this lacks.
    const auto in_common = std::ranges::count_if(steady, [&](auto kernel) { return met[kernel]; });
    if ((!reading.updates || is_step(block)) &&
        4 * in_common >= 3 * static_cast<std::ptrdiff_t>(steady.size()) &&
        holds_most_of(block, steady))
      return false;
    const bool is_pause = reading.updates && !reading.may_vary && !is_step(block);
    // A loop over the parameters has few of the cycle's kernels: it may update them.
    const bool is_known = 2 * known_launches >= block.size() && 2 * known_kernels >= kernels &&
                          (reading.updates || 4 * known_kernels >= kernels_in(steady).size());
    const bool is_waited_for = host_waits && 2 * block.size() >= steady.size();
    if (!is_pause && !is_waited_for && !is_known) return false;
    for (const std::uint32_t kernel : block)
      interrupts[kernel] = true;
    return true;
  }

  // Returns true if most launches of `cycle` come in `block` too, behind the same ones.
  [[nodiscard]] static bool holds_most_of(Launches block, Launches cycle) {
    if (block.size() < kFourInARow || cycle.size() < kFourInARow) return true;
    std::vector<bool> is_met(std::bit_ceil(16 * block.size()));
    const auto place_of = [&](Launches launches, std::size_t begin) {
      return (hash_of_four(launches, begin) >> 32U) & (is_met.size() - 1);
    };
    for (std::size_t i = 0; i + kFourInARow <= block.size(); ++i)
      is_met[place_of(block, i)] = true;
    std::size_t in_common = 0;
    for (std::size_t i = 0; i + kFourInARow <= cycle.size(); ++i)
      in_common += is_met[place_of(cycle, i)] ? 1U : 0U;
    return static_cast<double>(in_common) >=
           0.5 * static_cast<double>(cycle.size() + 1 - kFourInARow);
  }

  // Lets kernels vary from now on that are launched more or less often in `kept`, if they are few
  // and the rest is as before.
  [[nodiscard]] bool vary_more(const std::vector<std::uint32_t>& kept, Reading& reading,
                               bool may_differ) {
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
    if (!may_differ &&
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
    counts_.resize(kernel_count_);
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
    const auto size = [&](Launches some) {
      return reading.even_length == 0 ? log_.weight_of(some) : some.size();
    };
    for (const std::size_t i : regular)
      launches += size(segment(i));
    if (are_between_waits_ && reading.may_vary) return kernels_of(steady) >= kMoreThanACopy;
    const double least = reading.even_length == 0 ? kLeastSteadyShare : kLeastEvenShare;
    return static_cast<double>(size(steady) * regular.size()) >=
           least * static_cast<double>(launches);
  }

  static bool are_same(const std::vector<std::uint32_t>& kernels) {
    return std::adjacent_find(kernels.begin(), kernels.end(), std::not_equal_to<>()) ==
           kernels.end();
  }

  // Returns true for evaluations, which come every n iterations. Interruptions at random are
  // batches of another kind. `first` is the run's first segment, `regular` counts its regular ones.
  static bool are_evaluations(const std::vector<std::size_t>& interrupted, std::size_t first,
                              std::size_t regular, double most) {
    if (interrupted.empty()) return true;
    const std::size_t run = regular + interrupted.size();
    if (static_cast<double>(interrupted.size()) > most * static_cast<double>(run)) return false;
    const std::size_t before = interrupted.front() - first + 1;
    const std::size_t behind = first + run - 1 - interrupted.back();
    if (interrupted.size() == 1) return behind < before;
    const auto gaps = gaps_of(interrupted);
    return are_all_equal(gaps) && before <= gaps.front() && behind < gaps.front();
  }

  // Returns the longest row of equal segments before the run: a loop that ended, or the micro-steps
  // before an optimizer's step. The run has to outlast it.
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

  // Returns true if each segment is as long as the one before or longer: no iteration yet, but a
  // sequence that grows.  An optimizer that sets up its state in the first one is no such sequence.
  static bool grows_or_shrinks(const std::vector<std::size_t>& lengths) {
    const auto is_uneven = std::not_equal_to<>();
    const auto change = std::adjacent_find(lengths.begin(), lengths.end(), is_uneven);
    if (change == lengths.end() ||
        std::adjacent_find(change + 1, lengths.end(), is_uneven) == lengths.end())
      return false;
    return std::is_sorted(lengths.begin(), lengths.end()) ||
           std::is_sorted(lengths.rbegin(), lengths.rend());
  }

  // Returns true if `places` (ascending, below `end`) may be every k-th one of 0..end-1, for some
  // k.
  static bool fits_a_period(const std::vector<std::size_t>& places, std::size_t end) {
    const auto gaps = gaps_of(places);
    if (gaps.empty()) return true;
    return are_all_equal(gaps) && places.front() < gaps.front() &&
           end - 1 - places.back() < gaps.front();
  }

  enum class Rare : std::uint8_t { kRegular, kUndecided, kDoubtful, kIrregular };

  // Returns true if the segments of `regular` at these places are longer than the others.
  [[nodiscard]] bool are_longer(const std::vector<std::size_t>& places,
                                std::span<const std::size_t> regular) const {
    std::vector<std::size_t> with;
    std::vector<std::size_t> without;
    auto place = places.begin();
    for (std::size_t r = 0; r < regular.size(); ++r) {
      const bool has_it = place != places.end() && *place == r;
      if (has_it) ++place;
      (has_it ? with : without).push_back(segment(regular[r]).size());
    }
    return median(std::move(with)) > median(std::move(without));
  }

  // Returns true if several rare kernels come in the same segments, in addition to what others
  // have: that may be the step of an optimizer behind any number of micro-steps.
  [[nodiscard]] bool come_together(
      const std::unordered_map<std::uint32_t, std::vector<std::size_t>>& places,
      std::span<const std::size_t> regular) const {
    constexpr std::size_t fewest = 4;
    std::map<std::vector<std::size_t>, std::size_t> kernels;
    for (const auto& [kernel, of_kernel] : places) {
      if (of_kernel.size() > 2 && 5 * of_kernel.size() <= 4 * regular.size())
        kernels[of_kernel] += log_.weight(kernel);
    }
    return std::ranges::any_of(kernels, [&](const auto& group) {
      return group.second >= fewest && are_longer(group.first, regular);
    });
  }

  // A kernel that only some segments have is an optimizer's if its name says so, or if it comes
  // every k-th time in addition to what the others have: in the place of another one it is a
  // variant for some data.
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
      const auto share =
          static_cast<double>(of_kernel.size()) / static_cast<double>(regular.size());
      if (log_.updates(kernel) && share < kUsualUpdates) return Rare::kRegular;
      if (share > kOftenPresent) continue;
      if (reading.updates || reading.even_length != 0) continue;
      if (!fits_a_period(of_kernel, regular.size()) || !are_longer(of_kernel, regular)) continue;
      if (of_kernel.size() > 2) return Rare::kRegular;
      result = Rare::kUndecided;
    }
    if (result != Rare::kUndecided && reading.even_length == 0 && come_together(places, regular))
      return Rare::kDoubtful;
    return result;
  }

  const LaunchLog& log_;
  bool may_be_interrupted_;
  bool are_between_waits_;
  Launches launches_;
  std::span<const std::uint32_t> positions_;
  std::size_t kernel_count_;
  std::vector<int> counts_;  // by kernel; zeros between two uses
  std::size_t needed_ = 0;
  std::size_t fewest_ = 0;  // likewise, whatever they look like
  std::size_t window_ = 0;  // last segments that a reading is made from
  std::size_t weight_ = 0;  // launches of a usual segment, those of graphs included
  std::size_t length_ = 0;  // without those
  std::unordered_map<std::uint64_t, Kind> kinds_{};  // by segment's hash
  ValueCounts values_{};                             // of most_frequent()
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

std::size_t needed_paced_segments(std::size_t length) {
  constexpr std::size_t most = 20;
  return std::min(needed_structured_segments(length), most);
}

std::optional<Cycle> study(const LaunchLog& log, std::span<const std::uint32_t> positions,
                           Readings readings, Allowance& allowance) {
  Study segments(log, positions, readings, allowance);
  std::optional<Cycle> cycle = segments.repeated();
  const bool may_be_all = cycle && cycle->is_settled && cycle->first_segment == 0;
  if (readings < Readings::kAll || allowance < 0 || !segments.may_be_proven() || may_be_all ||
      (cycle && cycle->is_proven())) {
    return cycle;
  }
  std::optional<Cycle> other = segments.varying();
  return other && (!cycle || other->is_proven()) ? other : cycle;
}

}  // namespace inline_prof::schedule
