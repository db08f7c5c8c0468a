#include "join/place/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
    if (is_placed)
      streams[row.stream_index].add(i, *offset_us, *row.in_iteration_us,
                                    is_queued && is_placed_before && !others);
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
  if (row.any_occurrence)
    calls /= std::max(1.0, static_cast<double>(run.profile.iter_time_ms.size()));
  return calls * time_us;
}

// Equal for rows that launch the same kernel on the same device, alone or with others behind it.
using KernelKey = std::tuple<std::size_t, std::int64_t, std::string, bool>;
KernelKey kernel_of(const Row& row) {
  return {row.profile, row.device_id, row.kernel_name.empty() ? row.event : row.kernel_name,
          row.is_one_launch};
}

// The times of what was measured of one kernel.
struct KernelTimes {
  std::vector<double> times_us;
  std::vector<double> ratios;  // to their predictions
};

std::map<KernelKey, KernelTimes> times_of_kernels(const std::vector<Row>& rows) {
  std::map<KernelKey, KernelTimes> kernels;
  for (const Row& row : rows) {
    if (!row.corrected_us) continue;
    KernelTimes& times = kernels[kernel_of(row)];
    times.times_us.push_back(*row.corrected_us);
    if (row.predicted_us && *row.predicted_us > 0)
      times.ratios.push_back(*row.corrected_us / *row.predicted_us);
  }
  return kernels;
}

// Returns the time of a row without samples, if it can be told.  One kernel adds large tensors and
// small ones: the prediction says how much longer than the others it takes.
std::optional<double> unmeasured_us(const Row& row,
                                    const std::map<KernelKey, KernelTimes>& kernels) {
  const auto known = kernels.find(kernel_of(row));
  if (known == kernels.end()) return row.predicted_us;
  const KernelTimes& times = known->second;
  if (row.predicted_us && !times.ratios.empty()) return *row.predicted_us * median(times.ratios);
  return median(times.times_us);
}

}  // namespace

TimedRows timed_rows(const std::vector<Run>& runs, std::vector<Row> rows) {
  TimedRows timed{.rows = std::move(rows), .unmeasured = {}};
  UnmeasuredRows& counts = timed.unmeasured;
  std::optional<std::map<KernelKey, KernelTimes>> kernels;  // seldom needed, slowly made
  const auto children = children_of(timed.rows);
  for (std::size_t i = 0; i < timed.rows.size(); ++i) {
    Row& row = timed.rows[i];
    // Samples of any occurrence come from calls of different sizes: the calls take their mean.
    std::optional<double> time_us = row.any_occurrence ? row.mean_us : row.corrected_us;
    if (!time_us) {
      ++counts.unmeasured_events;
      if (!row.unmeasured_reason.empty()) ++counts.unmeasured_reasons[row.unmeasured_reason];
      if (children[i].empty()) {
        if (!kernels) kernels = times_of_kernels(timed.rows);
        time_us = unmeasured_us(row, *kernels);
      }
      if (!time_us && children[i].empty()) ++counts.unmeasured_without_time;
    }
    if (time_us) row.in_iteration_us = in_iteration_us(row, *time_us, runs[row.profile]);
  }
  return timed;
}

namespace {

class DeviceShares {
 public:
  struct Credit {
    std::size_t row = 0;
    double time_us = 0.0;
  };

  DeviceShares(const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children)
      : rows_(rows), children_(children) {}

  // Gives `root`, and what it encloses, `time_us` of the device's time.
  void credit(std::size_t root, double time_us) {
    std::size_t next = credits_.size();
    credits_.push_back({root, time_us});
    for (; next < credits_.size(); ++next)
      share_out(credits_[next]);
  }

  [[nodiscard]] const Shares& shares_us() const { return shares_us_; }
  [[nodiscard]] const std::vector<Credit>& credits() const { return credits_; }

 private:
  // Adds one row's time to its share, or hands it on to the rows that it encloses.
  void share_out(const Credit credit) {
    const Row& row = rows_[credit.row];
    if (!row.corrected_us) {
      shares_us_.seen += credit.time_us;
      return;
    }
    double inner_us = 0.0;
    for (const std::size_t child : children_[credit.row])
      inner_us += rows_[child].in_iteration_us.value_or(0.0);
    const bool stands_alone = row.predicted_us && !row.is_sum_of_children;
    if (inner_us <= 0 || stands_alone) {
      (row.predicted_us ? shares_us_.predicted : shares_us_.measured) += credit.time_us;
      return;
    }
    const double whole_us = std::max(*row.in_iteration_us, inner_us);
    const double scale = credit.time_us / whole_us;
    for (const std::size_t child : children_[credit.row]) {
      const auto& child_us = rows_[child].in_iteration_us;
      if (child_us) credits_.push_back({child, *child_us * scale});
    }
    shares_us_.measured += (whole_us - inner_us) * scale;
  }

