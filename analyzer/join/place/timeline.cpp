#include "join/place/timeline.hpp"

#include <algorithm>
#include <map>

namespace inline_prof::join {
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
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
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
