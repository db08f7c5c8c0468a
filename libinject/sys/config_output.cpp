#include "sys/config_output.hpp"

#include "sys/config_error.hpp"

#include <cstddef>

namespace inline_prof::sys {

void refuse_output_template(const std::string& pattern, const char* variable,
                            const std::string& what) {
  throw ConfigError(std::string(variable) + "=" + pattern + ": " + what +
                    "; known are %h, %p, %r, %q{VAR} and %%");
}

std::vector<OutputPart> parse_output_template(const std::string& pattern, const char* variable) {
  using Kind = OutputPart::Kind;
  std::vector<OutputPart> parts;
  const auto add_letter = [&](char letter) {
    if (parts.empty() || parts.back().kind != Kind::kText) parts.emplace_back();
    parts.back().text.push_back(letter);
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      add_letter(pattern[i]);
      continue;
    }
    const char word = i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (word == 'h') {
      parts.push_back({.kind = Kind::kHostName});
    } else if (word == 'p') {
      parts.push_back({.kind = Kind::kProcessId});
    } else if (word == 'r') {
      parts.push_back({.kind = Kind::kRank});
    } else if (word == '%') {
      add_letter('%');
    } else if (word == 'q') {
      const auto end = pattern.find('}', i);
      if (i + 1 >= pattern.size() || pattern[i + 1] != '{' || end == std::string::npos) {
        refuse_output_template(pattern, variable, "%q is not followed by {VAR}");
      }
      parts.push_back({.kind = Kind::kVariable, .text = pattern.substr(i + 2, end - i - 2)});
      i = end;
    } else {
      refuse_output_template(pattern, variable,
                             word == '\0' ? "a % at the end" : std::string("unknown %") + word);
    }
  }
  return parts;
}

}  // namespace inline_prof::sys
