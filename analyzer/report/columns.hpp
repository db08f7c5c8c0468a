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

// What a column is beside a name and a value.  A format lists the columns whose place in it is not
// 0, in the order of the places; the JSON lists all with `in_json`, in the order of this table.
template <typename AnyRow>
struct Shown {
  std::string_view heading{};      // for people
  std::string_view meaning{};      // of what has a heading, in docs/reading_a_report.md
  std::string_view description{};  // in docs/schemas/report.schema.json
  std::string_view schema{};       // there, in place of what the type says
  std::string (*cell)(const AnyRow& row) = nullptr;  // for people, instead of value and unit
  int width = 0;                                     // in the table; negative: to the left
  bool is_vendors = false;  // in the table and Markdown only beside a vendor's estimates
  bool in_json = true;
  bool in_page = false;
  int table = 0;
  int markdown = 0;
  int csv = 0;
  int dataset = 0;                   // the table `event`; docs/dataset.md
  bool is_int64_in_dataset = false;  // else 32 bits hold it
  std::string_view dataset_name{};   // where the dataset has another one
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

// Of a join::Row or a join::MergedRow.
template <typename AnyRow>
[[nodiscard]] std::span<const Column<AnyRow>> columns_of();
template <>
std::span<const Column<join::Row>> columns_of();
template <>
std::span<const Column<join::MergedRow>> columns_of();

// Those of a format, in its order: columns_in(&Shown<join::Row>::csv).
template <typename AnyRow>
[[nodiscard]] std::vector<const Column<AnyRow>*> columns_in(int Shown<AnyRow>::*format);

// The same of what people read: a vendor's column only where there are estimates.
[[nodiscard]] std::vector<const Column<join::MergedRow>*> columns_shown(
    const join::Analysis& analysis, int Shown<join::MergedRow>::*format);

// What people read of a row, empty if it is not known.
template <typename AnyRow>
[[nodiscard]] std::string cell_text(const Column<AnyRow>& column, const AnyRow& row,
                                    std::string_view percent);

// The names under which a format without nested values has the column: an interval has two.
[[nodiscard]] std::vector<std::string> flat_names(std::string_view name, const Value& type);

}  // namespace inline_prof::report
