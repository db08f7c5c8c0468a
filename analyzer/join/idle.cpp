#include "join/idle.hpp"

#include "join/lanes.hpp"
#include "join/offsets_in_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace inline_prof::join {
namespace {

constexpr std::size_t kMostBehind = 5;  // places that are named

// Of a normal distribution, two-sided.
constexpr double k95 = 1.96;

constexpr std::size_t index_of(IdleReason reason) {
  return static_cast<std::size_t>(reason);
}

struct Work {
  std::size_t row = 0;
  double start_us = 0.0;
  double length_us = 0.0;
  bool is_inside_replay = false;    // not the first node of it
  bool follows_unmeasured = false;  // so that it is not known when the device ran dry before it
};

// Where work of one device was launched that has no sample, by stream.
class Unmeasured {
 public:
  Unmeasured(const std::vector<Row>& rows, std::size_t profile, std::int64_t device_id) {
    for (const Row& row : rows) {
      const bool is_of_device = row.profile == profile && row.device_id == device_id;
      if (is_of_device && row.samples == 0 && !row.is_region)
        indices_of_[row.stream_index].insert(row.start_index);
    }
  }

  // Between these two of one stream.
  [[nodiscard]] bool are_between(const Row& before, const Row& next) const {
    return first_from(next, std::max(before.start_index + 1, before.end_index)) < next.start_index;
  }
  // Before the first of its stream, or behind the last.
  [[nodiscard]] bool are_around(const Row& first, const Row& last) const {
    return first_from(first, 0) < first.start_index ||
           first_from(last, std::max(last.start_index + 1, last.end_index)) != kNone;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  // The least index from `index` on, on the stream of `row`.
  [[nodiscard]] std::int64_t first_from(const Row& row, std::int64_t index) const {
    const auto indices = indices_of_.find(row.stream_index);
    if (indices == indices_of_.end()) return kNone;
    const auto found = indices->second.lower_bound(index);
    return found == indices->second.end() ? kNone : *found;
  }

  std::map<std::int64_t, std::set<std::int64_t>> indices_of_;
};

// Half the interval, squared; none where too few samples were taken.
double variance(const std::optional<Interval>& ci95_us, bool& is_known) {
  if (!ci95_us) {
    is_known = false;
    return 0.0;
  }
  const double half_us = (ci95_us->upper - ci95_us->lower) / 2;
  return half_us * half_us;
}

// Those with most of it first; others than these are not named.
std::vector<IdleBehind> most_behind(const std::map<std::string, double>& us_behind, double factor) {
  std::vector<IdleBehind> most;
  most.reserve(us_behind.size());
  for (const auto& [place, us] : us_behind)
    most.push_back({place, us * factor});
  std::stable_sort(most.begin(), most.end(),
                   [](const IdleBehind& a, const IdleBehind& b) { return a.us > b.us; });
  if (most.size() > kMostBehind) most.resize(kMostBehind);
  return most;
}

class IdleOfDevice {
 public:
  IdleOfDevice(const Analysis& analysis, double iteration_us, double idle_us, bool has_others)
      : analysis_(analysis),
        iteration_us_(iteration_us),
        idle_us_(idle_us),
        has_others_(has_others) {}

  std::optional<Idle> find(std::vector<Work> works) {
    std::stable_sort(works.begin(), works.end(),
                     [](const Work& a, const Work& b) { return a.start_us < b.start_us; });
    const Work* last = nullptr;  // that ended last
    double end_us = 0.0;
    for (const Work& work : works) {
      if (last != nullptr && work.start_us > end_us)
        add_gap(work.start_us - end_us, work, *last, false);
      if (last == nullptr || work.start_us + work.length_us > end_us) {
        end_us = work.start_us + work.length_us;
        last = &work;
      }
    }
    // The iteration's end and its beginning are one gap: the next one begins as this one did.
    const double around_us =
        std::max(0.0, works.front().start_us) + std::max(0.0, iteration_us_ - end_us);
    if (around_us > 0) add_gap(around_us, works.front(), *last, true);
    return settled();
  }

