#include "join/diagnose/idle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace inline_prof::join {
namespace {

constexpr std::size_t kMostBehind = 5;  // places that are named

// The 95 % quantile of a normal distribution, two-sided.
constexpr double k95 = 1.96;

constexpr std::size_t index_of(IdleReason reason) {
  return static_cast<std::size_t>(reason);
}

struct MeasuredRow {
  std::size_t row = 0;
  Place place;
  bool follows_unmeasured = false;  // so that it is not known when the device ran dry before it
};

// Rows of one device that have no sample, by stream: where they were launched.
class Unmeasured {
 public:
  Unmeasured(const std::vector<Row>& rows, const DeviceKey& device) {
    for (const Row& row : rows) {
      if (device_of(row) == device && row.samples == 0 && !row.is_region)
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

// Returns the places with most of it first; the rest is not named.
std::vector<IdleBehind> most_behind(const std::map<std::string, double>& us_behind, double factor) {
  std::vector<IdleBehind> most;
  most.reserve(us_behind.size());
  for (const auto& [place, us] : us_behind)
    most.push_back({place, us * factor});
  std::ranges::stable_sort(most,
                           [](const IdleBehind& a, const IdleBehind& b) { return a.us > b.us; });
  if (most.size() > kMostBehind) most.resize(kMostBehind);
  return most;
}

class IdleOfDevice {
 public:
  IdleOfDevice(const std::vector<Row>& rows, double iteration_us, double idle_us, bool has_others)
      : rows_(rows), iteration_us_(iteration_us), idle_us_(idle_us), has_others_(has_others) {}

  std::optional<Idle> find(std::vector<MeasuredRow> measured) {
    std::ranges::stable_sort(measured, {},
                             [](const MeasuredRow& row) { return row.place.start_us; });
    const MeasuredRow* last = nullptr;  // that ended last
    double end_us = 0.0;
    for (const MeasuredRow& next : measured) {
      if (last != nullptr && next.place.start_us > end_us)
        add_gap(next.place.start_us - end_us, next, *last, false);
      if (last == nullptr || next.place.end_us > end_us) {
        end_us = next.place.end_us;
        last = &next;
      }
    }
    // The iteration's end and its beginning are one gap: the next one begins as this one did.
    const double around_us =
        std::max(0.0, measured.front().place.start_us) + std::max(0.0, iteration_us_ - end_us);
    if (around_us > 0) add_gap(around_us, measured.front(), *last, true);
    return settled();
  }

 private:
  // Before `next`; `before` ended when it began.
  void add_gap(double gap_us, const MeasuredRow& next, const MeasuredRow& before,
               bool is_between_iterations) {
    if (next.follows_unmeasured) return;  // what is not laid to anything is not known
    const Row& row = rows_[next.row];
    bool is_known = true;
    double spread =
        variance(row.offset_ci95_us, is_known) + variance(rows_[before.row].raw_ci95_us, is_known);
    if (!is_between_iterations) spread += variance(rows_[before.row].offset_ci95_us, is_known);
    intervals_are_known_ = intervals_are_known_ && is_known;
    const std::size_t known = row.late + row.queued;
    if (known == 0 && !next.place.is_inside_replay) return;
    known_gaps_us_ += gap_us;
    if (next.place.is_inside_replay) return add_ready(gap_us, spread);
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

  const std::vector<Row>& rows_;
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

std::optional<Idle> find_idle(const std::vector<Run>& runs, const std::vector<Row>& rows,
                              const Placement& placement, const DeviceKey& device, double idle_us) {
  const DevicePlacement& of_device = placement.devices.at(device);
  std::vector<MeasuredRow> measured;
  bool some_are_known = false;
  const Unmeasured unmeasured(rows, device);
  std::map<std::int64_t, std::pair<const Row*, const Row*>> ends_of;  // first and last of a stream
  for (const std::size_t i : of_device.rows) {
    const Row& row = rows[i];
    if (row.any_occurrence) return std::nullopt;
    if (row.samples == 0) continue;  // its time is a prediction, and where it began is not known
    some_are_known = some_are_known || row.late + row.queued > 0;
    auto& [first, last] = ends_of[row.stream_index];
    measured.push_back(
        {.row = i,
         .place = placement.places.at(i),
         .follows_unmeasured = last != nullptr && unmeasured.are_between(*last, row)});
    if (first == nullptr) first = &row;
    last = &row;
  }
  for (MeasuredRow& own : measured) {
    const auto& [first, last] = ends_of.at(rows[own.row].stream_index);
    if (first == &rows[own.row]) own.follows_unmeasured = unmeasured.are_around(*first, *last);
  }
  const std::optional<double>& iteration_us = runs[device.first].iteration.us;
  if (!some_are_known || !iteration_us) return std::nullopt;
  auto found =
      IdleOfDevice(rows, *iteration_us, idle_us, of_device.has_others).find(std::move(measured));
  if (found) {
    found->profile = device.first;
    found->device_id = device.second;
  }
  return found;
}

std::vector<Idle> find_idle(const std::vector<Run>& runs, const std::vector<Row>& rows,
                            const Placement& placement, const DividedIteration& divided) {
  std::vector<Idle> all;
  for (const auto& [device, idle_us] : divided.idle_us) {
    if (auto idle = find_idle(runs, rows, placement, device, idle_us))
      all.push_back(std::move(*idle));
  }
  return all;
}

const IdlePart* largest_part(const Idle& idle) {
  const IdlePart* largest = nullptr;
  for (const IdlePart& part : idle.parts) {
    if (part.reason == IdleReason::kNotKnown || part.us <= 0) continue;
    if (largest == nullptr || part.us > largest->us) largest = &part;
  }
  return largest;
}

std::optional<Idle> mean_idle(const std::vector<Idle>& of_devices) {
  if (of_devices.empty()) return std::nullopt;
  const double weight = 1.0 / static_cast<double>(of_devices.size());
  Idle mean;
  for (std::size_t i = 0; i < kIdleReasons; ++i) {
    IdlePart& part = mean.parts[i];
    part.reason = static_cast<IdleReason>(i);
    part.ci95_us = Interval{};
    std::map<std::string, double> behind;
    for (const Idle& device : of_devices) {
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
  for (const Idle& device : of_devices)
    mean.idle_us += device.idle_us * weight;
  return mean;
}

std::string_view idle_reason_name(IdleReason reason) {
  constexpr std::array<std::string_view, kIdleReasons> names{
      "the launching thread",   "between iterations",    "host synchronisation",
      "other streams or ranks", "starts of queued work", "not known"};
  return names.at(static_cast<std::size_t>(reason));
}

namespace {

// The rows of one collective, each of another device.
struct Meeting {
  std::vector<std::size_t> rows;
  std::size_t last = 0;  // that of the device that comes last
};

std::vector<Meeting> timed_meetings(const std::vector<Row>& rows) {
  std::vector<std::size_t> timed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].corrected_us && !rows[i].any_occurrence) timed.push_back(i);
  }
  std::vector<Meeting> meetings;
  for (std::vector<std::size_t>& met : meetings_of(rows, timed)) {
    for (std::size_t& i : met)
      i = timed[i];
    const std::size_t last =
        *std::ranges::min_element(met, {}, [&](std::size_t i) { return *rows[i].corrected_us; });
    meetings.push_back({.rows = std::move(met), .last = last});
  }
  return meetings;
}

}  // namespace

std::vector<Row> with_waits(std::vector<Row> rows) {
  for (const Meeting& meeting : timed_meetings(rows)) {
    for (const std::size_t i : meeting.rows) {
      rows[i].waited_us = *rows[i].corrected_us - *rows[meeting.last].corrected_us;
      // They were of the whole time.
      rows[i].p_slower.reset();
      rows[i].p_faster.reset();
    }
  }
  return rows;
}

std::vector<RankWait> rank_waits(const std::vector<Row>& rows, const Placement& placement,
                                 const IterationShares& shares) {
  if (!shares.shares_us) return {};
  std::map<std::pair<DeviceKey, DeviceKey>, RankWait> waits;  // who waits, and for whom
  std::map<DeviceKey, DeviceTime> times;
  for (const Meeting& meeting : timed_meetings(rows)) {
    const DeviceKey last = device_of(rows[meeting.last]);
    for (const std::size_t i : meeting.rows) {
      const Row& row = rows[i];
      if (!row.in_iteration_us || !row.waited_us || *row.waited_us <= 0) continue;
      const double us = *row.waited_us * *row.in_iteration_us / *row.corrected_us;
      const DeviceKey own = device_of(row);
      RankWait& wait = waits[{own, last}];
      wait.profile = own.first;
      wait.device_id = own.second;
      wait.for_profile = last.first;
      wait.for_device_id = last.second;
      wait.us += us;
      const auto time = times.try_emplace(own, placement, placement.devices.at(own)).first;
      wait.exposed_us += time->second.exposed_us(i, us);
    }
  }
  std::vector<RankWait> found;
  found.reserve(waits.size());
  for (const auto& [devices, wait] : waits)
    found.push_back(wait);
  return found;
}

std::vector<LastDevice> last_devices(const std::vector<RankWait>& waits,
                                     const std::vector<Run>& runs) {
  std::set<DeviceKey> devices;
  for (const RankWait& wait : waits) {
    devices.insert({wait.profile, wait.device_id});
    devices.insert({wait.for_profile, wait.for_device_id});
  }
  std::map<DeviceKey, LastDevice> found;
  for (const RankWait& wait : waits) {
    const auto& iteration_us = runs[wait.profile].iteration.us;
    if (!iteration_us) continue;
    const double percent = 100.0 / *iteration_us / static_cast<double>(devices.size() - 1);
    LastDevice& last = found[{wait.for_profile, wait.for_device_id}];
    last.profile = wait.for_profile;
    last.device_id = wait.for_device_id;
    last.percent += wait.us * percent;
    last.exposed_percent += wait.exposed_us * percent;
  }
  std::vector<LastDevice> sorted;
  sorted.reserve(found.size());
  for (const auto& [device, last] : found)
    sorted.push_back(last);
  std::ranges::stable_sort(sorted, std::greater{}, &LastDevice::exposed_percent);
  return sorted;
}

std::string name_of(const LastDevice& device, const std::vector<Run>& runs) {
  const read::Profile& profile = runs[device.profile].profile;
  const std::string& host = profile.host_name.empty() ? profile.file : profile.host_name;
  const std::string place = fmt::format("{}, device {}", host, device.device_id);
  return profile.rank ? fmt::format("rank {} ({})", *profile.rank, place) : place;
}

std::vector<std::vector<std::size_t>> meetings_of(const std::vector<Row>& rows,
                                                  std::span<const std::size_t> candidates) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& meeting = rows[candidates[i]].meeting;
    if (!meeting.empty()) by_name[meeting].push_back(i);
  }
  std::vector<std::vector<std::size_t>> meetings;
  for (auto& [name, met] : by_name) {
    std::set<DeviceKey> devices;
    for (const std::size_t i : met)
      devices.insert(device_of(rows[candidates[i]]));
    // A device that is there twice means that the name does not tell two collectives apart.
    if (met.size() >= 2 && devices.size() == met.size()) meetings.push_back(std::move(met));
  }
  return meetings;
}

}  // namespace inline_prof::join
