#include "read/op.hpp"
#include "read/torch_trace/operations.hpp"
#include "read/torch_trace/trace_events.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

// A file may say any number; products of three sides have to have room.
constexpr std::int64_t kMostLength = std::int64_t{1} << 32;
constexpr std::int64_t kMostSide = 1 << 20;

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// The size of a list of numbers; -1 for another argument.
std::int64_t length_of(const Argument& argument) {
  if (!argument.is_tensor() || argument.sizes.size() != 1 || argument.sizes[0].size() != 1)
    return -1;
  const std::int64_t length = argument.sizes[0][0];
  return length <= kMostLength ? length : -1;
}

std::array<std::int64_t, 2> sides_of(const OperatorCall& call, std::size_t at) {
  if (call.arguments.size() <= at || !call.arguments[at].is_tensor()) return {};
  const auto& sizes = call.arguments[at].sizes;
  if (sizes.size() != 1 || sizes[0].size() != 2) return {};
  if (std::min(sizes[0][0], sizes[0][1]) < 1 || std::max(sizes[0][0], sizes[0][1]) > kMostSide)
    return {};
  return {sizes[0][0], sizes[0][1]};
}

Op movement(std::string_view what, std::int64_t read_bytes, std::int64_t write_bytes,
            std::int64_t elements) {
  return op_of(OpKind::kMemory, {{"read_bytes", read_bytes},
                                 {"write_bytes", write_bytes},
                                 {"elements", elements},
                                 {"class", std::string(what)}});
}

std::int64_t number_behind(std::string_view text, std::string_view word) {
  std::int64_t number = 0;
  if (const std::size_t at = text.find(word); at != std::string_view::npos)
    std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
  return number;
}

}  // namespace

bool is_look_up(std::string_view operator_name) {
  return has(operator_name, "split_embedding_codegen_lookup");
}

std::optional<LookUps> look_ups_of(const OperatorCall& call) {
  const auto& all = call.arguments;
  // Tables' places, where their weights begin, and where their columns begin: [T], [T], [T + 1].
  std::size_t at = 1;
  for (; at + 2 < all.size(); ++at) {
    if (all[at].type == "int" && all[at + 2].type == "int" && length_of(all[at]) > 0 &&
        length_of(all[at + 1]) == length_of(all[at]) &&
        length_of(all[at + 2]) == length_of(all[at]) + 1)
      break;
  }
  if (at + 2 >= all.size()) return std::nullopt;
  LookUps found;
  found.tables = length_of(all[at]);
  std::int64_t weights = 0, offsets = 0;
  for (std::size_t i = 0; i < at; ++i) {
    if (length_of(all[i]) <= 0) continue;
    weights += length_of(all[i]);
    found.type = all[i].type == "float" ? "f32" : "f16";
  }
  // Behind them the tables' numbers of rows, [T + 1], the indices and where the bags begin.
  bool is_behind_rows = false;
  for (std::size_t i = at + 3; i < all.size() && found.rows == 0; ++i) {
    const std::int64_t length = length_of(all[i]);
    const bool is_list = all[i].type == "long" || all[i].type == "int";
    if (length <= 0) continue;
    if (is_list && !is_behind_rows) {
      is_behind_rows = length == found.tables + 1;
    } else if (is_list && found.indices == 0) {
      found.indices = length;
    } else if (is_list && offsets == 0) {
      offsets = length;
    } else if (offsets > 0 && length != found.indices && all[i].type == "float") {
      found.rows = length;  // the optimizer's number for each row
    }
  }
  if (offsets < 2 || found.rows == 0 || !has(call.name, "rowwise")) return std::nullopt;
  found.batch = (offsets - 1) / found.tables;
  found.dim = (weights + found.rows / 2) / found.rows;
  if (found.batch < 1 || found.dim < 1) return std::nullopt;
  return found;
}

std::optional<double> distance_of_gradient(const LookUps& forward, std::int64_t bags,
                                           std::int64_t columns) {
  if (bags != forward.batch || columns < 1) return std::nullopt;
  return std::abs(std::log(static_cast<double>(columns) / (static_cast<double>(forward.tables) *
                                                           static_cast<double>(forward.dim))));
}

