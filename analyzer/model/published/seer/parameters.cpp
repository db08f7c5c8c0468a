#include "model/published/seer/parameters.hpp"

#include "model/published/seer/operators.hpp"

#include <fmt/format.h>

namespace inline_prof::model::seer {
namespace {

constexpr std::array<std::string_view, 10> kTrafficFeatures = {
    "in_chan", "in_wid",       "out_chan", "out_wid",    "ker_wid",
    "stride",  "block_launch", "k2cin",    "k2cin_cout", "wo2_k2cin"};
constexpr std::array<std::string_view, 4> kFftTilingFeatures = {"in_chan", "out_chan", "out_wid",
                                                                "ker_wid"};

// The part of `text` behind `prefix`; null if it starts otherwise.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

}  // namespace

std::size_t coefficient_count(std::string_view model, std::string_view kind) {
  if (find_variant(model) != kNoVariant) {
    if (kind == "flop" || kind == "compute" || kind == "dram") return 2;
    return kind == "resource" || kind == "any" ? 4 : 0;
  }
  if (kind == "pre" && model.ends_with("_pre")) {
    model.remove_suffix(4);
    if (model == "algo2") return 3;
    const std::size_t variant = find_variant(model);
    const bool is_nonfused =
        variant != kNoVariant && kVariants[variant].algorithm == Algorithm::kWinogradNonfused;
    return is_nonfused ? 4 : 0;
  }
  if (kind != "poly") return 0;
  if (const OperatorEntry* entry = find_operator(model)) return entry->coefficient_count;
  if (model == "algo5") return 4;
  for (const std::int64_t width : kFftWidths) {
    if (model == fmt::format("algo4_{}", width)) return 4;
  }
  return 0;
}

const std::vector<double>* Parameters::find(std::string_view model, std::string_view kind,
                                            std::size_t count) const {
  const auto it = coefficients.find(std::pair(std::string(model), std::string(kind)));
  return it == coefficients.end() || it->second.size() != count ? nullptr : &it->second;
}

const Tree* Parameters::find_tree(std::string_view name) const {
  const auto it = trees.find(name);
  return it == trees.end() ? nullptr : &it->second;
}

std::span<const std::string_view> tree_features(std::string_view tree) {
  const std::span<const std::string_view> all = kTrafficFeatures;
  if (tree == "ctree_algo5") return kFftTilingFeatures;
  for (const std::string_view name :
       {"ctree_kernel_algo0", "ctree_kernel_algo2", "ctree_kernel_algo6", "ctree_kernel_algo7",
        "rtree_conv_grad_input", "rtree_conv_grad_filter"}) {
    if (tree == name) return all.first(6);
  }
  for (const std::string_view prefix : {"rtree_dread_", "rtree_dwrite_"}) {
    if (const auto name = after(tree, prefix)) {
      const std::size_t variant = find_variant(*name);
      if (variant == kNoVariant) return {};
      return is_winograd(kVariants[variant].algorithm) ? all.first(6) : all;
    }
  }
  if (const auto name = after(tree, "ctree_")) {
    if (find_variant(*name) != kNoVariant) return all.first(7);
  }
  return {};
}

}  // namespace inline_prof::model::seer
