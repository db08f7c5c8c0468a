#include "model/published/seer/parameters.hpp"

#include "read/input_error.hpp"
#include "read/parameters.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace inline_prof::model::seer {
namespace {

double ceil_div(double value, std::int64_t by) {
  return std::ceil(value / static_cast<double>(by));
}

constexpr std::array<std::string_view, 10> kTrafficFeatures = {
    "in_chan", "in_wid",       "out_chan", "out_wid",    "ker_wid",
    "stride",  "block_launch", "k2cin",    "k2cin_cout", "wo2_k2cin"};
constexpr std::array<std::string_view, 4> kFftTilingFeatures = {"in_chan", "out_chan", "out_wid",
                                                                "ker_wid"};

using read::InputError;
using read::Table;

// Why the node cannot stand there; empty if it can.  Children stand behind their parent, so that a
// walk from the root ends.
std::string complaint_about(const TreeNode& node, std::size_t index, std::size_t node_count,
                            std::size_t feature_count) {
  if (!std::isfinite(node.value)) return "a value that is no number";
  if (node.feature < 0) return "";
  if (static_cast<std::size_t>(node.feature) >= feature_count) {
    return fmt::format("feature {}, the tree has {}", node.feature, feature_count);
  }
  if (!std::isfinite(node.threshold)) return "a threshold that is no number";
  for (const std::int32_t child : {node.left, node.right}) {
    if (child <= static_cast<std::int32_t>(index) ||
        static_cast<std::size_t>(child) >= node_count) {
      return fmt::format("child {}, expected {} to {}", child, index + 1, node_count - 1);
    }
  }
  return "";
}

void read_coefficients(const Table& table, Parameters& parameters) {
  const std::size_t model = table.require("model"), kind = table.require("kind"),
                    coef = table.require("coef"),
                    value =
                        table.find("nlinfit") ? table.require("nlinfit") : table.require("value");
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::pair key(table.cell(row, model), table.cell(row, kind));
    const std::size_t count = coefficient_count(key.first, key.second);
    if (count == 0)
      table.fail(row, fmt::format("SEER has no coefficients {} of {}", key.second, key.first));
    const std::string letter = table.cell(row, coef);
    const std::size_t place =
        letter.size() == 1 ? static_cast<std::size_t>(letter[0] - 'a') : count;
    if (place >= count) {
      table.fail(row, coef,
                 fmt::format("expected a to {}, found \"{}\"", "abcd"[count - 1], letter));
    }
    auto& own = parameters.coefficients[key];
    own.resize(count, unknown);
    if (!std::isnan(own[place])) table.fail(row, coef, "given twice");
    own[place] = table.number(row, value);
  }
  for (const auto& [key, own] : parameters.coefficients) {
    const auto known =
        std::ranges::count_if(own, [](double number) { return !std::isnan(number); });
    if (static_cast<std::size_t>(known) == own.size()) continue;
    throw InputError(fmt::format("{}: {} of the {} coefficients {} of {}", table.label(), known,
                                 own.size(), key.second, key.first));
  }
}

// The numbers of a node as files hold them: feature, threshold, left, right, value, rows.
constexpr std::size_t kNumbersPerNode = 6;

// `fail(node, what)` is called for a node that cannot stand there, and does not return.
template <typename Fail>
Tree tree_from_numbers(const std::vector<double>& numbers, std::string_view name, Fail&& fail) {
  Tree tree;
  const std::size_t count = numbers.size() / kNumbersPerNode;
  for (std::size_t i = 0; i < count; ++i) {
    const double* n = &numbers[i * kNumbersPerNode];
    for (const std::size_t j : {0U, 2U, 3U}) {
      if (n[j] < -1 || n[j] > static_cast<double>(count) + 10 || n[j] != std::floor(n[j]))
        fail(i, fmt::format("number {}: expected an index, found {:g}", j + 1, n[j]));
    }
    tree.nodes.push_back({.feature = static_cast<std::int32_t>(n[0]),
                          .threshold = n[1],
                          .left = static_cast<std::int32_t>(n[2]),
                          .right = static_cast<std::int32_t>(n[3]),
                          .value = n[4],
                          .row_count = n[5] >= 0 && n[5] < 1e15 ? std::llround(n[5]) : 0});
    const std::string wrong =
        complaint_about(tree.nodes.back(), i, count, tree_features(name).size());
    if (!wrong.empty()) fail(i, wrong);
  }
  return tree;
}

