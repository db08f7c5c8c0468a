// Values as JSON and CSV: unknown values are null, or an empty field.  Include this in .cpp files
// only: it brings a JSON library.
#pragma once

#include "join/rows/row.hpp"
#include "join/watch/watched_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace inline_prof::exports {

using Json = nlohmann::ordered_json;  // members in the order in which a reader wants them

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}
inline Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
inline Json or_null(const std::optional<join::Interval>& interval) {
  return interval ? Json::array({interval->lower, interval->upper}) : Json();
}

// Returns the list of what `make` makes of each item.
template <typename Items, typename Make>
Json list_of(const Items& items, const Make& make) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(make(item));
  return list;
}

// Replaces bytes that are no UTF-8, since names come from files.
inline std::string document(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Adds the changes and recurrences of a run, empty lists if it was not watched; comparisons.cpp.
void add_watched(Json& json, const std::optional<join::WatchedRun>& run);

// Writes all digits of a double, because other programs go on calculating with them.
inline std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// Writes two fields.
inline std::string csv_interval(const std::optional<join::Interval>& interval) {
  return interval ? fmt::format("{},{}", interval->lower, interval->upper) : ",";
}

}  // namespace inline_prof::exports
