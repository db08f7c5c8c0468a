#include "read/torch_trace/joint_operators.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

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
  return {std::string(op_kind_name(OpKind::kMemory)),
          "",
          {{"read_bytes", read_bytes},
           {"write_bytes", write_bytes},
           {"elements", elements},
           {"class", std::string(what)}}};
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
  if (has(kernel, "linearize_index")) {
    return movement("gather", (indices + look_ups.tables * look_ups.batch) * key,
                    indices * (key + value), indices);
  }
  const bool is_forward = has(kernel, "split_embedding_codegen_forward");
  const bool is_long = has(kernel, "kernel_cta"), is_short = has(kernel, "kernel_warp");
  if (!is_forward && !is_long && !is_short) return std::nullopt;
  const std::int64_t bags = look_ups.tables * look_ups.batch;
  Op op{std::string(op_kind_name(OpKind::kEmbedding)),
        "",
        {{"batch", look_ups.batch},
         {"tables", look_ups.tables},
         {"rows", std::max<std::int64_t>(1, look_ups.rows / look_ups.tables)},
         {"bag", std::max<std::int64_t>(1, (indices + bags / 2) / bags)},
         {"dim", look_ups.dim},
         {"type", std::string(look_ups.type)},
         {"pass", std::string(is_forward ? "forward" : "backward_rowwise_adagrad")}}};
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
  return Op{std::string(op_kind_name(OpKind::kGroupedGemm)),
            "",
            {{"groups", sizes[0]},
             {"m_total", tokens * chosen},
             {"n", sizes[1]},
             {"k", sizes[2]},
             {"a_type", std::string(weights_type)},
             {"b_type", std::string(weights_type)},
             {"c_type", std::string(type)}}};
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
  Op op{
      std::string(op_kind_name(OpKind::kGroupedGemm)),
      "",
      {{"groups", experts},
       {"m_total", tokens * chosen},
       {"n", columns},
       {"k", depth},
       {"a_type", std::string(tokens_type)},
       {"b_type", std::string(weights_type)},
       {"c_type", std::string(has(kernel.substr(0, result_end), "Bfloat16") ? "bf16" : "f8e4m3")}}};
  return op;
}

}  // namespace inline_prof::read::torch_trace
