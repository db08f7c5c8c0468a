#include "join/diagnose/worth_fixing.hpp"

#include "join/diagnose/idle.hpp"
#include "model/families/kernel_family.hpp"
#include "model/iteration/timetable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

// A difference that is worth a line: kernels of one family differ by as much.
constexpr double kWorthOfMeasured = 0.2;

bool is_worth_it(double measured_us, double attainable_us) {
  return measured_us - attainable_us >= kWorthOfMeasured * measured_us;
}

bool has_time(const Row& row) {
  return !row.is_region && row.corrected_us && row.in_iteration_us && *row.corrected_us > 0;
}

// Returns the time of all calls in an iteration.
double attainable_us(const Row& row) {
  const double calls = *row.in_iteration_us / *row.corrected_us;
  const bool could_be_faster = row.attainable_us && !row.remedy.empty();
  return calls *
         (could_be_faster ? std::min(*row.attainable_us, *row.corrected_us) : *row.corrected_us);
}

std::string operation_of(const Row& row) {
  return row.source.empty() ? row.event.str() : row.source.str();
}

// A kernel that a compiler would make a part of its neighbour.
bool is_fusable(const Row& row) {
  static constexpr std::array<std::string_view, 6> families{
      "vectorized", "unrolled", "strided", "reduction", "cat", "cat_vectorized"};
  const model::KernelFamily* const family = model::kernel_family(row.kernel_name.str());
  // Each gradient is added to a parameter of its own.
  const bool is_of_parameters = row.layer.str().find("AccumulateGrad") != std::string::npos;
  return has_time(row) && !is_of_parameters && family != nullptr &&
         std::ranges::find(families, family->name) != families.end();
}

// Such kernels of one layer in a row on a stream, each run of them as indices into `rows`.  Longer
// runs than this work on several tensors, one after the other.
std::vector<std::vector<std::size_t>> runs_to_fuse(const std::vector<Row>& rows) {
  constexpr std::size_t least = 3, most = 16;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, std::vector<std::size_t>> streams;
  for (std::size_t i = 0; i < rows.size(); ++i)
    streams[{rows[i].profile, rows[i].device_id, rows[i].stream_index}].push_back(i);
  std::vector<std::vector<std::size_t>> runs;
  for (auto& [stream, own] : streams) {
    std::ranges::stable_sort(own, [&](std::size_t a, std::size_t b) {
      return rows[a].start_index < rows[b].start_index;
    });
    std::vector<std::size_t> run;
    const auto end_run = [&] {
      if (run.size() >= least) runs.push_back(run);
      run.clear();
    };
    for (const std::size_t i : own) {
      if (!run.empty() &&
          (run.size() == most || layer_to_fuse_in(rows[i]) != layer_to_fuse_in(rows[run[0]])))
        end_run();
      if (is_fusable(rows[i])) {
        run.push_back(i);
      } else {
        end_run();
      }
    }
    end_run();
  }
  return runs;
}

// A fused kernel keeps intermediate results in registers: it takes as long as the longest of them.
// A run may do the same with several tensors, such as query and key: as often as the rarest of its
// longer kernels comes again.
double fused_us(const std::vector<Row>& rows, const std::vector<std::size_t>& run) {
  double longest_us = 0, longest_fused_us = 0;
  for (const std::size_t i : run) {
    longest_us = std::max(longest_us, *rows[i].in_iteration_us);
    longest_fused_us = std::max(longest_fused_us, attainable_us(rows[i]));
  }
  std::map<std::string, std::size_t> times;  // by operator
  for (const std::size_t i : run)
    if (2 * *rows[i].in_iteration_us >= longest_us) ++times[operation_of(rows[i])];
  std::size_t tensors = run.size();
  for (const auto& [operation, count] : times)
    tensors = std::min(tensors, count);
  return static_cast<double>(tensors) * longest_fused_us;
}

}  // namespace

std::string layer_to_fuse_in(const Row& row) {
  // An operator without a module or annotation around it is no layer of its own.
  const std::string& layer = row.layer.str();
  return layer.starts_with("aten::") || layer.starts_with("autograd::") ? "" : layer;
}

