#include "join/place/offsets_in_order.hpp"

#include "join/place/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace inline_prof::join {
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

}  // namespace inline_prof::join
