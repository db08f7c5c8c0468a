#include "join/layer_sums.hpp"

#include <map>
#include <string_view>

namespace inline_prof::join {
namespace {

class Summer {
 public:
  explicit Summer(const Analysis& analysis) : merged_(analysis.merged), children_(merged_.size()) {
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      if (merged_[i].parent) children_[*merged_[i].parent].push_back(i);
    }
  }

  void add(LayerSum& sum, std::size_t outer) const {
    const MergedRow& row = merged_[outer];
    if (row.in_iteration_us) sum.time_us = sum.time_us.value_or(0.0) + *row.in_iteration_us;
    if (row.share_percent) sum.share_percent = sum.share_percent.value_or(0.0) + *row.share_percent;
    add_compared(sum, outer);
  }

 private:
  // A region without a prediction of its own is compared by what it encloses.
  void add_compared(LayerSum& sum, std::size_t outer) const {
    std::vector<std::size_t> to_do{outer};
    while (!to_do.empty()) {
      const std::size_t i = to_do.back();
      to_do.pop_back();
      const MergedRow& row = merged_[i];
      if (row.ratio && *row.ratio > 0 && row.in_iteration_us) {
        const double working_us = *row.in_iteration_us * row.working_part;
        sum.compared_us = sum.compared_us.value_or(0.0) + working_us;
        sum.predicted_us = sum.predicted_us.value_or(0.0) + working_us / *row.ratio;
      } else {
        to_do.insert(to_do.end(), children_[i].begin(), children_[i].end());
      }
    }
  }

  const std::vector<MergedRow>& merged_;
  std::vector<std::vector<std::size_t>> children_;
};

}  // namespace

std::vector<LayerSum> layer_sums(const Analysis& analysis) {
  const Summer summer(analysis);
  std::vector<LayerSum> sums;
  std::map<std::string_view, std::size_t> sum_of;
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    const std::string& layer = analysis.merged[i].layer;
    const auto [it, is_new] = sum_of.try_emplace(layer, sums.size());
    if (is_new) sums.emplace_back().layer = layer;
    LayerSum& sum = sums[it->second];
    sum.rows.push_back(i);
    if (!is_outermost_of_layer(analysis.merged, i)) continue;
    sum.outer_rows.push_back(i);
    summer.add(sum, i);
  }
  for (LayerSum& sum : sums) {
    if (sum.predicted_us && *sum.predicted_us > 0) sum.ratio = *sum.compared_us / *sum.predicted_us;
  }
  return sums;
}

}  // namespace inline_prof::join
