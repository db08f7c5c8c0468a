#include "measure/case.hpp"

#include <fmt/format.h>

namespace inline_prof::measure {

std::int64_t integer(const read::Op& op, std::string_view name) {
  const auto value = op.get<std::int64_t>(name);
  if (!value) throw Skipped(fmt::format("{} without {}", op.kind, name));
  if (*value < 1) throw Skipped(fmt::format("{} with {} = {}", op.kind, name, *value));
  return *value;
}

std::int64_t integer_or(const read::Op& op, std::string_view name, std::int64_t otherwise) {
  return op.find(name) == nullptr ? otherwise : integer(op, name);
}

std::string text_or(const read::Op& op, std::string_view name, std::string_view otherwise) {
  return op.get<std::string>(name).value_or(std::string(otherwise));
}

bool is_set(const read::Op& op, std::string_view name) {
  return op.get<bool>(name).value_or(op.get<std::int64_t>(name).value_or(0) != 0);
}

double number_or(const read::Op& op, std::string_view name, double otherwise) {
  if (const auto value = op.get<double>(name)) return *value;
  const auto whole = op.get<std::int64_t>(name);
  return whole ? static_cast<double>(*whole) : otherwise;
}

}  // namespace inline_prof::measure
