// The words for an operation's kind and its number types, as they stand in prof.json, in layers
// files and in PROFILE_OP.  One list, used by the injected library, the readers and the models.
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
  kCast,
  kRegion,
};

inline constexpr std::array<std::string_view, 11> kOpKindNames{
    "gemm",    "grouped_gemm", "conv",   "embedding", "attention", "norm",
    "softmax", "collective",   "memory", "cast",      "region"};

[[nodiscard]] constexpr std::string_view op_kind_name(OpKind kind) {
  return kOpKindNames[static_cast<std::size_t>(kind)];
}

// Empty for a word that is none of the above.
[[nodiscard]] constexpr std::optional<OpKind> op_kind_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kOpKindNames.size(); ++i) {
    if (kOpKindNames[i] == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

// Of a collective: its number on its communicator in the iteration.  All else that describes an
// operation says what it does; this says which one it is.
inline constexpr char kSequenceAttribute[] = "sequence";

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

// Bytes of one element; empty for a word that is none of the above.
[[nodiscard]] constexpr std::optional<double> number_type_bytes(std::string_view name) {
  for (const NumberType& type : kNumberTypes) {
    if (type.name == name) return type.bytes;
  }
  return std::nullopt;
}

}  // namespace inline_prof
