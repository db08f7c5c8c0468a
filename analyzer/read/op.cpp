#include "read/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace inline_prof::read {
namespace {

// Sizes and counts.  stride, pad and dilation may also be lists, one number a dimension.
constexpr std::array<std::string_view, 35> kIntegers{"batch",       "bag",      "bytes",
                                                     "c",           "cols",     "count",
                                                     "dilation",    "dim",      "groups",
                                                     "h",           "head_dim", "heads",
                                                     "k",           "kv_heads", "kv_len",
                                                     "m",           "m_total",  "n",
                                                     "p",           "pad",      "q",
                                                     "q_len",       "r",        "ranks",
                                                     "read_bytes",  "rows",     "rows_per_block",
                                                     "s",           "sequence", "shmem",
                                                     "stride",      "tables",   "w",
                                                     "write_bytes", "lookups"};
constexpr std::array<std::string_view, 12> kTexts{"a_type", "b_type",   "c_type", "compute_type",
                                                  "type",   "epilogue", "layout", "direction",
                                                  "pass",   "recipe",   "role",   "source"};
constexpr std::array<std::string_view, 3> kBooleans{"trans_a", "trans_b", "causal"};

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("{}", fmt::join(value, "x"));
  }
};

}  // namespace

std::string attribute_text(const Attribute& value) {
  return std::visit(ValueText(), value);
}

AttributeType attribute_type(std::string_view name) {
  if (contains(kIntegers, name)) return AttributeType::kInteger;
  if (contains(kTexts, name)) return AttributeType::kText;
  if (contains(kBooleans, name)) return AttributeType::kBoolean;
  return AttributeType::kAny;
}

std::string op_text(const Op& op) {
  constexpr std::array<std::string_view, 3> left_out{"comm", kSequenceAttribute, "source"};
  std::vector<std::string> words;
  for (const auto& [name, value] : op.attributes) {
    if (!contains(left_out, name))
      words.push_back(fmt::format("{}={}", name, attribute_text(value)));
  }
  std::sort(words.begin(), words.end());
  return fmt::format("{}{}{}", op.kind, words.empty() ? "" : " ", fmt::join(words, " "));
}

}  // namespace inline_prof::read