std::vector<FusableRun> fusable_runs(const std::vector<Row>& rows) {
  std::vector<FusableRun> found;
  for (std::vector<std::size_t>& run : runs_to_fuse(rows)) {
    double measured_us = 0;
    for (const std::size_t i : run)
      measured_us += *rows[i].in_iteration_us;
    const double fused = fused_us(rows, run);
    if (is_worth_it(measured_us, fused)) found.push_back({std::move(run), measured_us, fused});
  }
  return found;
}

std::optional<Overlap> overlap_of(const std::vector<Row>& rows,
                                  const std::vector<MergedRow>& merged) {
  struct Graph {
    double kernels_us = 0.0;
    bool overlaps = false;
    bool is_complete = true;
  };
  std::map<std::size_t, Graph> graphs;  // by the merged row of the whole replay
  for (const MergedRow& row : merged) {
    if (!row.parent) continue;
    Graph& graph = graphs[*row.parent];
    graph.overlaps |= std::ranges::any_of(row.rows, [&](std::size_t device) {
      return rows[device].is_graph_node && rows[device].overlap_removed;
    });
    graph.is_complete &= row.corrected_us.has_value();
    graph.kernels_us += row.corrected_us.value_or(0.0) * static_cast<double>(row.calls);
  }
  std::optional<Overlap> overlap;
  for (const auto& [place, graph] : graphs) {
    const MergedRow& whole = merged[place];
    if (!graph.overlaps || !graph.is_complete || !whole.corrected_us) continue;
    if (!overlap) overlap.emplace();
    overlap->one_by_one_us += graph.kernels_us;
    overlap->together_us += *whole.corrected_us * static_cast<double>(whole.calls);
  }
  return overlap;
}

namespace {

// The outermost rows of all runs as tasks, and the row that each of them is.
struct RunTasks {
  read::TaskGraph graph;
  std::vector<std::size_t> rows;  // of each task
};

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

// A layer, an event and its occurrence, as --scale of prof-model iteration knows them.
std::string task_name(const Row& row) {
  std::string name =
      row.layer.empty() ? row.event.str() : fmt::format("{}.{}", row.layer, row.event);
  if (row.occurrence > 0) name += fmt::format("#{}", row.occurrence);
  return name;
}

// Reads off the times what waits for what, which no file says (docs/models/longest_path.md).  Tasks
// have no predictions yet.
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

// Each question walks over all tasks once; in files of very many events the smallest stay unasked.
constexpr std::size_t kMostVisitedTasks = 100'000'000;
constexpr double kNoticeableUs = 1e-6;  // below it a difference is one of rounding

// The time that an outermost row loses beyond the predictions, as parts of its own.
class Excess {
 public:
  explicit Excess(const std::vector<Row>& rows)
      : rows_(rows),
        children_(children_of(rows)),
        outermost_(rows.size()),
        part_(rows.size(), 0),
        is_task_(rows.size()) {}

  // Has to be called for every task's row before the others.
  void add_outermost(std::size_t row, std::size_t task) {
    std::vector<std::size_t> to_do{row};
    part_[row] = 1.0;
    is_task_[row] = true;
    while (!to_do.empty()) {
      const std::size_t i = to_do.back();
      to_do.pop_back();
      outermost_[i] = task;
      share_out(i, to_do);
    }
  }

  [[nodiscard]] std::optional<std::size_t> task_of(std::size_t row) const {
    return outermost_[row];
  }

  // Returns the part of the task's time that `row` takes beyond its prediction; empty if one of the
  // two is not known.
  [[nodiscard]] std::optional<double> of_row(std::size_t row) const {
    const Row& own = rows_[row];
    if (!own.predicted_us || !own.corrected_us || !outermost_[row]) return std::nullopt;
    const double beyond_us = *own.working_us() - *own.predicted_us;
    if (!(beyond_us > 0)) return 0.0;
    // A task that is a collective has been given the time in which it works.
    return part_[row] * beyond_us / (is_task_[row] ? *own.working_us() : *own.corrected_us);
  }

