// The tables of an ELF file of 64 bits.
#pragma once

#include <cstdint>
#include <elf.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace inline_prof::base {

// Trusts no offset in the file, and does not map it: if a mapped file shrinks, access raises
// SIGBUS.
class ElfReader {
 public:
  explicit ElfReader(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ElfReader() {
    if (file_ >= 0) close(file_);
  }
  ElfReader(const ElfReader&) = delete;
  ElfReader& operator=(const ElfReader&) = delete;

  // Returns nothing if the file is shorter.
  template <typename Value>
  [[nodiscard]] std::vector<Value> read(std::uint64_t offset, std::uint64_t bytes) const {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
    if (file_ < 0 || bytes > most_bytes) return {};
    std::vector<Value> values(bytes / sizeof(Value));
    const auto wanted = static_cast<ssize_t>(values.size() * sizeof(Value));
    if (pread(file_, values.data(), static_cast<std::size_t>(wanted), static_cast<off_t>(offset)) !=
        wanted)
      return {};
    return values;
  }

  // Returns bytes that end with a null.
  [[nodiscard]] std::vector<char> text(std::uint64_t offset, std::uint64_t bytes) const {
    auto text = read<char>(offset, bytes);
    text.push_back('\0');
    return text;
  }

  // Calls visit(symbol, name) for the symbols of a table.
  template <typename Visit>
  void each_symbol(const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                   const Visit& visit) const {
    if (table.sh_link >= sections.size()) return;
    const Elf64_Shdr& strings = sections[table.sh_link];
    const auto names = text(strings.sh_offset, strings.sh_size);
    for (const auto& symbol : read<Elf64_Sym>(table.sh_offset, table.sh_size)) {
      if (symbol.st_name < names.size()) visit(symbol, &names[symbol.st_name]);
    }
  }

 private:
  int file_;
};

}  // namespace inline_prof::base
