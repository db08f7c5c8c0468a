#include "report/csv.hpp"

#include <fmt/format.h>

namespace inline_prof::report {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_interval(const std::optional<join::Interval>& interval) {
  return interval ? fmt::format("{},{}", interval->lower, interval->upper) : ",";
}

}  // namespace inline_prof::report
