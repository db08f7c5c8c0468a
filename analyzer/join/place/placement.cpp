#include "join/place/placement.hpp"

#include "join/rows/row.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace inline_prof::join {

namespace {

void collect(const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children,
             std::size_t outermost, std::vector<std::size_t>& found) {
  std::vector<std::size_t> to_do{outermost};
  while (!to_do.empty()) {
    const std::size_t i = to_do.back();
    to_do.pop_back();
    if (rows[i].in_iteration_us) {
      found.push_back(i);
    } else {
      to_do.insert(to_do.end(), children[i].begin(), children[i].end());
    }
  }
}

void find_outermost(const std::vector<Row>& rows, std::map<DeviceKey, DevicePlacement>& devices) {
  const auto children = children_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    DevicePlacement& device = devices[device_of(rows[i])];
    if (!rows[i].parent) collect(rows, children, i, device.rows);
  }
  for (auto& [key, device] : devices)
    std::ranges::stable_sort(device.rows, {}, [&](std::size_t i) { return rows[i].start_index; });
}

}  // namespace

Placement placement_of(const std::vector<Run>& runs, const std::vector<Row>& rows) {
  Placement placement;
  find_outermost(rows, placement.devices);
  for (auto& [key, device] : placement.devices) {
    const std::vector<std::size_t>& own = device.rows;
    device.has_others = runs[key.first].profile.world_size.value_or(1) > 1 ||
                        std::ranges::any_of(own, [&](std::size_t i) {
                          return rows[i].stream_index != rows[own.front()].stream_index;
                        });
    std::map<std::size_t, double> in_order;
    if (std::ranges::any_of(device.rows,
                            [&](std::size_t i) { return rows[i].mean_offset_us.has_value(); }))
      in_order = offsets_in_order(rows, device.rows, device.has_others);
    Lanes lanes;
    Replays replays;
    for (const std::size_t i : device.rows) {
      const auto better = in_order.find(i);
      const auto seen_us =
          better != in_order.end() ? std::optional(better->second) : rows[i].offset_us;
      const auto [lane, start_us] = lanes.place(rows[i], seen_us);
      placement.places[i] = {.lane = lane,
                             .start_us = start_us,
                             .end_us = start_us + *rows[i].in_iteration_us,
                             .seen_us = seen_us,
                             .is_inside_replay = replays.is_inside(rows[i])};
    }
    device.lanes = lanes.count();
  }
  return placement;
}

namespace {

// A smaller part of the shorter row is no overlap: medians are off by as much.
constexpr double kLeastOverlap = 0.5;
// Grids that a GPU runs at a time (CUDA C++ Programming Guide 13, technical specifications per
// compute capability), so that no file takes quadratic time.
constexpr std::size_t kMostAtATime = 128;

}  // namespace

// The lane that was in use last, and is free by now; a graph's kernel gets a new one where none is,
// or the next one to be free.
Lanes::Lane& Lanes::lane_for(std::vector<Lane>& lanes, const Row& row,
                             const std::optional<double>& offset_us) {
  const bool may_be_beside = row.is_graph_node && offset_us;
  Lane* found = nullptr;
  for (Lane& lane : lanes) {
    const double slack_us = kLeastOverlap * std::min(lane.last_us, *row.in_iteration_us);
    if (may_be_beside && lane.seen_end_us > *offset_us + slack_us) continue;
    if (found == nullptr || lane.seen_end_us > found->seen_end_us) found = &lane;
  }
  if (found != nullptr) return *found;
  if (lanes.size() == kMostAtATime) {
    return *std::ranges::min_element(
        lanes, [](const Lane& a, const Lane& b) { return a.seen_end_us < b.seen_end_us; });
  }
  lanes.push_back({.number = count_++});
  return lanes.back();
}

Lanes::LaneStart Lanes::place(const Row& row, const std::optional<double>& offset_us) {
  Lane& lane = lane_for(lanes_of_[row.stream_index], row, offset_us);
  const double start_us = std::max(offset_us.value_or(lane.end_us), lane.end_us);
  lane.last_us = *row.in_iteration_us;
  lane.end_us = start_us + lane.last_us;
  lane.seen_end_us = offset_us.value_or(start_us) + lane.last_us;
  return {.lane = lane.number, .start_us = start_us};
}

namespace {

// Finds where the rows of a stream begin, from offsets that were measured in different iterations,
// each with an error.  It takes the nearest starts (least squares) by which no row begins before
// those before it have ended, and by which rows that stood in the queue follow each other.
class StreamInOrder {
 public:
  // In the order of the launches.  `follows`: the work before it is all that it waited for.
  void add(std::size_t row, double offset_us, double length_us, bool follows) {
    if (!follows || units_.empty()) units_.emplace_back();
    units_.back().push_back({row, offset_us - busy_us_, busy_us_});
    busy_us_ += length_us;
  }

