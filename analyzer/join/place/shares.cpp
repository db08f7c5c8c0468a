#include "join/place/shares.hpp"

#include "join/rows/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace inline_prof::join {
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
    for (const std::size_t child : children_[credit.row]) {
      inner_us += rows_[child].in_iteration_us.value_or(0.0);
    }
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

void scale_down(Shares& shares, double factor) {
  shares.predicted *= factor;
  shares.measured *= factor;
  shares.seen *= factor;
}

void add(Shares& sum, const Shares& shares, double factor) {
  sum.predicted += shares.predicted * factor;
  sum.measured += shares.measured * factor;
  sum.seen += shares.seen * factor;
  sum.idle += shares.idle * factor;
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
    if (sum_us > a_little * iteration_us) {
      divided.warnings.push_back(fmt::format(
          "{}device {} of {}: the events take {:.3f} ms, more than the iteration's {:.3f} ms; "
          "their shares are scaled down to 100 %",
          sum_us > too_much * iteration_us ? kDoubtfulShares : "", device.second, run.profile.file,
          sum_us * 1e-3, iteration_us * 1e-3));
    }
    scale_down(shares, factor);
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
    for (const std::size_t piece : running) {
      claimed_us[piece] += (edge.time_us - now_us) / static_cast<double>(running.size());
    }
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
