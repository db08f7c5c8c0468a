// The columns of a report's rows.  Each stands here once, with all that any format needs of it: its
// name, unit, type, heading, value, how people see it, and in which formats.
#pragma once

#include "join/analysis.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inline_prof::report {

// std::monostate and an empty optional: not known.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                           std::optional<join::Interval>, std::vector<std::size_t>,
                           std::optional<join::Isolated>>;

enum class Unit : std::uint8_t { kNone, kMicroseconds, kPercent };

// A new column comes last in a format.
inline constexpr int kLast = 1000;

// How formats show a column.  A format has the columns whose place in it is not 0, in the order of
// the places; the JSON has all with `in_json`, in the order of the table.
template <typename AnyRow>
struct Shown {
  std::string_view heading{};      // for people
  std::string_view meaning{};      // beside the heading, in docs/reading_a_report.md
  std::string_view description{};  // in docs/schemas/report.schema.json
  std::string_view schema{};       // there, in place of the type's
  std::string (*cell)(const AnyRow& row) = nullptr;  // for people, instead of value and unit
  int width = 0;                                     // in the table; negative: to the left
  bool in_json = true;
  bool in_page = false;
  int table = 0;
  int markdown = 0;
  int csv = 0;
  int dataset = 0;                   // the table `event`; docs/schemas/dataset.csv
  bool is_int64_in_dataset = false;  // else 32 bits hold it
  std::string_view dataset_name{};   // if it differs from the column's
};

template <typename AnyRow>
struct Column {
  std::string_view name;  // ends with its unit
  Unit unit;
  Value (*value)(const AnyRow& row);
  Value type;  // a value of the type that the known ones have
  bool may_be_unknown;
  Shown<AnyRow> shown;
};

// Returns the columns of a join::Row or a join::MergedRow.
template <typename AnyRow>
[[nodiscard]] std::span<const Column<AnyRow>> columns_of();
template <>
std::span<const Column<join::Row>> columns_of();
template <>
std::span<const Column<join::MergedRow>> columns_of();

// Returns the columns of a format, in its order: columns_in(&Shown<join::Row>::csv).
template <typename AnyRow>
[[nodiscard]] std::vector<const Column<AnyRow>*> columns_in(int Shown<AnyRow>::*format);

// Returns the cell that people read; empty if the value is not known.
template <typename AnyRow>
[[nodiscard]] std::string cell_text(const Column<AnyRow>& column, const AnyRow& row,
                                    std::string_view percent);

// Returns the names of the column in a format without nested values: an interval has two.
[[nodiscard]] std::vector<std::string> flat_names(std::string_view name, const Value& type);

}  // namespace inline_prof::report
