// Reads the dynamic linker's list of a program's libraries, as ldd shows it.
#pragma once

#include <string>
#include <string_view>

namespace inline_prof::run {

// `libx.so.1 => /path/libx.so.1 (0x...)` or `libx.so.1 => not found`; empty for other lines.
struct ListedLibrary {
  std::string name;
  std::string place;
};
[[nodiscard]] ListedLibrary library_in(std::string_view line);

}  // namespace inline_prof::run
