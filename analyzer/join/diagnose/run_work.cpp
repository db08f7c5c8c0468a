#include "join/diagnose/run_work.hpp"

#include "join/diagnose/meetings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace inline_prof::join {
namespace {

// Work that starts within this time after the end of other work is taken to have waited for it: a
// dependent kernel starts a few microseconds later, and both ends are medians of different
// iterations.
constexpr double kFollowsWithinUs = 10.0;

// One work as it was measured.
struct MeasuredWork {
  std::size_t work = 0;
  Place place;
};

bool is_mostly_late(const Row& row) {
  return 2 * row.late > row.samples;
}

// The last two works of each lane.  When another work starts, at most the last one still runs.
class LastOfLanes {
 public:
  [[nodiscard]] const MeasuredWork* last_of(std::size_t lane) const {
    const auto it = last_.find(lane);
    return it == last_.end() ? nullptr : &it->second.back();
  }

  // The last work of another lane that had just ended when `next` started; null if there is none.
  [[nodiscard]] const MeasuredWork* ended_just_before(const MeasuredWork& next) const {
    const MeasuredWork* found = nullptr;
    for (const auto& [lane, works] : last_) {
      if (lane == next.place.lane) continue;
      for (const MeasuredWork& other : works) {
        const bool has_just_ended = other.place.end_us <= next.place.start_us &&
                                    other.place.end_us >= next.place.start_us - kFollowsWithinUs;
        if (has_just_ended && (found == nullptr || other.place.end_us > found->place.end_us))
          found = &other;
      }
    }
    return found;
  }

  void add(const MeasuredWork& work) {
    std::vector<MeasuredWork>& works = last_[work.place.lane];
    if (works.size() == 2) works.erase(works.begin());
    works.push_back(work);
  }

 private:
  std::map<std::size_t, std::vector<MeasuredWork>> last_;
};

// Sets what each work of one device waits for, from when it started.
void add_waits(RunWork& all, const std::vector<Row>& rows, const Placement& placement,
               std::size_t first_work) {
  std::vector<MeasuredWork> measured;
  for (std::size_t work = first_work; work < all.rows.size(); ++work)
    measured.push_back({work, placement.places.at(all.rows[work])});
  std::ranges::stable_sort(measured, {},
                           [](const MeasuredWork& work) { return work.place.start_us; });
  LastOfLanes last;
  for (const MeasuredWork& next : measured) {
    read::Work& work = all.graph.works[next.work];
    const double start_us = next.place.start_us;
    const MeasuredWork* before = last.last_of(next.place.lane);
    const double gap_us = before == nullptr ? start_us : start_us - before->place.end_us;
    const bool follows = before != nullptr && gap_us <= kFollowsWithinUs;
    const MeasuredWork* other = follows ? nullptr : last.ended_just_before(next);
    // Work that nobody saw may lie in a gap, and then moves along; but what the host launches too
    // late stays where it is.
    const Row& row = rows[all.rows[next.work]];
    const bool is_late_launch = !next.place.is_inside_replay && is_mostly_late(row);
    const bool is_host_late = !follows && other == nullptr && (before == nullptr || is_late_launch);
    if (is_host_late) work.not_before_us = start_us;
    if (before != nullptr) {
      const bool is_awaited = other == nullptr && !is_host_late;
      work.waits.push_back({before->work, is_awaited ? gap_us : 0.0});
    }
    if (other != nullptr) work.waits.push_back({other->work, start_us - other->place.end_us});
    last.add(next);
  }
}

// A collective ends on all ranks together, so a rank that comes early measures its waiting, too:
// the shortest of them is what the transfer takes.
void add_meetings(RunWork& all, const std::vector<Row>& rows) {
  for (std::vector<std::size_t>& works : meetings_of(rows, all.rows)) {
    double shortest_us = all.graph.works[works.front()].time_us;
    for (const std::size_t work : works)
      shortest_us = std::min(shortest_us, all.graph.works[work].time_us);
    for (const std::size_t work : works)
      all.graph.works[work].time_us = shortest_us;
    all.graph.meetings.push_back(std::move(works));
  }
}

}  // namespace

std::string work_name(const Row& row) {
  std::string name =
      row.layer.empty() ? row.event.str() : fmt::format("{}.{}", row.layer, row.event);
  if (row.occurrence > 0) name += fmt::format("#{}", row.occurrence);
  return name;
}

RunWork work_of_runs(const std::vector<Row>& rows, const Placement& placement) {
  RunWork all;
  for (const auto& [key, device] : placement.devices) {
    const std::size_t first_work = all.rows.size();
    for (const std::size_t i : device.rows) {
      read::Work work;
      work.name = work_name(rows[i]);
      work.time_us = *rows[i].in_iteration_us;
      all.graph.works.push_back(std::move(work));
      all.rows.push_back(i);
    }
    add_waits(all, rows, placement, first_work);
  }
  add_meetings(all, rows);
  return all;
}

}  // namespace inline_prof::join
