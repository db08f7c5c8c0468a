#include "join/timeline_layout.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace inline_prof::join {
namespace {

constexpr double kToleratedOverlap = 0.1;

std::optional<double> length_us(const Row& row) {
  if (row.corrected_us) return row.corrected_us;
  if (!row.in_iteration_us) return {};
  return *row.in_iteration_us / static_cast<double>(std::max<std::int64_t>(1, row.calls));
}

class TrackBuilder {
 public:
  TrackBuilder(const std::vector<Row>& rows, const Placement& placement, TimelineTrack& track)
      : rows_(rows), places_(placement.places), track_(track) {}

  void add(std::size_t index) {
    const Row& row = rows_[index];
    const auto length = length_us(row);
    if (!length) return;
    TimelineBar bar;
    bar.row = index;
    bar.length_us = *length;
    bar.has_place = row.offset_us.has_value();
    const std::optional<std::size_t> parent = placed_parent(row);
    double& previous_end_us = end_within_[parent ? static_cast<std::ptrdiff_t>(*parent) : -1];
    std::size_t lane = 0;
    double moved_us = 0.0;  // with what encloses it
    if (parent) {
      const TimelineBar& outer = track_.bars[*parent];
      moved_us = outer.start_us - rows_[outer.row].offset_us.value_or(outer.start_us);
      previous_end_us = std::max(previous_end_us, outer.start_us);
      lane = outer.lane + 1;
    }
    const auto own = places_.find(index);
    bar.start_us = own != places_.end() ? own->second.seen_us.value_or(previous_end_us)
                   : row.offset_us      ? *row.offset_us + moved_us
                                        : previous_end_us;
    place(bar, lane);
    previous_end_us = std::max(previous_end_us, bar.start_us + bar.length_us);
    bar_of_[index] = track_.bars.size();
    track_.bars.push_back(bar);
  }

 private:
  // The nearest enclosing row that has a bar.
  [[nodiscard]] std::optional<std::size_t> placed_parent(const Row& row) const {
    for (auto parent = row.parent; parent; parent = rows_[*parent].parent) {
      const auto it = bar_of_.find(*parent);
      if (it != bar_of_.end()) return it->second;
    }
    return {};
  }

  // The first lane from `lane` on that is free, or nearly so.
  void place(TimelineBar& bar, std::size_t lane) {
    for (;; ++lane) {
      if (lane >= lane_end_.size()) lane_end_.resize(lane + 1);
      LaneEnd& end = lane_end_[lane];
      const double overlap_us = end.end_us - bar.start_us;
      const double shorter_us = std::min(end.length_us, bar.length_us);
      if (overlap_us > kToleratedOverlap * shorter_us && end.is_used) continue;
      if (overlap_us > 0 && end.is_used) bar.start_us = end.end_us;
      end = {true, bar.start_us + bar.length_us, bar.length_us};
      bar.lane = lane;
      track_.lanes = std::max(track_.lanes, lane + 1);
      return;
    }
  }

  struct LaneEnd {
    bool is_used = false;
    double end_us = 0.0;
    double length_us = 0.0;
  };

  const std::vector<Row>& rows_;
  const std::map<std::size_t, Place>& places_;
  TimelineTrack& track_;
  std::vector<LaneEnd> lane_end_;
  std::map<std::size_t, std::size_t> bar_of_;    // row to bar
  std::map<std::ptrdiff_t, double> end_within_;  // by the enclosing bar; -1: by none
};

}  // namespace

std::vector<TimelineTrack> timeline_layout(const Analysis& analysis) {
  std::vector<std::size_t> order(analysis.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  // An outer row begins no later than what it encloses, and ends no earlier.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Row& first = analysis.rows[a];
    const Row& second = analysis.rows[b];
    return std::tuple(first.start_index, -first.end_index) <
           std::tuple(second.start_index, -second.end_index);
  });

  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, std::vector<std::size_t>> rows_of;
  for (const std::size_t i : order) {
    const Row& row = analysis.rows[i];
    rows_of[{row.profile, row.device_id, row.stream_index}].push_back(i);
  }
  std::vector<TimelineTrack> tracks;
  for (const auto& [key, rows] : rows_of) {
    TimelineTrack track;
    std::tie(track.run, track.device_id, track.stream_index) = key;
    TrackBuilder builder(analysis.rows, analysis.placement, track);
    for (const std::size_t row : rows)
      builder.add(row);
    if (!track.bars.empty()) tracks.push_back(std::move(track));
  }
  return tracks;
}

}  // namespace inline_prof::join
