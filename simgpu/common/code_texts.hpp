// Tables of status codes with their names and texts.
#pragma once

#include <cstddef>

namespace simgpu {

template <typename Code>
struct CodeText {
  Code code;
  const char* name;
  const char* text;
};
#define SIMGPU_CODE(code, text) \
  { code, #code, text }

// Returns null if the table lacks the code.
template <typename Code, std::size_t kRows>
[[nodiscard]] const CodeText<Code>* find_code(const CodeText<Code> (&table)[kRows], Code code) {
  for (const auto& row : table) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace simgpu
