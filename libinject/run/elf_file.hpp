// Reads the facts of an ELF file, and of the libraries that it is linked with, that a launcher must
// know before it starts a program.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace inline_prof::run {

struct ElfFile {
  bool is_64_bit = false;
  std::string interpreter;          // the dynamic linker; empty: linked statically
  std::set<std::string> sections;   // names; empty if they were stripped
  std::set<std::string> undefined;  // dynamic symbols that other files must define
  std::set<std::string> defined;    // dynamic symbols that other files may use
  std::set<std::string> hidden;     // further ones of the symbol table; empty if it was stripped
};

enum class WhichSymbols { kDynamic, kAll };  // kAll: `hidden`, too

// Returns nothing if the file cannot be read or is no ELF file of this machine's byte order. For a
// 32-bit file only `is_64_bit` is known.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::string& path,
                                              WhichSymbols which = WhichSymbols::kDynamic);

// Returns true for a program with device code that contains its own CUDA runtime.
[[nodiscard]] bool has_static_cuda_runtime(const ElfFile& file);

// `libx.so.1 => /path/libx.so.1 (0x...)` or `libx.so.1 => not found`; empty for other lines.
struct ListedLibrary {
  std::string name;
  std::string place;
};
[[nodiscard]] ListedLibrary library_in(std::string_view line);

}  // namespace inline_prof::run