 private:
  // Before `next`; `before` ended when it began.
  void add_gap(double gap_us, const Work& next, const Work& before, bool is_between_iterations) {
    if (next.follows_unmeasured) return;  // what is not laid to anything is not known
    const Row& row = analysis_.rows[next.row];
    bool is_known = true;
    double spread = variance(row.offset_ci95_us, is_known) +
                    variance(analysis_.rows[before.row].raw_ci95_us, is_known);
    if (!is_between_iterations) {
      spread += variance(analysis_.rows[before.row].offset_ci95_us, is_known);
    }
    intervals_are_known_ = intervals_are_known_ && is_known;
    const std::size_t known = row.late + row.queued;
    if (known == 0 && !next.is_inside_replay) return;
    known_gaps_us_ += gap_us;
    if (next.is_inside_replay) return add_ready(gap_us, spread);
    const double late = static_cast<double>(row.late) / static_cast<double>(known);
    const bool is_error = !is_known || gap_us * gap_us < spread;
    spread += gap_us * gap_us * k95 * k95 * late * (1 - late) / static_cast<double>(known);
    add_late(gap_us * late, gap_us, spread * late, row, is_between_iterations);
    const double ready_us = gap_us * (1 - late);
    if (has_others_ && is_error && !is_between_iterations) {
      before_next_late_us_ += ready_us;
      before_next_late_spread_ += spread * (1 - late);
    } else {
      add_ready(ready_us, spread * (1 - late));
    }
  }

  // The launch came `gap_us` late.
  void add_late(double us, double gap_us, double spread, const Row& row,
                bool is_between_iterations) {
    if (us <= 0) return;
    // Queued work waits for work before it, so what seems to lie between the two, but is no longer
    // than its error, lies behind both: it is the next launch that came late.
    const double moved = 1 + std::exchange(before_next_late_us_, 0.0) / us;
    spread += std::exchange(before_next_late_spread_, 0.0);
    us *= moved;
    gap_us *= moved;
    const bool has_waited = row.after_wait_us && *row.after_wait_us < gap_us;
    if (is_between_iterations) {
      const double after_us = has_waited ? *row.after_wait_us : gap_us;
      const double part = after_us / gap_us;
      add(IdleReason::kBetweenIterations, us * part, spread * part);
      add(IdleReason::kSynchronisation, us * (1 - part), spread * (1 - part));
      return;
    }
    const IdleReason reason =
        has_waited ? IdleReason::kSynchronisation : IdleReason::kLaunchingThread;
    add(reason, us, spread);
    parts_[index_of(reason)].behind[row.layer.empty() ? row.event.str() : row.layer.str()] += us;
  }

  // The launch stood in the queue.
  void add_ready(double us, double spread) {
    if (us <= 0) return;
    const double start_us = std::min(us, kLongestStartUs);
    const double part = start_us / us;
    add(IdleReason::kStarts, start_us, spread * part);
    add(has_others_ ? IdleReason::kOtherStreams : IdleReason::kNotKnown, us - start_us,
        spread * (1 - part));
  }

  struct Part {
    double us = 0.0;
    double spread = 0.0;
    std::map<std::string, double> behind;
  };

  void add(IdleReason reason, double us, double spread) {
    parts_[index_of(reason)].us += us;
    parts_[index_of(reason)].spread += spread;
  }

  // The parts add up to what is idle.
  [[nodiscard]] std::optional<Idle> settled() {
    add_ready(before_next_late_us_, before_next_late_spread_);
    const double factor = known_gaps_us_ > idle_us_ ? idle_us_ / known_gaps_us_ : 1.0;
    Idle idle{.idle_us = idle_us_};
    double known_spread = 0.0;
    for (const Part& part : parts_)
      known_spread += part.spread;
    for (std::size_t i = 0; i < kIdleReasons; ++i) {
      Part& part = parts_[i];
      double us = part.us * factor;
      if (i == index_of(IdleReason::kNotKnown) && idle_us_ > known_gaps_us_) {
        us += idle_us_ - known_gaps_us_;
        part.spread = known_spread;  // it is what the others leave
      }
      IdlePart& found = idle.parts[i];
      found.reason = static_cast<IdleReason>(i);
      found.us = us;
      if (intervals_are_known_ && known_gaps_us_ > 0) {
        const double half_us = std::sqrt(part.spread) * factor;
        found.ci95_us = Interval{std::max(0.0, us - half_us), std::min(idle_us_, us + half_us)};
      }
      found.behind = most_behind(part.behind, factor);
    }
    return idle;
  }