std::optional<Op> look_up_operation(const LookUps& look_ups, std::string_view kernel) {
  const std::int64_t indices = look_ups.indices;
  constexpr std::int64_t key = 8, value = 4;  // bytes: an index of all tables, and its place
  if (has(kernel, "Onesweep"))
    return movement("sort", indices * (key + value), indices * (key + value), indices);
  if (has(kernel, "RadixSortHistogram")) return movement("sort", indices * key, 0, indices);
  if (has(kernel, "ReduceByKeyKernel")) return movement("sort", indices * key, 0, indices);
  if (has(kernel, "linearize_index"))
    return movement("gather", (indices + look_ups.tables * look_ups.batch) * key,
                    indices * (key + value), indices);
  const bool is_forward = has(kernel, "split_embedding_codegen_forward");
  const bool is_long = has(kernel, "kernel_cta"), is_short = has(kernel, "kernel_warp");
  if (!is_forward && !is_long && !is_short) return std::nullopt;
  const std::int64_t bags = look_ups.tables * look_ups.batch;
  Op op = op_of(OpKind::kEmbedding,
                {{"batch", look_ups.batch},
                 {"tables", look_ups.tables},
                 {"rows", std::max<std::int64_t>(1, look_ups.rows / look_ups.tables)},
                 {"bag", std::max<std::int64_t>(1, (indices + bags / 2) / bags)},
                 {"dim", look_ups.dim},
                 {"type", std::string(look_ups.type)},
                 {"pass", std::string(is_forward ? "forward" : "backward_rowwise_adagrad")}});
  if (!is_forward)
    op.attributes.emplace_back("part", std::string(is_long ? "long_rows" : "short_rows"));
  return op;
}

std::optional<Op> sparse_operation(const OperatorCall& call, std::string_view kernel) {
  // Pooled rows of all tables, [bags, columns].
  const auto [bags, columns] = sides_of(call, 0);
  if ((has(kernel, "permute_pooled_embs") || has(kernel, "recat_copy")) && bags > 0) {
    const std::int64_t bytes = bags * columns * (call.arguments[0].type == "float" ? 4 : 2);
    return movement("copy", bytes, bytes, bags * columns);
  }
  const auto list_of = [&](std::size_t i) {
    return i < call.arguments.size() ? std::max<std::int64_t>(0, length_of(call.arguments[i])) : 0;
  };
  if (has(kernel, "permute_indices_weights") && list_of(2) > 0) {
    const std::int64_t bytes = (list_of(2) + list_of(3)) * 4;
    return movement("gather", bytes, bytes, list_of(2));
  }
  if (has(kernel, "bounds_check_indices") && list_of(1) > 0)
    return movement("gather", (list_of(1) + list_of(2)) * 8, 0, list_of(1));
  return std::nullopt;
}

// tokens, weights of both products [experts, columns, depth], the choices' weights and numbers
// [tokens, chosen]: vLLM's and SGLang's, whose Triton kernel is launched for one product, then for
// the other.
std::optional<Op> Experts::triton_product(std::int32_t operator_index, const OperatorCall& call) {
  const auto [tokens, hidden] = sides_of(call, 0);
  const auto [same_tokens, chosen] = sides_of(call, 4);
  const bool is_second = (products_of_[operator_index]++ % 2) == 1;
  const std::size_t at = is_second ? 2 : 1;
  if (tokens < 1 || hidden < 1 || same_tokens != tokens || !call.arguments[at].is_tensor() ||
      call.arguments[at].sizes.size() != 1 || call.arguments[at].sizes[0].size() != 3)
    return std::nullopt;
  const auto& sizes = call.arguments[at].sizes[0];
  const std::string_view type = number_type_of(call.arguments[0]),
                         weights_type = number_type_of(call.arguments[at]);
  if (type.empty() || weights_type.empty() || *std::ranges::min_element(sizes) < 1 ||
      *std::ranges::max_element(sizes) > kMostSide)
    return std::nullopt;
  return op_of(OpKind::kGroupedGemm, {{"groups", sizes[0]},
                                      {"m_total", tokens * chosen},
                                      {"n", sizes[1]},
                                      {"k", sizes[2]},
                                      {"a_type", std::string(weights_type)},
                                      {"b_type", std::string(weights_type)},
                                      {"c_type", std::string(type)}});
}

