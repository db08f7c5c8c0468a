#include "read/torch_trace/compiled_products.hpp"

#include "read/kernel_tile.hpp"
#include "read/torch_trace/operations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::read::torch_trace {
namespace {

// A linear layer: `out` results for each of `rows`.
struct Layer {
  std::int64_t rows = 0;  // 0: not known yet
  std::int64_t out = 0;
  std::int64_t in = 0;
  bool operator==(const Layer&) const = default;
};

enum class Part : std::uint8_t { kResult, kInputGradient, kWeightsGradient };

// cuBLAS counts the columns of a row-major matrix first: the tile's first side is of n.
struct Product {
  std::size_t work = 0;
  Part part = Part::kResult;
  std::array<std::int64_t, 2> least{}, most{};  // n and m
};

std::optional<Product> product_of(std::size_t work, std::string_view name, std::string_view args) {
  const std::size_t at = name.find("gemm_");
  if (at == std::string_view::npos) return std::nullopt;
  const auto named = tile_in(name.substr(at));
  constexpr double least_side = 16;  // below it are kernels for vectors
  if (!named || std::min(named->first, named->second) < least_side) return std::nullopt;
  const std::array tile{static_cast<std::int64_t>(named->first),
                        static_cast<std::int64_t>(named->second)};
  Product product{.work = work, .least = {}, .most = {}};
  static constexpr std::array<std::pair<std::string_view, Part>, 3> parts{
      {{"_tn", Part::kResult}, {"_nn", Part::kInputGradient}, {"_nt", Part::kWeightsGradient}}};
  const auto* const part = std::ranges::find_if(
      parts, [&](const auto& each) { return name.find(each.first, at) != std::string_view::npos; });
  if (part == parts.end()) return std::nullopt;
  product.part = part->second;
  const auto grid = launch_shape(args).grid;
  constexpr std::int64_t most_parts = 16;  // of a depth that is split; more are a batch
  constexpr std::int64_t most_tiles = 1 << 20;
  if (grid[2] > most_parts) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    if (grid[i] < 1 || grid[i] > most_tiles) return std::nullopt;
    product.least[i] = (grid[i] - 1) * tile[i] + 1;
    product.most[i] = grid[i] * tile[i];
  }
  return product;
}

bool fits(const Product& product, const Layer& layer) {
  const auto lies = [&](std::size_t i, std::int64_t side) {
    return side >= product.least[i] && side <= product.most[i];
  };
  switch (product.part) {
    case Part::kResult:
      return lies(0, layer.out);
    case Part::kInputGradient:
      return lies(0, layer.in) && (layer.rows == 0 || lies(1, layer.rows));
    case Part::kWeightsGradient:
      break;
  }
  return lies(0, layer.in) && lies(1, layer.out) && layer.rows > 0;
}

// Layers that may belong to each product, by their place: those of the longest common order,
// or all that fit and are no other product's where such orders differ.
std::vector<std::vector<std::size_t>> aligned(const std::vector<Product>& products,
                                              const std::vector<Layer>& layers) {
  const std::size_t n = products.size(), m = layers.size();
  constexpr std::size_t most_cells = 4'000'000;
  std::vector<std::vector<std::size_t>> found(n);
  if (n * m > most_cells) return found;
  // The most pairs of the first i products and j layers, and of those from there on.
  std::vector<std::vector<int>> before(n + 1, std::vector<int>(m + 1, 0)), behind = before;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      before[i + 1][j + 1] = std::max({before[i][j + 1], before[i + 1][j],
                                       fits(products[i], layers[j]) ? before[i][j] + 1 : 0});
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      behind[i][j] = std::max({behind[i + 1][j], behind[i][j + 1],
                               fits(products[i], layers[j]) ? behind[i + 1][j + 1] + 1 : 0});
    }
  }
  const int best = before[n][m];
  std::vector<bool> is_taken(m, false), is_certain(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    bool may_be_left_out = false;
    for (std::size_t j = 0; j <= m; ++j) {
      may_be_left_out = may_be_left_out || before[i][j] + behind[i + 1][j] == best;
      if (j < m && fits(products[i], layers[j]) && before[i][j] + 1 + behind[i + 1][j + 1] == best)
        found[i].push_back(j);
    }
    // Equal layers one behind the other are the same for a prediction.
    is_certain[i] = !may_be_left_out && std::ranges::all_of(found[i], [&](std::size_t j) {
      return layers[j] == layers[found[i].front()];
    });
    if (!is_certain[i]) continue;
    const auto free = std::ranges::find_if(found[i], [&](std::size_t j) { return !is_taken[j]; });
    if (free != found[i].end()) is_taken[*free] = true;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (is_certain[i]) {
      found[i].resize(1);
      continue;
    }
    for (std::size_t j = 0; j < m; ++j)
      if (!is_taken[j] && fits(products[i], layers[j])) found[i].push_back(j);
    std::ranges::sort(found[i]);
    found[i].erase(std::unique(found[i].begin(), found[i].end()), found[i].end());
  }
  return found;
}

double volume(const Layer& layer) {
  return static_cast<double>(layer.rows) * static_cast<double>(layer.out) *
         static_cast<double>(layer.in);
}