  const Analysis& analysis_;
  double iteration_us_;
  double idle_us_;
  bool has_others_;
  double known_gaps_us_ = 0.0;
  double before_next_late_us_ = 0.0;
  double before_next_late_spread_ = 0.0;
  bool intervals_are_known_ = true;
  std::array<Part, kIdleReasons> parts_;
};

}  // namespace

std::optional<Idle> find_idle(const Analysis& analysis, std::size_t profile, std::int64_t device_id,
                              std::span<const std::size_t> outermost, double idle_us) {
  std::vector<Work> works;
  Lanes lanes;
  bool some_are_known = false;
  if (outermost.empty()) return std::nullopt;
  const bool others = has_others(analysis, profile, outermost);
  const auto offsets_us = offsets_in_order(analysis, outermost, others);
  const Unmeasured unmeasured(analysis.rows, profile, device_id);
  std::map<std::int64_t, std::pair<const Row*, const Row*>> ends_of;  // first and last of a stream
  Replays replays;
  for (const std::size_t i : outermost) {
    const Row& row = analysis.rows[i];
    if (row.any_occurrence) return std::nullopt;
    if (row.samples == 0) continue;  // its time is a prediction, and where it began is not known
    some_are_known = some_are_known || row.late + row.queued > 0;
    const auto offset_us = offsets_us.find(i);
    const double start_us = offset_us != offsets_us.end()
                                ? lanes.place(row, offset_us->second).start_us
                                : lanes.place(row).start_us;
    auto& [first, last] = ends_of[row.stream_index];
    works.push_back({.row = i,
                     .start_us = start_us,
                     .length_us = *row.in_iteration_us,
                     .is_inside_replay = replays.is_inside(row),
                     .follows_unmeasured = last != nullptr && unmeasured.are_between(*last, row)});
    if (first == nullptr) first = &row;
    last = &row;
  }
  for (Work& work : works) {
    const auto& [first, last] = ends_of.at(analysis.rows[work.row].stream_index);
    if (first == &analysis.rows[work.row])
      work.follows_unmeasured = unmeasured.are_around(*first, *last);
  }
  if (!some_are_known || !analysis.runs[profile].iteration_us) return std::nullopt;
  auto found = IdleOfDevice(analysis, *analysis.runs[profile].iteration_us, idle_us, others)
                   .find(std::move(works));
  if (found) {
    found->profile = profile;
    found->device_id = device_id;
  }
  return found;
}

const IdlePart* largest_part(const Idle& idle) {
  const IdlePart* largest = nullptr;
  for (const IdlePart& part : idle.parts) {
    if (part.reason == IdleReason::kNotKnown || part.us <= 0) continue;
    if (largest == nullptr || part.us > largest->us) largest = &part;
  }
  return largest;
}

std::optional<Idle> mean_idle(const Analysis& analysis) {
  if (analysis.idle.empty()) return std::nullopt;
  const double weight = 1.0 / static_cast<double>(analysis.idle.size());
  Idle mean;
  for (std::size_t i = 0; i < kIdleReasons; ++i) {
    IdlePart& part = mean.parts[i];
    part.reason = static_cast<IdleReason>(i);
    part.ci95_us = Interval{};
    std::map<std::string, double> behind;
    for (const Idle& device : analysis.idle) {
      const IdlePart& one = device.parts[i];
      part.us += one.us * weight;
      if (one.ci95_us && part.ci95_us) {
        // Devices of one program are late together.
        part.ci95_us->lower += one.ci95_us->lower * weight;
        part.ci95_us->upper += one.ci95_us->upper * weight;
      } else {
        part.ci95_us.reset();
      }
      for (const IdleBehind& place : one.behind)
        behind[place.place] += place.us * weight;
    }
    part.behind = most_behind(behind, 1.0);
  }
  for (const Idle& device : analysis.idle)
    mean.idle_us += device.idle_us * weight;
  return mean;
}

std::string_view idle_reason_name(IdleReason reason) {
  switch (reason) {
    case IdleReason::kLaunchingThread:
      return "the launching thread";
    case IdleReason::kBetweenIterations:
      return "between iterations";
    case IdleReason::kSynchronisation:
      return "host synchronisation";
    case IdleReason::kOtherStreams:
      return "other streams or ranks";
    case IdleReason::kStarts:
      return "starts of queued work";
    case IdleReason::kNotKnown:
      return "not known";
  }
  return "";
}

}  // namespace inline_prof::join
