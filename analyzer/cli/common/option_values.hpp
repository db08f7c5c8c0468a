// What an option takes: said in the help, and beside what was found where it is something else.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace inline_prof::cli {

// One of these words.
inline CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](const std::string& found) {
        if (std::find(words.begin(), words.end(), found) != words.end()) return std::string();
        return fmt::format("expected one of {}, found {}", fmt::join(words, ", "), found);
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

template <typename Value>
using NamedValues = std::vector<std::pair<std::string, Value>>;

// Lets `option`, whose value is an enumeration, take the names of its values.  CLI11's own
// CheckedTransformer also takes, and shows, the numbers behind the names.
template <typename Value>
CLI::Option* take_name(CLI::Option* option, const NamedValues<Value>& values) {
  static_assert(std::is_enum_v<Value>);
  std::vector<std::string> names;
  for (const auto& [name, value] : values)
    names.push_back(name);
  option->transform(CLI::Validator(
      [values, is_known = one_of(names)](std::string& word) {
        std::string complaint = is_known(word);
        for (const auto& [name, value] : values) {
          if (name != word) continue;
          word = std::to_string(static_cast<int>(value));  // what CLI11 reads an enumeration from
          break;
        }
        return complaint;
      },
      one_of(names).get_description()));
  return option->type_name("TEXT");
}

// A number of these limits' type that lies between them.
template <typename Number>
CLI::Validator between(Number least, Number most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        Number number = {};
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc{} && rest == end && number >= least && number <= most) {
          return std::string();
        }
        return fmt::format("expected {} from {} to {}, found {}",
                           std::is_integral_v<Number> ? "an integer" : "a number", least, most,
                           text);
      },
      fmt::format("{} to {}", least, most));
}

}  // namespace inline_prof::cli
