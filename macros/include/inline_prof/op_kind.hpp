// The kinds of operations with their attributes, and the number types, as in prof.json, in layers
// files and in PROFILE_OP. One table for the injected library, the readers, the models and
// prof-model measure; docs/prof_json.md shows it. analyzer/model/roofline.cpp computes the work and
// the traffic of each kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inline_prof {

enum class OpKind : std::uint8_t {
  kGemm,
  kGroupedGemm,
  kConv,
  kEmbedding,
  kAttention,
  kNorm,
  kSoftmax,
  kCollective,
  kMemory,
  kCopy,
  kCast,
  kOperator,
  kRegion,
};

// A collective's number on its communicator in the iteration. All other attributes describe what an
// operation does; this one identifies it.
inline constexpr char kSequenceAttribute[] = "sequence";

// Attributes stand by their type, which a name has in all kinds, with a comma and a blank between
// them; behind a name may stand in brackets what it may be.
struct OpKindEntry {
  OpKind kind;
  std::string_view name;
  std::string_view integers = {};  // elements, or bytes; also lists, one number a dimension
  std::string_view texts = {};
  std::string_view booleans = {};
  std::string_view others = {};     // a word or a number, whichever the writer has
  std::string_view libraries = {};  // libraries whose calls give it; without one, only labels do
  bool is_measured = true;          // by prof-model measure
};

// In the order of OpKind.
inline constexpr std::array kOpKinds{
    OpKindEntry{.kind = OpKind::kGemm,
                .name = "gemm",
                .integers = "m, n, k, batch",
                .texts = "a_type, b_type, c_type, compute_type, epilogue",
                .booleans = "trans_a, trans_b",
                .libraries = "cuBLAS, cuBLASLt"},
    OpKindEntry{.kind = OpKind::kGroupedGemm,
                .name = "grouped_gemm",
                .integers = "groups, m_total, n, k",
                .texts = "a_type, b_type, c_type, compute_type",
                .is_measured = false},
    OpKindEntry{
        .kind = OpKind::kConv,
        .name = "conv",
        .integers = "n, c, h, w, k, r, s, p, q, stride, pad, dilation, groups",
        .texts =
            "type, layout (nchw or nhwc), direction (forward or backward_data or backward_filter)",
        .others = "algo",
        .libraries = "cuDNN"},
    OpKindEntry{.kind = OpKind::kEmbedding,
                .name = "embedding",
                .integers = "batch, tables, rows, bag, dim, rows_per_block, shmem",
                .texts = "type, pass (forward or backward_sgd or backward_rowwise_adagrad)",
                .is_measured = false},
    OpKindEntry{.kind = OpKind::kAttention,
                .name = "attention",
                .integers = "batch, heads, kv_heads, q_len, kv_len, head_dim, window",
                .texts = "type, kv_type, pass (forward or backward)",
                .booleans = "causal"},
    OpKindEntry{.kind = OpKind::kNorm,
                .name = "norm",
                .integers = "rows, cols",
                .texts = "type, pass (forward or backward)"},
    OpKindEntry{.kind = OpKind::kSoftmax,
                .name = "softmax",
                .integers = "rows, cols",
                .texts = "type, pass (forward or backward)"},
    OpKindEntry{.kind = OpKind::kCollective,
                .name = "collective",
                .integers = "count, bytes, ranks, sequence",
                .texts = "type",
                .others = "op, comm, grouped",
                .libraries = "NCCL"},
    OpKindEntry{.kind = OpKind::kMemory,
                .name = "memory",
                .integers = "read_bytes, write_bytes, flops, elements",
                .texts = "class"},
    OpKindEntry{.kind = OpKind::kCopy,
                .name = "copy",
                .integers = "bytes",
                .texts = "direction (host_to_device or device_to_host or device_to_device or peer "
                         "or host_to_host or fill or write_value or wait_value), host_memory "
                         "(pinned or pageable)",
                .libraries = "the driver",
                .is_measured = false},
    OpKindEntry{.kind = OpKind::kCast,
                .name = "cast",
                .integers = "rows, cols",
                .texts = "recipe, role",
                .is_measured = false},
    OpKindEntry{.kind = OpKind::kOperator, .name = "operator", .is_measured = false},
    OpKindEntry{.kind = OpKind::kRegion, .name = "region", .is_measured = false},
};

[[nodiscard]] constexpr std::string_view op_kind_name(OpKind kind) {
  return kOpKinds[static_cast<std::size_t>(kind)].name;
}

static_assert([] {
  for (std::size_t i = 0; i < kOpKinds.size(); ++i) {
    if (kOpKinds[i].kind != static_cast<OpKind>(i)) return false;
  }
  return true;
}());

// Returns null for a word that is no kind.
[[nodiscard]] constexpr const OpKindEntry* find_op_kind(std::string_view name) {
  for (const OpKindEntry& entry : kOpKinds) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// Returns nothing for a word that is none of the above.
[[nodiscard]] constexpr std::optional<OpKind> op_kind_from_name(std::string_view name) {
  const OpKindEntry* entry = find_op_kind(name);
  return entry == nullptr ? std::nullopt : std::optional(entry->kind);
}

struct NumberType {
  std::string_view name;
  double bytes;  // 0.5 for a four-bit type
};

inline constexpr std::array<NumberType, 11> kNumberTypes{{{"f64", 8},
                                                          {"f32", 4},
                                                          {"tf32", 4},
                                                          {"f16", 2},
                                                          {"bf16", 2},
                                                          {"f8e4m3", 1},
                                                          {"f8e5m2", 1},
                                                          {"f4e2m1", 0.5},
                                                          {"i8", 1},
                                                          {"i32", 4},
                                                          {"i64", 8}}};

// Returns the bytes of one element; nothing for a word that is none of the above.
[[nodiscard]] constexpr std::optional<double> number_type_bytes(std::string_view name) {
  for (const NumberType& type : kNumberTypes) {
    if (type.name == name) return type.bytes;
  }
  return std::nullopt;
}

}  // namespace inline_prof