  // Returns the part of the row, or of what it encloses if it has no prediction of its own.
  [[nodiscard]] std::optional<double> within(std::size_t row) const {
    std::optional<double> sum;
    std::vector<std::size_t> to_do{row};
    while (!to_do.empty()) {
      const std::size_t i = to_do.back();
      to_do.pop_back();
      const auto own = rows_[i].is_sum_of_children ? std::nullopt : of_row(i);
      if (own) {
        sum = sum.value_or(0.0) + *own;
      } else {
        to_do.insert(to_do.end(), children_[i].begin(), children_[i].end());
      }
    }
    return sum;
  }

 private:
  // A region's time is that of what it encloses, and a rest; if that would be less than nothing,
  // all of it is scaled to fit, as for the shares.
  void share_out(std::size_t i, std::vector<std::size_t>& to_do) {
    double inner_us = 0.0;
    for (const std::size_t child : children_[i])
      inner_us += rows_[child].in_iteration_us.value_or(0.0);
    const double whole_us = std::max(rows_[i].in_iteration_us.value_or(0.0), inner_us);
    if (!(whole_us > 0)) return;
    for (const std::size_t child : children_[i]) {
      if (!rows_[child].in_iteration_us) continue;
      part_[child] = part_[i] * *rows_[child].in_iteration_us / whole_us;
      to_do.push_back(child);
    }
  }

  const std::vector<Row>& rows_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::optional<std::size_t>> outermost_;  // the task that a row lies in
  std::vector<double> part_;                           // of that task's time
  std::vector<bool> is_task_;                          // outermost itself
};

// The question that one merged row asks.
struct Question {
  std::size_t merged = 0;
  double asked_us = 0.0;  // sum of what its tasks would be shorter
  std::vector<model::OtherTime> others;
};

std::optional<Question> question_of(const std::vector<MergedRow>& all, std::size_t merged,
                                    const read::TaskGraph& tasks, const Excess& excess) {
  Question question;
  question.merged = merged;
  std::map<std::size_t, double> excess_of_task;
  bool is_known = false;
  for (const std::size_t row : all[merged].rows) {
    const auto own = excess.of_row(row);
    if (!own) continue;
    is_known = true;
    if (*own > 0) excess_of_task[*excess.task_of(row)] += *own;
  }
  if (!is_known) return std::nullopt;
  for (const auto& [task, part] : excess_of_task) {
    const double time_us = tasks.tasks[task].time_us;
    question.others.push_back({task, time_us * std::max(0.0, 1 - part)});
    question.asked_us += time_us * std::min(1.0, part);
  }
  return question;
}

// The longest path through the tasks; where the ranks' collectives are in no common order, each
// rank is taken alone.
model::LongestPath longest_path(WorthFixing& found) {
  try {
    return model::LongestPath(found.path.tasks);
  } catch (const std::invalid_argument& error) {
    found.warnings.push_back(
        fmt::format("the ranks' collectives could not be put into one order, so each rank's "
                    "longest path is its "
                    "own: {}",
                    error.what()));
    found.path.tasks.meetings.clear();
    return model::LongestPath(found.path.tasks);
  }
}

void answer(std::vector<std::optional<double>>& saved_us, const model::LongestPath& path,
            const model::Timetable& table, std::vector<Question> questions) {
  std::ranges::stable_sort(questions, std::greater(), &Question::asked_us);
  std::size_t visited = 0;
  for (const Question& question : questions) {
    const bool is_hidden = std::ranges::all_of(question.others, [&](const model::OtherTime& other) {
      return table.slack_us[other.task] > kNoticeableUs;
    });
    if (is_hidden) {  // or not slower than predicted
      saved_us[question.merged] = 0.0;
      continue;
    }
    if (visited > kMostVisitedTasks) continue;
    visited += path.graph().tasks.size();
    const double shorter_us = table.iteration_us - path.iteration_us(question.others);
    saved_us[question.merged] = shorter_us > kNoticeableUs ? shorter_us : 0.0;
  }
}

// The time of a row and its parts if each takes its prediction, or its measured time without one.
struct PredictedTime {
  double us = 0.0;
  double lower_us = 0.0;
  double upper_us = 0.0;
  double predicted_us = 0.0;  // of `us`
};

std::vector<PredictedTime> predicted_times(const std::vector<Row>& rows) {
  const auto children = children_of(rows);
  std::vector<PredictedTime> times(rows.size());
  for (const std::size_t i : inner_first(children, rows)) {
    const Row& row = rows[i];
    if (row.predicted_us) {
      const double calls = static_cast<double>(row.calls);
      const double us = *row.predicted_us;
      const Interval ends = row.predicted_ci90_us.value_or(Interval{us, us});
      times[i] = {us * calls, ends.lower * calls, ends.upper * calls, us * calls};
      continue;
    }
    double between_us = row.in_iteration_us.value_or(0.0);  // what lies between the parts stays
    PredictedTime all;
    for (const std::size_t child : children[i]) {
      between_us -= rows[child].in_iteration_us.value_or(0.0);
      all.us += times[child].us;
      all.lower_us += times[child].lower_us;
      all.upper_us += times[child].upper_us;
      all.predicted_us += times[child].predicted_us;
    }
    between_us = std::max(0.0, between_us);
    times[i] = {all.us + between_us, all.lower_us + between_us, all.upper_us + between_us,
                all.predicted_us};
  }
  return times;
}

// The whole step as predicted, from end to end.
void predict_path(LongestPathFindings& found, const std::vector<Row>& rows,
                  const model::LongestPath& path, const std::vector<std::size_t>& rows_of_tasks) {
  const auto times = predicted_times(rows);
  std::vector<model::OtherTime> usual;
  std::vector<model::OtherTime> least;
  std::vector<model::OtherTime> most;
  double all_us = 0.0;
  double predicted_us = 0.0;
  for (std::size_t i = 0; i < rows_of_tasks.size(); ++i) {
    const PredictedTime& time = times[rows_of_tasks[i]];
    all_us += time.us;
    predicted_us += time.predicted_us;
    if (time.predicted_us <= 0) continue;
    usual.push_back({i, time.us});
    least.push_back({i, time.lower_us});
    most.push_back({i, time.upper_us});
  }
  if (usual.empty() || !(all_us > 0)) return;
  found.predicted_part = predicted_us / all_us;
  found.predicted_path_us = path.iteration_us(usual);
  // Errors of one model on one GPU go the same way, so all ends are taken together.
  const Interval ends{path.iteration_us(least), path.iteration_us(most)};
  if (ends.lower < ends.upper) found.predicted_path_ci90_us = ends;  // else no row has one
}

}  // namespace