// Names begin with the types of the result, the weights and the tokens, and the tile:
// "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_..." (TensorRT-LLM, batched products of experts,
// whose grid has the weights' tiles and the most tiles that tokens can need).
std::optional<Op> Experts::operation(std::int32_t operator_index, const OperatorCall& call,
                                     std::string_view kernel, const LaunchShape& launch) {
  if (has(call.name, "fused_experts") && kernel.starts_with("fused_moe_kernel"))
    return triton_product(operator_index, call);
  const auto [tokens, hidden] = sides_of(call, 0);
  const auto [same_tokens, experts] = sides_of(call, 1);
  if (!has(call.name, "moe_forward") || tokens < 1 || tokens != same_tokens) return std::nullopt;
  if (has(kernel, "quantize_with_block_size"))
    return movement("cast", tokens * hidden * 2, tokens * hidden, tokens * hidden);
  if (has(kernel, "::routing")) return movement("reduction", tokens * experts * 2, 0, 0);
  First& first = first_of_[operator_index];
  if (has(kernel, "::finalize") && first.rows > 0)
    return movement("copy", first.rows * hidden * 2, tokens * hidden * 2, tokens * hidden);
  if (!kernel.starts_with("bmm_")) return std::nullopt;
  const std::size_t result_end = std::min(kernel.find('_', 4), kernel.size());
  const std::string_view operands = kernel.substr(
      result_end, std::min(kernel.find('_', result_end + 1), kernel.size()) - result_end);
  const std::string_view weights_type = has(operands, "E2m1")   ? "f4e2m1"
                                        : has(operands, "E4m3") ? "f8e4m3"
                                                                : "bf16";
  const std::string_view tokens_type = operands.ends_with("E4m3")   ? "f8e4m3"
                                       : operands.ends_with("E2m1") ? "f4e2m1"
                                                                    : "bf16";
  const std::int64_t tile_columns = number_behind(kernel, "_t");
  const std::int64_t tile_rows = number_behind(kernel, fmt::format("_t{}x", tile_columns));
  const auto [column_tiles, row_tiles, batches] = launch.grid;
  if (std::min({tile_columns, tile_rows, column_tiles, row_tiles}) < 1 ||
      std::max({tile_columns, tile_rows, column_tiles, row_tiles}) > kMostSide)
    return std::nullopt;
  // Each expert may fill its last tile with one row only.
  const std::int64_t chosen = (row_tiles * tile_rows - experts * (tile_rows - 1)) / tokens;
  if (chosen < 1 || chosen > experts) return std::nullopt;
  const std::int64_t columns = column_tiles * tile_columns;
  const bool is_first = first.columns == 0;
  const std::int64_t depth = is_first ? hidden : first.columns / 2;  // gate and value become one
  if (is_first) first = {columns, tokens * chosen};
  return op_of(
      OpKind::kGroupedGemm,
      {{"groups", experts},
       {"m_total", tokens * chosen},
       {"n", columns},
       {"k", depth},
       {"a_type", std::string(tokens_type)},
       {"b_type", std::string(weights_type)},
       {"c_type", std::string(has(kernel.substr(0, result_end), "Bfloat16") ? "bf16" : "f8e4m3")}});
}

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
    for (std::size_t j = 0; j < m; ++j)
      before[i + 1][j + 1] = std::max({before[i][j + 1], before[i + 1][j],
                                       fits(products[i], layers[j]) ? before[i][j] + 1 : 0});
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;)
      behind[i][j] = std::max({behind[i + 1][j], behind[i][j + 1],
                               fits(products[i], layers[j]) ? behind[i + 1][j + 1] + 1 : 0});
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
  for (auto& [work, op] : operations)
    op.source =
        trace.names.text(trace.host[static_cast<std::size_t>(places.of_work[work].operation)].name);
  return operations;
}

}  // namespace inline_prof::read::torch_trace
