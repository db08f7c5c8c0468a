#include "run/environment_table.hpp"

#include "sys/config.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace inline_prof::run {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::string_view kIndent = "    ";

// Returns `text` in lines of at most kWidth characters, each indented.
std::string wrapped(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t length = text.size();
    if (length > kWidth - kIndent.size()) {
      length = text.rfind(' ', kWidth - kIndent.size());
      if (length == std::string_view::npos) length = text.find(' ');
      if (length == std::string_view::npos) length = text.size();
    }
    lines += fmt::format("{}{}\n", kIndent, text.substr(0, length));
    text.remove_prefix(length);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

}  // namespace

std::string environment_table() {
  std::string table;
  for (const sys::Variable& variable : sys::variables()) {
    table += fmt::format("{}  (default {}; {})\n{}", variable.name, variable.default_value,
                         variable.range, wrapped(variable.meaning));
  }
  return table;
}

std::string environment_json() {
  auto table = nlohmann::ordered_json::array();
  for (const sys::Variable& variable : sys::variables()) {
    table.push_back({{"name", variable.name},
                     {"default", variable.default_value},
                     {"range", variable.range},
                     {"meaning", variable.meaning}});
  }
  return table.dump(2) + "\n";
}

}  // namespace inline_prof::run