void read_trees(const Table& table, Parameters& parameters) {
  const std::size_t tree = table.require("tree"), node = table.require("node"),
                    feature_name = table.require("feature"), value = table.require("value"),
                    feature = table.require("feature_index"), rows = table.require("n"),
                    threshold = table.require("threshold"), left = table.require("left"),
                    right = table.require("right");
  struct Lines {
    std::vector<std::size_t> rows;  // of each node
    std::vector<double> numbers;
  };
  std::map<std::string, Lines> trees;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string name = table.cell(row, tree);
    const auto features = tree_features(name);
    if (features.empty()) table.fail(row, tree, fmt::format("SEER has no tree {}", name));
    Lines& lines = trees[name];
    if (table.number(row, node) != static_cast<double>(lines.rows.size()))
      table.fail(row, node, fmt::format("expected {}: nodes in order", lines.rows.size()));
    const double which = table.number(row, feature);
    const bool is_leaf = which < 0;
    if (!is_leaf && (which >= static_cast<double>(features.size()) ||
                     features[static_cast<std::size_t>(which)] != table.cell(row, feature_name))) {
      table.fail(row, feature_name, fmt::format("is not feature {} of {}", which, name));
    }
    const auto number = [&](std::size_t column, double of_a_leaf) {
      return is_leaf ? of_a_leaf : table.number(row, column);
    };
    for (const double each : {which, number(threshold, 0), number(left, -1), number(right, -1),
                              table.number(row, value), table.number(row, rows)})
      lines.numbers.push_back(each);
    lines.rows.push_back(row);
  }
  for (const auto& [name, own] : trees) {
    const Lines& lines = own;  // clang 14 captures no name of a binding
    parameters.trees[name] = tree_from_numbers(
        lines.numbers, name,
        [&](std::size_t i, const std::string& what) { table.fail(lines.rows[i], what); });
  }
}

Parameters from_parameter_file(const read::Parameters& file) {
  Parameters parameters;
  for (const auto& item : file.parameters.items()) {
    const std::string& name = item.key();
    const std::vector<double> numbers = file.numbers(name);
    if (!tree_features(name).empty()) {
      const auto fail = [&](std::size_t node, const std::string& what) {
        throw InputError(
            fmt::format("{}: /parameters/{}: node {}: {}", file.label, name, node, what));
      };
      if (numbers.empty() || numbers.size() % kNumbersPerNode != 0)
        fail(0, fmt::format("{} numbers, expected {} a node", numbers.size(), kNumbersPerNode));
      parameters.trees[name] = tree_from_numbers(numbers, name, fail);
      continue;
    }
    const std::size_t blank = std::min(name.find(' '), name.size());
    const std::string model = name.substr(0, blank);
    const std::string kind = name.substr(std::min(blank + 1, name.size()));
    const std::size_t count = coefficient_count(model, kind);
    if (count == 0 || count != numbers.size()) {
      throw InputError(
          fmt::format("{}: /parameters/{}: {}", file.label, name,
                      count == 0 ? "SEER has no such coefficients or tree"
                                 : fmt::format("{} numbers, expected {}", numbers.size(), count)));
    }
    parameters.coefficients[{model, kind}] = numbers;
  }
  return parameters;
}

}  // namespace

std::size_t find_variant(std::string_view name) {
  const auto* const it =
      std::ranges::find_if(kVariants, [&](const Variant& variant) { return variant.name == name; });
  return static_cast<std::size_t>(it - kVariants.begin());
}

