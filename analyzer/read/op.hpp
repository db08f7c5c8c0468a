#pragma once

#include <inline_prof/op_kind.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::read {

using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// The operation of an event: a kind and its attributes, as docs/prof_json.md lists them.  Which
// attributes a kind needs is the model's to say; here their values have only the right types.
struct Op {
  std::string kind;    // as written; a word that is not in op_kind.hpp comes from a newer writer
  std::string source;  // the call or file that said so, e.g. "cublasGemmEx"; may be empty
  std::vector<std::pair<std::string, Attribute>> attributes;

  [[nodiscard]] const Attribute* find(std::string_view name) const {
    for (const auto& [key, value] : attributes) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  // Empty if absent or of another type.
  template <typename T>
  [[nodiscard]] std::optional<T> get(std::string_view name) const {
    const Attribute* attribute = find(name);
    const T* value = attribute == nullptr ? nullptr : std::get_if<T>(attribute);
    return value == nullptr ? std::nullopt : std::optional<T>(*value);
  }
};

// An operation of which nobody has said yet who described it.
[[nodiscard]] inline Op op_of(OpKind kind, decltype(Op::attributes) attributes = {}) {
  return {std::string(op_kind_name(kind)), {}, std::move(attributes)};
}

enum class AttributeType { kInteger, kText, kBoolean, kAny };

// The type that an attribute of this name has in every kind.  kAny for a name that is not known.
[[nodiscard]] AttributeType attribute_type(std::string_view name);

[[nodiscard]] std::string attribute_text(const Attribute& value);

// One line that two operations share if they do the same work: kind and attributes by name, without
// those that say which one of many equal operations it is, or who described it.
[[nodiscard]] std::string op_text(const Op& op);

// Returns the kind with its sizes, "gemm m=2048 n=1 k=256".
[[nodiscard]] std::string sizes_text(const Op& op);

// The tile in the name of a kernel that multiplies matrices.

// Returns the first "AxB" in a kernel's name whose numbers can be sides of a tile: columns, then
// rows of a row-major C.
[[nodiscard]] std::optional<std::pair<double, double>> tile_in(std::string_view name);

}  // namespace inline_prof::read
