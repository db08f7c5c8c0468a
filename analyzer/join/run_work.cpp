#include "join/run_work.hpp"

#include "join/lanes.hpp"
#include "join/meetings.hpp"
#include "join/nesting.hpp"
#include "join/offsets_in_order.hpp"
#include "join/outermost.hpp"

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
  std::size_t lane = 0;
  double start_us = 0.0;
  double end_us = 0.0;
  bool is_inside_replay = false;  // not the first node of it
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
      if (lane == next.lane) continue;
      for (const MeasuredWork& other : works) {
        const bool has_just_ended =
            other.end_us <= next.start_us && other.end_us >= next.start_us - kFollowsWithinUs;
        if (has_just_ended && (found == nullptr || other.end_us > found->end_us)) found = &other;
      }
    }
    return found;
  }

  void add(const MeasuredWork& work) {
    std::vector<MeasuredWork>& works = last_[work.lane];
    if (works.size() == 2) works.erase(works.begin());
    works.push_back(work);
  }

 private:
  std::map<std::size_t, std::vector<MeasuredWork>> last_;
};

// Places the works of one device in time, each lane in its order.  `offsets_us`: by row, where they
// are better known than the medians of the rows.
std::vector<MeasuredWork> placed(const std::vector<Row>& rows, const RunWork& all,
                                 std::size_t first_work,
                                 const std::map<std::size_t, double>& offsets_us) {
  std::vector<MeasuredWork> measured;
  Lanes lanes;
  Replays replays;
  for (std::size_t work = first_work; work < all.rows.size(); ++work) {
    const Row& row = rows[all.rows[work]];
    const auto offset_us = offsets_us.find(all.rows[work]);
    const Lanes::Place place =
        offset_us != offsets_us.end() ? lanes.place(row, offset_us->second) : lanes.place(row);
    measured.push_back({work, place.lane, place.start_us, place.start_us + *row.in_iteration_us,
                        replays.is_inside(row)});
  }
  std::stable_sort(
      measured.begin(), measured.end(),
      [](const MeasuredWork& a, const MeasuredWork& b) { return a.start_us < b.start_us; });
  return measured;
}

// What each work of one device waits for, from when it started.
void add_waits(RunWork& all, const std::vector<Row>& rows, std::size_t first_work,
               const std::map<std::size_t, double>& offsets_us) {
  LastOfLanes last;
  for (const MeasuredWork& next : placed(rows, all, first_work, offsets_us)) {
    read::Work& work = all.graph.works[next.work];
    const MeasuredWork* before = last.last_of(next.lane);
    const double gap_us = before == nullptr ? next.start_us : next.start_us - before->end_us;
    const bool follows = before != nullptr && gap_us <= kFollowsWithinUs;
    const MeasuredWork* other = follows ? nullptr : last.ended_just_before(next);
    // Work that nobody saw may lie in a gap, and then moves along; but what the host launches too
    // late stays where it is.
    const Row& row = rows[all.rows[next.work]];
    const bool is_late_launch = !next.is_inside_replay && is_mostly_late(row);
    const bool is_host_late = !follows && other == nullptr && (before == nullptr || is_late_launch);
    if (is_host_late) work.not_before_us = next.start_us;
    if (before != nullptr) {
      const bool is_awaited = other == nullptr && !is_host_late;
      work.waits.push_back({before->work, is_awaited ? gap_us : 0.0});
    }
    if (other != nullptr) work.waits.push_back({other->work, next.start_us - other->end_us});
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

RunWork work_of_runs(const Analysis& analysis) {
  const std::vector<Row>& rows = analysis.rows;
  RunWork all;
  for (const auto& [device, outermost] : outermost_rows(rows, children_of(rows))) {
    const std::size_t first_work = all.rows.size();
    for (const std::size_t i : outermost) {
      read::Work work;
      work.name = work_name(rows[i]);
      work.time_us = *rows[i].in_iteration_us;
      all.graph.works.push_back(std::move(work));
      all.rows.push_back(i);
    }
    add_waits(all, rows, first_work, better_offsets(analysis, device.first, outermost));
  }
  add_meetings(all, rows);
  return all;
}

}  // namespace inline_prof::join