Op operation_of(const Layer& layer, Part part, std::string_view type) {
  const bool is_result = part == Part::kResult, is_of_weights = part == Part::kWeightsGradient;
  Op op = gemm_of({.m = is_of_weights ? layer.out : layer.rows,
                   .n = is_result ? layer.out : layer.in,
                   .k = is_result       ? layer.in
                        : is_of_weights ? layer.rows
                                        : layer.out},
                  type, type);
  if (is_result) op.attributes.emplace_back("trans_b", true);
  if (is_of_weights) op.attributes.emplace_back("trans_a", true);
  return op;
}

// The layer in the middle of those that may be meant; empty where they differ too much.
std::optional<Layer> usual_of(std::vector<Layer> layers) {
  constexpr double most_apart = 2;
  if (layers.empty()) return std::nullopt;
  std::ranges::stable_sort(layers, {}, volume);
  if (volume(layers.back()) > most_apart * volume(layers.front())) return std::nullopt;
  return layers[layers.size() / 2];
}

class Function {
 public:
  Function(const OperatorCall& call, std::vector<Product> products)
      : products_(std::move(products)) {
    for (const Argument& argument : call.arguments) {
      if (!argument.is_tensor() || argument.sizes.size() != 1 || argument.sizes[0].size() != 2)
        continue;
      const auto& sides = argument.sizes[0];
      if (std::min(sides[0], sides[1]) < 1) continue;
      weights_.push_back({.rows = 0, .out = sides[0], .in = sides[1]});
      if (type_.empty()) type_ = number_type_of(argument);
    }
  }

  [[nodiscard]] bool has_weights() const { return !weights_.empty() && !type_.empty(); }

  // Layers of the forward pass in its order, for the backward pass.
  std::vector<Layer> forward(std::unordered_map<std::size_t, Op>& operations) const {
    std::vector<Layer> order;
    const std::vector<Product> own = of(Part::kResult);
    const auto found = aligned(own, weights_);
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::vector<Layer> layers;
      for (const std::size_t j : found[i]) {
        layers.push_back(weights_[j]);
        layers.back().rows = rows_in(own[i]);
      }
      order.insert(order.end(), layers.begin(), layers.end());
      add(own[i], layers, type_, operations);
    }
    return order;
  }

  // `layers` are those of the forward pass, whose arguments the backward pass has not.
  void backward(const std::vector<Layer>& layers, std::string_view type,
                std::unordered_map<std::size_t, Op>& operations) const {
    const std::vector<Layer> order(layers.rbegin(), layers.rend());
    for (const Part part : {Part::kInputGradient, Part::kWeightsGradient}) {
      const std::vector<Product> own = of(part);
      const auto found = aligned(own, order);
      for (std::size_t i = 0; i < own.size(); ++i) {
        std::vector<Layer> fitting;
        for (const std::size_t j : found[i])
          fitting.push_back(order[j]);
        add(own[i], fitting, type, operations);
      }
    }
  }

  [[nodiscard]] const std::string& type() const { return type_; }

 private:
  [[nodiscard]] std::vector<Product> of(Part part) const {
    std::vector<Product> own;
    std::ranges::copy_if(products_, std::back_inserter(own),
                         [&](const Product& product) { return product.part == part; });
    return own;
  }

  // Inputs have as many rows as results, unless a shape in between has others.
  [[nodiscard]] std::int64_t rows_in(const Product& product) const {
    for (const Layer& argument : weights_)
      if (argument.out >= product.least[1] && argument.out <= product.most[1]) return argument.out;
    return product.most[1];
  }

  static void add(const Product& product, const std::vector<Layer>& layers, std::string_view type,
                  std::unordered_map<std::size_t, Op>& operations) {
    if (const auto layer = usual_of(layers))
      operations.emplace(product.work, operation_of(*layer, product.part, type));
  }

  std::vector<Product> products_;
  std::vector<Layer> weights_;
  std::string type_;
};

}  // namespace

std::unordered_map<std::size_t, Op> compiled_products(const TraceEvents& trace,
                                                      const Places& places) {
  std::map<std::int32_t, std::vector<Product>> products;  // by operator
  for (std::size_t i = 0; i < trace.works.size(); ++i) {
    const std::int32_t host = places.of_work[i].operation;
    if (host < 0 || trace.works[i].kind != WorkKind::kKernel) continue;
    const HostEvent& event = trace.host[static_cast<std::size_t>(host)];
    if (trace.names.text(event.name).find("CompiledFunction") == std::string::npos) continue;
    const GpuWork& work = trace.works[i];
    if (const auto product = product_of(i, trace.names.text(work.name), work.args))
      products[host].push_back(*product);
  }
  std::unordered_map<std::size_t, Op> operations;
  std::map<std::int64_t, std::pair<std::vector<Layer>, std::string>> forward;  // by sequence
  for (const bool is_backward : {false, true}) {
    for (const auto& [host, own] : products) {
      const HostEvent& event = trace.host[static_cast<std::size_t>(host)];
      if ((event.forward_thread != 0) != is_backward) continue;
      const std::string& name = trace.names.text(event.name);
      const Function function(operator_call(name, event.args), own);
      const auto known = forward.find(event.sequence);
      if (!is_backward && function.has_weights()) {
        forward[event.sequence] = {function.forward(operations), function.type()};
      } else if (is_backward && known != forward.end()) {
        function.backward(known->second.first, known->second.second, operations);
      }
    }
  }
  for (auto& [work, op] : operations) {
    op.source =
        trace.names.text(trace.host[static_cast<std::size_t>(places.of_work[work].operation)].name);
  }
  return operations;
}

}  // namespace inline_prof::read::torch_trace
