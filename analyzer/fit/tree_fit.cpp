#include "fit/tree_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using model::seer::Tree;
using model::seer::TreeNode;
using Rows = std::vector<std::size_t>;

// How mixed a set of rows is, times their number: n (1 - sum p_c^2) for classes, the sum of squared
// deviations from the mean for a regression.  Rows are added and removed one by one.
class Impurity {
 public:
  Impurity(TreeKind kind, std::size_t class_count) : kind_(kind), counts_(class_count, 0.0) {}

  void add(double value, double sign = 1.0) {
    count_ += sign;
    if (kind_ == TreeKind::kClass) {
      double& count = counts_[static_cast<std::size_t>(value)];
      square_sum_ += sign * (2.0 * count + sign);  // (c + s)^2 - c^2, for s = 1 or -1
      count += sign;
    } else {
      sum_ += sign * value;
      square_sum_ += sign * value * value;
    }
  }

  [[nodiscard]] double total() const {
    if (count_ <= 0) return 0.0;
    if (kind_ == TreeKind::kClass) return count_ - square_sum_ / count_;
    return square_sum_ - sum_ * sum_ / count_;
  }

  // Returns the most frequent class (the smallest of several), or the mean.
  [[nodiscard]] double answer() const {
    if (kind_ == TreeKind::kRegression) return sum_ / count_;
    const auto most = std::ranges::max_element(counts_);
    return static_cast<double>(most - counts_.begin());
  }

 private:
  TreeKind kind_;
  double count_ = 0.0;
  double sum_ = 0.0;         // of the values
  double square_sum_ = 0.0;  // of the values' squares, or of the class counts' squares
  std::vector<double> counts_;
};

struct Split {
  std::int32_t feature = -1;
  double threshold = 0.0;
  double gain = 0.0;
};

// A split has to gain this share of its node's impurity more than the one before it: smaller
// differences are rounding, and would make the outcome depend on the order of the rows.
constexpr double kGainResolution = 1e-9;

// A regression node whose mean squared deviation is below this share of the root's is a leaf
// (MATLAB's QuadraticErrorTolerance).
constexpr double kErrorTolerance = 1e-6;

class Grower {
 public:
  Grower(std::span<const TreeSample> samples, TreeKind kind, const TreeOptions& options)
      : samples_(samples), kind_(kind), options_(options) {
    if (samples.empty()) throw std::invalid_argument("a tree of no samples");
    for (const TreeSample& sample : samples) {
      if (sample.features.size() != samples.front().features.size()) {
        throw std::invalid_argument("a tree of samples with different features");
      }
      if (kind == TreeKind::kRegression) {
        centre_ += sample.value / static_cast<double>(samples.size());
      } else if (sample.value >= 0 && sample.value < 1000 &&
                 sample.value == std::floor(sample.value)) {
        class_count_ = std::max(class_count_, static_cast<std::size_t>(sample.value) + 1);
      } else {
        throw std::invalid_argument("a tree of classes that are no small integers");
      }
    }
  }

  Tree grow() {
    Rows all(samples_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    add_node(std::move(all));
    root_error_ = impurity_of(rows_[0]).total() / static_cast<double>(samples_.size());

    std::size_t splits = 0;
    std::size_t layer_begin = 0;
    while (layer_begin < tree_.nodes.size()) {
      const std::size_t layer_end = tree_.nodes.size();
      std::map<std::size_t, Split> layer;  // by node, which is the order children are added in
      for (std::size_t node = layer_begin; node < layer_end; ++node) {
        if (const auto split = best_split(rows_[node])) layer.emplace(node, *split);
      }
      const bool is_last = splits + layer.size() > options_.max_splits;
      if (is_last) keep_best(layer, options_.max_splits - splits);
      for (const auto& [node, split] : layer) {
        apply(node, split);
      }
      splits += layer.size();
      if (is_last) break;
      layer_begin = layer_end;
    }
    return std::move(tree_);
  }

 private:
  // Squares of values far from 0 would cancel, so a regression works on deviations from the mean.
  [[nodiscard]] double value(std::size_t row) const { return samples_[row].value - centre_; }

  [[nodiscard]] Impurity impurity_of(const Rows& rows) const {
    Impurity impurity(kind_, class_count_);
    for (const std::size_t row : rows) {
      impurity.add(value(row));
    }
    return impurity;
  }

  void add_node(Rows rows) {
    TreeNode node;
    node.row_count = static_cast<std::int64_t>(rows.size());
    node.value = impurity_of(rows).answer() + centre_;
    tree_.nodes.push_back(node);
    rows_.push_back(std::move(rows));
  }

  [[nodiscard]] std::optional<Split> best_split(const Rows& rows) const {
    if (rows.size() < options_.min_parent_rows) return std::nullopt;
    const Impurity whole = impurity_of(rows);
    const double total = whole.total();
    if (!(total > 0)) return std::nullopt;
    if (kind_ == TreeKind::kRegression &&
        !(total / static_cast<double>(rows.size()) > kErrorTolerance * root_error_)) {
      return std::nullopt;
    }

    Split best;
    Rows sorted = rows;
    for (std::size_t feature = 0; feature < samples_.front().features.size(); ++feature) {
      const auto key = [&](std::size_t row) { return samples_[row].features[feature]; };
      std::ranges::stable_sort(sorted,
                               [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
      Impurity left(kind_, class_count_);
      Impurity right = whole;
      for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
        left.add(value(sorted[i]));
        right.add(value(sorted[i]), -1.0);
        const double below = key(sorted[i]);
        const double above = key(sorted[i + 1]);
        if (!(below < above)) continue;
        const double gain = total - left.total() - right.total();
        if (gain > best.gain + kGainResolution * total) {
          best = {.feature = static_cast<std::int32_t>(feature),
                  .threshold = (below + above) / 2.0,
                  .gain = gain};
        }
      }
    }
    if (best.feature < 0) return std::nullopt;
    return best;
  }

  static void keep_best(std::map<std::size_t, Split>& layer, std::size_t count) {
    std::vector<std::size_t> nodes;
    nodes.reserve(layer.size());
    for (const auto& [node, split] : layer) {
      nodes.push_back(node);
    }
    std::ranges::stable_sort(
        nodes, [&](std::size_t a, std::size_t b) { return layer.at(a).gain > layer.at(b).gain; });
    for (std::size_t i = count; i < nodes.size(); ++i) {
      layer.erase(nodes[i]);
    }
  }

  void apply(std::size_t node, const Split& split) {
    Rows left;
    Rows right;
    for (const std::size_t row : rows_[node]) {
      const auto feature = static_cast<std::size_t>(split.feature);
      (samples_[row].features[feature] < split.threshold ? left : right).push_back(row);
    }
    tree_.nodes[node].feature = split.feature;
    tree_.nodes[node].threshold = split.threshold;
    tree_.nodes[node].left = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes[node].right = tree_.nodes[node].left + 1;
    add_node(std::move(left));
    add_node(std::move(right));
  }

  std::span<const TreeSample> samples_;
  TreeKind kind_;
  TreeOptions options_;
  std::size_t class_count_ = 0;
  double centre_ = 0.0;
  double root_error_ = 0.0;
  Tree tree_;
  std::vector<Rows> rows_;  // of each node
};

}  // namespace

Tree fit_tree(std::span<const TreeSample> samples, TreeKind kind, const TreeOptions& options) {
  return Grower(samples, kind, options).grow();
}

}  // namespace inline_prof::fit