  void set_offsets(std::map<std::size_t, double>& offsets_us) const {
    std::vector<Line> lines;
    std::vector<Stretch> stretches;
    double inner_us = 0.0;  // of the gaps inside the units before
    for (const Unit& unit : units_) {
      const Line& line = lines.emplace_back(line_of(unit));
      const auto count = static_cast<double>(unit.size());
      stretches.push_back({(line.begin_us - inner_us) * count, count, 1});
      inner_us += line.gap_us * (count - 1);
      while (stretches.size() > 1 && stretches.rbegin()[1].mean_us() > stretches.back().mean_us()) {
        const Stretch last = stretches.back();
        stretches.pop_back();
        stretches.back().sum_us += last.sum_us;
        stretches.back().works += last.works;
        stretches.back().units += last.units;
      }
    }
    std::size_t at = 0;
    inner_us = 0.0;
    for (const Stretch& stretch : stretches) {
      for (std::size_t i = 0; i < stretch.units; ++i, ++at) {
        for (std::size_t work = 0; work < units_[at].size(); ++work) {
          const Place& place = units_[at][work];
          offsets_us[place.row] = stretch.mean_us() + inner_us + place.busy_before_us +
                                  lines[at].gap_us * static_cast<double>(work);
        }
        inner_us += lines[at].gap_us * static_cast<double>(units_[at].size() - 1);
      }
    }
  }

 private:
  struct Place {
    std::size_t row = 0;
    double behind_us = 0.0;       // the iteration's start, less the stream's work before it
    double busy_before_us = 0.0;  // that
  };
  // Works that follow each other.
  using Unit = std::vector<Place>;
  struct Line {
    double begin_us = 0.0;
    double gap_us = 0.0;  // before each work but the first
  };
  // Units without a gap between them.
  struct Stretch {
    double sum_us = 0.0;
    double works = 0.0;
    std::size_t units = 0;
    [[nodiscard]] double mean_us() const { return sum_us / works; }
  };

  static Line line_of(const Unit& unit) {
    const auto count = static_cast<double>(unit.size());
    const double middle = (count - 1) / 2;
    double sum_us = 0.0;
    double product = 0.0;
    double squares = 0.0;
    for (std::size_t work = 0; work < unit.size(); ++work) {
      const double from_middle = static_cast<double>(work) - middle;
      sum_us += unit[work].behind_us;
      product += from_middle * unit[work].behind_us;
      squares += from_middle * from_middle;
    }
    const double mean_us = sum_us / count;
    double gap_us = squares > 0 ? std::clamp(product / squares, 0.0, kLongestStartUs) : 0.0;
    double errors = 0.0;  // squared
    for (std::size_t work = 0; work < unit.size(); ++work) {
      const double at = static_cast<double>(work) - middle;
      errors += std::pow(unit[work].behind_us - mean_us - gap_us * at, 2);
    }
    // A slope that is no larger than twice its standard error says nothing of a gap.
    if (count > 2 && gap_us < 2 * std::sqrt(errors / (count - 2) / squares)) gap_us = 0.0;
    return {mean_us - gap_us * middle, gap_us};
  }

  std::vector<Unit> units_;
  double busy_us_ = 0.0;
};

// Nodes of graphs that may run beside each other: together they take longer than from the first to
// the last.
std::set<std::size_t> nodes_beside_others(const std::vector<Row>& rows,
                                          std::span<const std::size_t> outermost) {
  std::set<std::size_t> found;
  std::vector<std::size_t> nodes;
  const auto end_replay = [&] {
    double begin_us = 0.0;
    double end_us = 0.0;
    double busy_us = 0.0;
    for (const std::size_t i : nodes) {
      const Row& row = rows[i];
      const double own_end_us = *row.offset_us + *row.in_iteration_us;
      begin_us = i == nodes.front() ? *row.offset_us : std::min(begin_us, *row.offset_us);
      end_us = i == nodes.front() ? own_end_us : std::max(end_us, own_end_us);
      busy_us += *row.in_iteration_us;
    }
    if (busy_us > end_us - begin_us) found.insert(nodes.begin(), nodes.end());
    nodes.clear();
  };
  Replays replays;
  for (const std::size_t i : outermost) {
    const Row& row = rows[i];
    if (!replays.is_inside(row)) end_replay();
    if (row.is_graph_node && row.offset_us) nodes.push_back(i);
  }
  end_replay();
  return found;
}

}  // namespace

