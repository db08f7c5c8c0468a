// What a report says of each row.  A column stands here once: the JSON has them all, in this order,
// and the other formats those that they name.
#pragma once

#include "join/analysis.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inline_prof::join {

// std::monostate and an empty value: not known.
using ColumnValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::optional<Interval>,
                 std::vector<std::size_t>, std::optional<Isolated>>;

template <typename AnyRow>
struct Column {
  std::string_view name;  // ends with its unit: _us, _percent
  ColumnValue (*value)(const AnyRow& row);
  ColumnValue type;  // a value of the type that the known ones have
  bool may_be_unknown;
  std::string_view title;    // for people; empty: only programs get it
  std::string_view meaning;  // of what has a title
};

// Of a Row or a MergedRow.
template <typename AnyRow>
[[nodiscard]] std::span<const Column<AnyRow>> columns_of();
template <>
std::span<const Column<Row>> columns_of();
template <>
std::span<const Column<MergedRow>> columns_of();

// Throws std::out_of_range for a name that no column has.
template <typename AnyRow>
[[nodiscard]] const Column<AnyRow>& column_of(std::string_view name);

}  // namespace inline_prof::join