std::vector<std::size_t> variants_of(Algorithm algorithm, std::int64_t filter_width) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < kVariants.size(); ++i) {
    const Variant& variant = kVariants[i];
    const bool fits = variant.filter_width == 0 || variant.filter_width == filter_width;
    if (variant.algorithm == algorithm && fits) found.push_back(i);
  }
  return found;
}

std::int64_t fft_width(std::int64_t in_width) {
  const auto* const it = std::lower_bound(kFftWidths.begin(), kFftWidths.end(), in_width);
  return it == kFftWidths.end() ? 0 : *it;
}

Sizes::Sizes(const read::SeerLayer& layer)
    : n(static_cast<double>(layer.batch)),
      c(static_cast<double>(layer.in_channels)),
      wi(static_cast<double>(layer.in_width)),
      k(static_cast<double>(layer.out_channels)),
      wo(static_cast<double>(layer.out_width)),
      filter(static_cast<double>(layer.filter_width)),
      stride(static_cast<double>(layer.stride)),
      volume(filter * filter * c) {}

double launched_blocks(const Variant& variant, const read::SeerLayer& layer, Edition edition) {
  const Sizes sizes(layer);
  const bool is_published = edition == Edition::kPublished;
  switch (variant.algorithm) {
    case Algorithm::kWinograd: {
      // F(2x2, 3x3): tiles of the output; the published program covers the input with them.
      const double tiles = ceil_div(is_published ? sizes.wi : sizes.wo, 2);
      return ceil_div(sizes.n, variant.images) * ceil_div(tiles, variant.rows) *
             ceil_div(tiles, variant.columns) * ceil_div(sizes.k, 32);
    }
    case Algorithm::kWinogradNonfused: {
      // F(4x4, 3x3) and F(9x9, 5x5): a tile of outputs is made of (outputs + k - 1)^2 independent
      // matrix products.
      const bool is_narrow = variant.filter_width == 3;
      const double tiles = ceil_div(sizes.wo, is_narrow ? 4 : 9), products = is_narrow ? 36 : 169;
      // The published program takes blocks of 64 columns, though a tile of 128x128 has 128.
      const std::int64_t columns = is_published ? 64 : variant.columns;
      return ceil_div(sizes.n * tiles * tiles, variant.rows) * ceil_div(sizes.k, columns) *
             products;
    }
    default:
      return ceil_div(sizes.n * sizes.wo * sizes.wo, variant.rows) *
             ceil_div(sizes.k, variant.columns);
  }
}

std::size_t precomp_gemm_variant(std::int64_t out_channels) {
  const std::int64_t k = out_channels;
  if (k <= 32 || (k > 64 && k <= 96)) return 0;
  if (k <= 64 || (k > 128 && k <= 192) || (k > 256 && k <= 320)) return 1;
  return 2;
}

double Tree::evaluate(std::span<const double> features) const {
  const TreeNode* node = &nodes.front();
  while (node->feature >= 0) {
    const bool is_less = features[static_cast<std::size_t>(node->feature)] < node->threshold;
    node = &nodes[static_cast<std::size_t>(is_less ? node->left : node->right)];
  }
  return node->value;
}

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

const std::vector<double>* Parameters::find(std::string_view model, std::string_view kind) const {
  const auto it = coefficients.find(std::pair(std::string(model), std::string(kind)));
  return it == coefficients.end() ? nullptr : &it->second;
}

const std::vector<double>& Parameters::need(std::string_view model, std::string_view kind) const {
  const std::vector<double>* found = find(model, kind);
  if (found == nullptr) {
    throw std::invalid_argument(
        fmt::format("no {} coefficients {} of {}", coefficient_count(model, kind), kind, model));
  }
  return *found;
}

const Tree& Parameters::need_tree(std::string_view name) const {
  const auto it = trees.find(name);
  if (it == trees.end()) throw std::invalid_argument(fmt::format("no tree {}", name));
  return it->second;
}

