#include "base/text.hpp"
#include "export/formats.hpp"
#include "export/values.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace inline_prof::exports {
namespace {

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

std::string csv_report(const join::Analysis& analysis) {
  std::string out = "file,host_name,rank";
  const auto columns = report::columns_in(&report::Shown<join::Row>::csv);
  for (const auto* column : columns) {
    for (const std::string& name : report::flat_names(column->name, column->type))
      out += "," + name;
  }
  out += '\n';
  for (const join::Row& row : analysis.rows) {
    const read::Profile& profile = analysis.runs[row.profile].profile;
    out += fmt::format("{},{},{}", base::csv_cell(profile.file), base::csv_cell(profile.host_name),
                       profile.rank ? fmt::format("{}", *profile.rank) : "");
    for (const auto* column : columns)
      out += "," + std::visit(ValueText(), column->value(row));
    out += '\n';
  }
  return out;
}

}  // namespace inline_prof::exports