  const std::vector<Row>& rows_;
  const std::vector<std::vector<std::size_t>>& children_;
  std::vector<Credit> credits_;  // in the order in which they are shared out
  Shares shares_us_;
};

std::vector<double> claimed_times(const std::vector<Row>& rows, const Placement& placement,
                                  const DevicePlacement& device) {
  std::vector<double> claimed_us;
  std::vector<Piece> pieces;
  bool is_placed = true;  // rows without a place in the iteration can only be added up
  for (const std::size_t i : device.rows) {
    const Place& place = placement.places.at(i);
    claimed_us.push_back(*rows[i].in_iteration_us);
    if (rows[i].any_occurrence) is_placed = false;
    pieces.push_back({place.lane, place.start_us, *rows[i].in_iteration_us});
  }
  if (!is_placed || device.lanes < 2) return claimed_us;
  return busy_time(std::move(pieces));
}

void add(Shares& sum, const Shares& shares, double factor) {
  for (const auto part : {&Shares::predicted, &Shares::measured, &Shares::seen, &Shares::idle})
    sum.*part += shares.*part * factor;
}

}  // namespace

DividedIteration divide_iteration(const std::vector<Run>& runs, const std::vector<Row>& rows,
                                  const Placement& placement) {
  DividedIteration divided;
  IterationShares& result = divided.shares;
  std::vector<Iteration> iterations;
  for (const auto& [device, place] : placement.devices) {
    iterations.push_back(runs[device.first].iteration);
    if (iterations.back().us) continue;
    result.shares_reason =
        fmt::format("{} has no iteration times", runs[device.first].profile.file);
    return divided;
  }
  if (iterations.empty()) {
    result.shares_reason = "no events";
    return divided;
  }
  result.iteration = mean_iteration(iterations);

  const auto children = children_of(rows);
  const double weight = 1.0 / static_cast<double>(iterations.size());
  Shares percent;
  Shares time_us;
  divided.credited_percent.assign(rows.size(), 0.0);
  for (const auto& [device, place] : placement.devices) {
    const Run& run = runs[device.first];
    const double iteration_us = *run.iteration.us;
    DeviceShares of_this(rows, children);
    const std::vector<double> claimed_us = claimed_times(rows, placement, place);
    for (std::size_t i = 0; i < claimed_us.size(); ++i)
      of_this.credit(place.rows[i], claimed_us[i]);

    Shares shares = of_this.shares_us();
    const double sum_us = shares.predicted + shares.measured + shares.seen;
    const double factor = sum_us > iteration_us ? iteration_us / sum_us : 1.0;
    // Medians of different iterations: a sum of them may come out a little above the median of
    // sums.
    constexpr double a_little = 1.001, too_much = 1.05;
    if (sum_us > a_little * iteration_us)
      divided.warnings.push_back(fmt::format(
          "{}device {} of {}: the events take {:.3f} ms, more than the iteration's {:.3f} ms; "
          "their shares are scaled down to 100 %",
          sum_us > too_much * iteration_us ? kDoubtfulShares : "", device.second, run.profile.file,
          sum_us * 1e-3, iteration_us * 1e-3));
    for (const auto part : {&Shares::predicted, &Shares::measured, &Shares::seen})
      shares.*part *= factor;
    shares.idle = std::max(0.0, iteration_us - shares.predicted - shares.measured - shares.seen);
    divided.idle_us[device] = shares.idle;
    add(time_us, shares, weight);
    add(percent, shares, weight * 100.0 / iteration_us);
    for (const auto& [row, row_us] : of_this.credits())
      divided.credited_percent[row] += row_us * factor * weight * 100.0 / iteration_us;
  }
  result.shares_percent = percent;
  result.shares_us = time_us;
  return divided;
}

std::vector<MergedRow> with_shares(std::vector<MergedRow> merged, const DividedIteration& divided) {
  if (!divided.shares.shares_percent) return merged;
  for (MergedRow& row : merged) {
    row.share_percent = 0.0;
    for (const std::size_t i : row.rows)
      *row.share_percent += divided.credited_percent[i];
  }
  return merged;
}

namespace {

struct Edge {
  double time_us;
  std::size_t piece;
  bool is_start;
};

}  // namespace

std::vector<double> busy_time(std::vector<Piece> pieces) {
  std::map<std::size_t, double> lane_end_us;
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    const auto [end, first] = lane_end_us.try_emplace(piece.lane, piece.start_us);
    piece.start_us = std::max(piece.start_us, end->second);
    end->second = piece.start_us + piece.length_us;
    edges.push_back({piece.start_us, i, true});
    edges.push_back({end->second, i, false});
  }
  // Ends before starts, so that pieces that only touch never run at the same moment.
  std::ranges::stable_sort(edges, [](const Edge& a, const Edge& b) {
    return a.time_us != b.time_us ? a.time_us < b.time_us : a.is_start < b.is_start;
  });

  std::vector<double> claimed_us(pieces.size(), 0.0);
  std::vector<std::size_t> running;  // at most one piece a lane
  double now_us = 0.0;
  for (const Edge& edge : edges) {
    for (const std::size_t piece : running)
      claimed_us[piece] += (edge.time_us - now_us) / static_cast<double>(running.size());
    now_us = edge.time_us;
    if (edge.is_start) {
      running.push_back(edge.piece);
    } else {
      running.erase(std::remove(running.begin(), running.end(), edge.piece), running.end());
    }
  }
  return claimed_us;
}

}  // namespace inline_prof::join
