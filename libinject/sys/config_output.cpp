#include "sys/config_output.hpp"

#include "sys/config.hpp"

#include <cstddef>
#include <cstdlib>

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

std::string expand_output_template(const std::string& pattern, const char* variable,
                                   const std::string& host_name, int process_id,
                                   std::optional<std::int64_t> rank) {
  using Kind = OutputPart::Kind;
  std::string path;
  for (const OutputPart& part : parse_output_template(pattern, variable)) {
    switch (part.kind) {
      case Kind::kText:
        path += part.text;
        break;
      case Kind::kHostName:
        path += host_name;
        break;
      case Kind::kProcessId:
        path += std::to_string(process_id);
        break;
      case Kind::kRank:
        path += std::to_string(rank.value_or(0));
        break;
      case Kind::kVariable: {
        const char* value = std::getenv(part.text.c_str());  // NOLINT(concurrency-mt-unsafe)
        if (value == nullptr) {
          refuse_output_template(pattern, variable, "the variable " + part.text + " is not set");
        }
        path += value;
        break;
      }
    }
  }
  if (path.empty() || path.back() == '/') {
    throw ConfigError(
        std::string(variable) + "=" + pattern +
        ": names a directory; a file is expected, INLINE_PROF_DIR sets the directory");
  }
  return path;
}

}  // namespace inline_prof::sys