std::span<const std::string_view> tree_features(std::string_view tree) {
  const std::span<const std::string_view> all = kTrafficFeatures;
  if (tree == "ctree_algo5") return kFftTilingFeatures;
  for (const std::string_view name :
       {"ctree_kernel_algo0", "ctree_kernel_algo2", "ctree_kernel_algo6", "ctree_kernel_algo7",
        "rtree_conv_grad_input", "rtree_conv_grad_filter"}) {
    if (tree == name) return all.first(6);
  }
  for (const std::string_view prefix : {"rtree_dread_", "rtree_dwrite_", "ctree_"}) {
    if (!tree.starts_with(prefix)) continue;
    const std::size_t variant = find_variant(tree.substr(prefix.size()));
    if (variant == kNoVariant) return {};
    if (prefix == "ctree_") return all.first(7);
    return is_winograd(kVariants[variant].algorithm) ? all.first(6) : all;
  }
  return {};
}

const OperatorEntry* find_operator(std::string_view name) {
  const auto* const it = std::ranges::find_if(
      kOperators, [&](const OperatorEntry& entry) { return entry.name == name; });
  return it == kOperators.end() ? nullptr : it;
}

double fft_tiles(const read::SeerLayer& layer) {
  const Sizes sizes(layer);
  const double across = std::ceil(sizes.wo / (static_cast<double>(kFftTile + 1) - sizes.filter));
  return across * across;
}

std::vector<double> linear_terms(std::string_view model, const read::SeerLayer& layer) {
  const Sizes sizes(layer);
  auto [n, c, wi, k, wo, filter, stride, volume] = sizes;
  if (model == "conv_1x1_less128") k = 32.0 * std::ceil(k / 32.0);
  const double in = n * wi * wi * c, out = n * wo * wo * k, products = out * filter * filter * c;
  if (model == "maxpool") return {out * filter, in, out, 1.0};
  if (model == "maxpool_grad") return {out * filter, in, 1.0};
  if (model == "conv_1x1_less128") return {in, out, products, 1.0};
  if (model == "conv_1x1_larger128") return {products, 1.0};
  if (model == "data_layout") return {in, 1.0};
  // Images to columns.
  if (model == "algo2_pre") return {n * wo * wo * volume, k * volume, 1.0};
  // Transforms of input, filter and output.  The batch in the filter's term is the original's.
  if (model.ends_with("_pre")) return {n * c * wi * wi, n * volume * k, n * k * wo * wo, 1.0};
  // The multiplications between FFTs.  Neither the batch nor the image within its bucket is in it:
  // it holds for the batch of 128 that it was fitted on.
  const double tiles = model == "algo5" ? fft_tiles(layer) : 1.0;
  return {tiles * c, tiles * (c * k), tiles * k, tiles};
}

double Parameters::linear_ms(std::string_view model, std::string_view kind,
                             const read::SeerLayer& layer) const {
  const std::vector<double> terms = linear_terms(model, layer);
  const std::vector<double>& own = need(model, kind);
  return std::inner_product(terms.begin(), terms.end(), own.begin(), 0.0);
}

Parameters read_seer_parameters(const std::filesystem::path& file) {
  if (file.extension() == ".json") return from_parameter_file(read::read_parameters(file, "seer"));
  Parameters parameters;
  read_coefficients(read::read_table(file), parameters);
  std::string name = file.filename().string();
  const std::size_t word = name.rfind("coeffs");
  if (word != std::string::npos) {
    const auto trees = file.parent_path() / name.replace(word, 6, "trees");
    if (std::filesystem::exists(trees)) read_trees(read::read_table(trees), parameters);
  }
  return parameters;
}

nlohmann::json seer_parameters_json(const Parameters& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, numbers] : parameters.coefficients) {
    json[fmt::format("{} {}", key.first, key.second)] = numbers;
  }
  for (const auto& [name, tree] : parameters.trees) {
    auto& numbers = json[name] = nlohmann::json::array();
    for (const TreeNode& node : tree.nodes) {
      for (const double number :
           {static_cast<double>(node.feature), node.threshold, static_cast<double>(node.left),
            static_cast<double>(node.right), node.value, static_cast<double>(node.row_count)}) {
        numbers.push_back(number);
      }
    }
  }
  return json;
}

}  // namespace inline_prof::model::seer
