#include "export/csv.hpp"

#include "base/csv.hpp"
#include "join/columns.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace inline_prof::exports {
namespace {

constexpr std::array<std::string_view, 20> kColumns{
    "layer",        "event",           "device_id",    "stream_index",
    "start_index",  "occurrence",      "calls",        "samples",
    "not_tight",    "is_region",       "raw_us",       "raw_ci95_us",
    "corrected_us", "in_iteration_us", "predicted_us", "predicted_ci90_us",
    "ratio",        "bound",           "model",        "verdict"};

struct ValueText {
  std::string operator()(const std::string& value) const { return base::csv_cell(value); }
  std::string operator()(const std::optional<join::Interval>& value) const {
    return csv_interval(value);
  }
  template <typename Value>
  std::string operator()(const Value& value) const {
    if constexpr (std::is_arithmetic_v<Value>) return fmt::format("{}", value);
    return {};
  }
};

}  // namespace

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_interval(const std::optional<join::Interval>& interval) {
  return interval ? fmt::format("{},{}", interval->lower, interval->upper) : ",";
}

std::string csv_report(const join::Analysis& analysis) {
  std::string out = "file,host_name,rank";
  std::vector<const join::Column<join::Row>*> columns;
  for (const std::string_view name : kColumns) {
    columns.push_back(&join::column_of<join::Row>(name));
    const bool is_interval =
        std::holds_alternative<std::optional<join::Interval>>(columns.back()->type);
    const std::string_view stem = name.substr(0, name.rfind("us"));
    out += is_interval ? fmt::format(",{0}lower_us,{0}upper_us", stem) : fmt::format(",{}", name);
  }
  out += '\n';
  for (const join::Row& row : analysis.rows) {
    const read::Profile& profile = analysis.runs[row.profile].profile;
    fmt::format_to(std::back_inserter(out), "{},{},{}", base::csv_cell(profile.file),
                   base::csv_cell(profile.host_name),
                   profile.rank ? fmt::format("{}", *profile.rank) : "");
    for (const auto* column : columns)
      out += "," + std::visit(ValueText(), column->value(row));
    out += '\n';
  }
  return out;
}

}  // namespace inline_prof::exports
