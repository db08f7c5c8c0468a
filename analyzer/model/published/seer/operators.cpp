#include "model/published/seer/operators.hpp"

#include "model/published/seer/block_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace inline_prof::model::seer {

const OperatorEntry* find_operator(std::string_view name) {
  const auto* const it =
      std::find_if(kOperators.begin(), kOperators.end(),
                   [&](const OperatorEntry& entry) { return entry.name == name; });
  return it == kOperators.end() ? nullptr : it;
}

std::vector<double> operator_terms(Operator which, const read::SeerLayer& layer) {
  const auto batch = static_cast<double>(layer.batch);
  const auto in_width = static_cast<double>(layer.in_width);
  const auto out_width = static_cast<double>(layer.out_width);
  const auto c = static_cast<double>(layer.in_channels);
  const auto filter = static_cast<double>(layer.filter_width);
  auto k = static_cast<double>(layer.out_channels);
  if (which == Operator::kPointwiseNarrow) {
    k = 32.0 * std::ceil(k / 32.0);
  }
  const double in = batch * in_width * in_width * c;
  const double out = batch * out_width * out_width * k;
  const double products = out * filter * filter * c;
  switch (which) {
    case Operator::kMaxPool:
      return {out * filter, in, out, 1.0};
    case Operator::kMaxPoolGradient:
      return {out * filter, in, 1.0};
    case Operator::kPointwiseNarrow:
      return {in, out, products, 1.0};
    case Operator::kPointwiseWide:
      return {products, 1.0};
    case Operator::kDataLayout:
      return {in, 1.0};
    case Operator::kInputGradient:
    case Operator::kFilterGradient:
      break;
  }
  return {};
}

double predict_operator(const Parameters& parameters, const OperatorEntry& entry,
                        const read::SeerLayer& layer, std::optional<double> forward_ms) {
  if (entry.coefficient_count == 0) {
    const std::string name = fmt::format("rtree_{}", entry.name);
    const Tree* tree = parameters.find_tree(name);
    if (tree == nullptr) throw std::invalid_argument(fmt::format("no tree {}", name));
    if (!forward_ms) {
      throw std::invalid_argument(fmt::format("{} needs the forward time", entry.name));
    }
    const auto features = traffic_features(layer, 0.0);
    return *forward_ms * tree->evaluate(std::span(features).first(6));
  }
  const std::vector<double>* found = parameters.find(entry.name, "poly", entry.coefficient_count);
  if (found == nullptr) {
    throw std::invalid_argument(
        fmt::format("no {} coefficients poly of {}", entry.coefficient_count, entry.name));
  }
  const std::vector<double> terms = operator_terms(entry.which, layer);
  return std::inner_product(terms.begin(), terms.end(), found->begin(), 0.0);
}

}  // namespace inline_prof::model::seer