WorthFixing find_worth_fixing(const std::vector<Row>& rows, const std::vector<MergedRow>& merged,
                              const Placement& placement, const IterationShares& shares) {
  WorthFixing found;
  if (!shares.iteration.us) {
    found.path.longest_path_reason = shares.shares_reason;
    return found;
  }
  if (std::ranges::any_of(rows, &Row::any_occurrence)) {
    found.path.longest_path_reason = "the run had no iterations";
    return found;
  }
  RunTasks task = tasks_of_runs(rows, placement);
  Excess excess(rows);
  for (std::size_t i = 0; i < task.rows.size(); ++i) {
    excess.add_outermost(task.rows[i], i);
    const auto beyond = excess.within(task.rows[i]);
    if (!beyond) continue;
    read::Task& own = task.graph.tasks[i];
    own.predicted_us = own.time_us * std::max(0.0, 1 - *beyond);
  }
  found.path.tasks = std::move(task.graph);

  const model::LongestPath path = longest_path(found);
  const read::TaskGraph& graph = found.path.tasks;
  const model::Timetable table = path.timetable();
  found.path.longest_path_us = table.iteration_us;
  std::vector<model::OtherTime> all;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (const auto& predicted_us = graph.tasks[i].predicted_us) all.push_back({i, *predicted_us});
  }
  if (!all.empty()) found.path.all_predicted_us = path.iteration_us(all);
  predict_path(found.path, rows, path, task.rows);
  found.saved_us.resize(merged.size());
  std::vector<Question> questions;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (auto question = question_of(merged, i, graph, excess))
      questions.push_back(std::move(*question));
  }
  answer(found.saved_us, path, table, std::move(questions));
  return found;
}

std::vector<MergedRow> with_savings(std::vector<MergedRow> merged,
                                    const std::vector<std::optional<double>>& saved_us) {
  for (std::size_t i = 0; i < saved_us.size(); ++i)
    merged[i].saved_us_if_predicted = saved_us[i];
  return merged;
}

}  // namespace inline_prof::join
