#include "join/diagnose/run_tasks.hpp"

#include "join/diagnose/rank_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace inline_prof::join {
namespace {

// A task that starts within this time after the end of another one is taken to have waited for it:
// a dependent kernel starts a few microseconds later, and both ends are medians of different
// iterations.
constexpr double kFollowsWithinUs = 10.0;

// A task as it was measured.
struct MeasuredTask {
  std::size_t task = 0;
  Place place;
};

bool is_mostly_late(const Row& row) {
  return 2 * row.late > row.samples;
}

// The last two tasks of each lane.  When another task starts, at most the last one still runs.
class LastOfLanes {
 public:
  [[nodiscard]] const MeasuredTask* last_of(std::size_t lane) const {
    const auto it = last_.find(lane);
    return it == last_.end() ? nullptr : &it->second.back();
  }

  // The last task of another lane that had just ended when `next` started; null if there is none.
  [[nodiscard]] const MeasuredTask* ended_just_before(const MeasuredTask& next) const {
    const MeasuredTask* found = nullptr;
    for (const auto& [lane, tasks] : last_) {
      if (lane == next.place.lane) continue;
      for (const MeasuredTask& other : tasks) {
        const bool has_just_ended = other.place.end_us <= next.place.start_us &&
                                    other.place.end_us >= next.place.start_us - kFollowsWithinUs;
        if (has_just_ended && (found == nullptr || other.place.end_us > found->place.end_us))
          found = &other;
      }
    }
    return found;
  }

  void add(const MeasuredTask& task) {
    std::vector<MeasuredTask>& tasks = last_[task.place.lane];
    if (tasks.size() == 2) tasks.erase(tasks.begin());
    tasks.push_back(task);
  }

 private:
  std::map<std::size_t, std::vector<MeasuredTask>> last_;
};

// Sets what each task of one device waits for, from when it started.
void add_waits(RunTasks& all, const std::vector<Row>& rows, const Placement& placement,
               std::size_t first_task) {
  std::vector<MeasuredTask> measured;
  for (std::size_t task = first_task; task < all.rows.size(); ++task)
    measured.push_back({task, placement.places.at(all.rows[task])});
  std::ranges::stable_sort(measured, {},
                           [](const MeasuredTask& task) { return task.place.start_us; });
  LastOfLanes last;
  for (const MeasuredTask& next : measured) {
    read::Task& task = all.graph.tasks[next.task];
    const double start_us = next.place.start_us;
    const MeasuredTask* before = last.last_of(next.place.lane);
    const double gap_us = before == nullptr ? start_us : start_us - before->place.end_us;
    const bool follows = before != nullptr && gap_us <= kFollowsWithinUs;
    const MeasuredTask* other = follows ? nullptr : last.ended_just_before(next);
    // Work that nobody saw may lie in a gap, and then moves along; but what the host launches too
    // late stays where it is.
    const Row& row = rows[all.rows[next.task]];
    const bool is_late_launch = !next.place.is_inside_replay && is_mostly_late(row);
    const bool is_host_late = !follows && other == nullptr && (before == nullptr || is_late_launch);
    if (is_host_late) task.not_before_us = start_us;
    if (before != nullptr) {
      const bool is_awaited = other == nullptr && !is_host_late;
      task.waits.push_back({before->task, is_awaited ? gap_us : 0.0});
    }
    if (other != nullptr) task.waits.push_back({other->task, start_us - other->place.end_us});
    last.add(next);
  }
}

// A collective ends on all ranks together, so a rank that comes early measures its waiting, too:
// the shortest of them is what the transfer takes.
void add_meetings(RunTasks& all, const std::vector<Row>& rows) {
  for (std::vector<std::size_t>& tasks : meetings_of(rows, all.rows)) {
    double shortest_us = all.graph.tasks[tasks.front()].time_us;
    for (const std::size_t task : tasks)
      shortest_us = std::min(shortest_us, all.graph.tasks[task].time_us);
    for (const std::size_t task : tasks)
      all.graph.tasks[task].time_us = shortest_us;
    all.graph.meetings.push_back(std::move(tasks));
  }
}

}  // namespace

std::string task_name(const Row& row) {
  std::string name =
      row.layer.empty() ? row.event.str() : fmt::format("{}.{}", row.layer, row.event);
  if (row.occurrence > 0) name += fmt::format("#{}", row.occurrence);
  return name;
}

RunTasks tasks_of_runs(const std::vector<Row>& rows, const Placement& placement) {
  RunTasks all;
  for (const auto& [key, device] : placement.devices) {
    const std::size_t first_task = all.rows.size();
    for (const std::size_t i : device.rows) {
      read::Task task;
      task.name = task_name(rows[i]);
      task.time_us = *rows[i].in_iteration_us;
      all.graph.tasks.push_back(std::move(task));
      all.rows.push_back(i);
    }
    add_waits(all, rows, placement, first_task);
  }
  add_meetings(all, rows);
  return all;
}

}  // namespace inline_prof::join