std::map<std::size_t, double> offsets_in_order(const std::vector<Row>& rows,
                                               std::span<const std::size_t> outermost,
                                               bool others) {
  const auto beside_others = nodes_beside_others(rows, outermost);
  std::map<std::int64_t, StreamInOrder> streams;
  Replays replays;
  bool is_placed_before = false;
  for (const std::size_t i : outermost) {
    const Row& row = rows[i];
    const bool is_queued = replays.is_inside(row) || (row.late == 0 && row.queued > 0);
    const auto& offset_us = row.mean_offset_us ? row.mean_offset_us : row.offset_us;
    const bool is_placed = offset_us && !beside_others.contains(i);
    if (is_placed) {
      streams[row.stream_index].add(i, *offset_us, *row.in_iteration_us,
                                    is_queued && is_placed_before && !others);
    }
    is_placed_before = is_placed;
  }
  std::map<std::size_t, double> offsets_us;
  for (const auto& [index, stream] : streams)
    stream.set_offsets(offsets_us);
  return offsets_us;
}

DeviceTime::DeviceTime(const Placement& placement, const DevicePlacement& device)
    : placement_(placement), spans_(device.lanes) {
  for (const std::size_t row : device.rows) {
    const Place& place = placement.places.at(row);
    spans_[place.lane].push_back({place.start_us, place.end_us});
  }
}

double DeviceTime::exposed_us(std::size_t row, double us) const {
  const auto own = placement_.places.find(row);
  if (own == placement_.places.end()) return us;
  const double start_us = own->second.start_us;
  const double end_us = start_us + us;
  std::vector<Span> others;
  for (std::size_t lane = 0; lane < spans_.size(); ++lane) {
    if (lane == own->second.lane) continue;
    const auto& spans = spans_[lane];
    auto span = std::ranges::partition_point(
        spans, [&](const Span& other) { return other.end_us <= start_us; });
    for (; span != spans.end() && span->start_us < end_us; ++span)
      others.push_back(*span);
  }
  std::ranges::sort(others, {}, &Span::start_us);
  double exposed_us = 0.0;
  double at_us = start_us;
  for (const Span& other : others) {
    exposed_us += std::max(0.0, other.start_us - at_us);
    at_us = std::max(at_us, std::min(other.end_us, end_us));
  }
  return exposed_us + end_us - at_us;
}

namespace {

// Returns the time of all calls in one iteration.  The calls of an any_occurrence row are those of
// the whole run.
double in_iteration_us(const Row& row, double time_us, const Run& run) {
  double calls = static_cast<double>(row.calls);
  if (row.any_occurrence) {
    calls /= std::max(1.0, static_cast<double>(run.profile.iter_time_ms.size()));
  }
  return calls * time_us;
}

class UnmeasuredTimes {
 public:
  explicit UnmeasuredTimes(const std::vector<Row>& rows) {
    std::map<Key, std::vector<double>> times;
    for (const Row& row : rows) {
      if (row.corrected_us) times[key(row)].push_back(*row.corrected_us);
    }
    for (auto& [kernel, values] : times)
      median_us_[kernel] = median(std::move(values));
  }

  [[nodiscard]] std::optional<double> of(const Row& row) const {
    const auto it = median_us_.find(key(row));
    if (it != median_us_.end()) return it->second;
    return row.predicted_us;
  }

 private:
  using Key = std::tuple<std::size_t, std::int64_t, std::string>;
  static Key key(const Row& row) {
    return {row.profile, row.device_id, row.kernel_name.empty() ? row.event : row.kernel_name};
  }
  std::map<Key, double> median_us_;
};

}  // namespace

TimedRows timed_rows(const std::vector<Run>& runs, std::vector<Row> rows) {
  TimedRows timed{.rows = std::move(rows), .unmeasured = {}};
  UnmeasuredRows& counts = timed.unmeasured;
  std::optional<UnmeasuredTimes> times;  // seldom needed, and long in the making
  const auto children = children_of(timed.rows);
  for (std::size_t i = 0; i < timed.rows.size(); ++i) {
    Row& row = timed.rows[i];
    // Samples of any occurrence come from calls of different sizes: the calls take their mean.
    std::optional<double> time_us = row.any_occurrence ? row.mean_us : row.corrected_us;
    if (!time_us) {
      ++counts.unmeasured_events;
      if (!row.unmeasured_reason.empty()) ++counts.unmeasured_reasons[row.unmeasured_reason];
      if (children[i].empty()) {
        if (!times) times.emplace(timed.rows);
        time_us = times->of(row);
      }
      if (!time_us && children[i].empty()) ++counts.unmeasured_without_time;
    }
    if (time_us) row.in_iteration_us = in_iteration_us(row, *time_us, runs[row.profile]);
  }
  return timed;
}

}  // namespace inline_prof::join
