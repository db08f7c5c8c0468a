#include "run/elf_file.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <vector>

namespace inline_prof::run {
namespace {

// Reads a file without trusting its offsets.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}

  template <typename Value>
  std::optional<Value> at(std::size_t offset) {
    Value value{};
    if (!read(offset, reinterpret_cast<char*>(&value), sizeof value)) return std::nullopt;
    return value;
  }
  // Returns nothing if the file is shorter.
  std::string text(std::size_t offset, std::size_t length) {
    constexpr std::size_t longest = std::size_t{1} << 30;
    if (length > longest) return "";
    std::string bytes(length, '\0');
    return read(offset, bytes.data(), length) ? bytes : "";
  }

 private:
  bool read(std::size_t offset, char* target, std::size_t length) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(target, static_cast<std::streamsize>(length));
    return file_.gcount() == static_cast<std::streamsize>(length);
  }

  std::ifstream file_;
};

std::string name_at(const std::string& names, std::size_t offset) {
  return offset < names.size() ? names.c_str() + offset : "";
}

std::vector<Elf64_Shdr> sections_of(Reader& reader, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = reader.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) break;
    sections.push_back(*section);
  }
  return sections;
}

void read_symbols(Reader& reader, const Elf64_Shdr& table, const std::string& names,
                  std::set<std::string>& defined, std::set<std::string>* undefined) {
  const std::string symbols = reader.text(table.sh_offset, table.sh_size);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol{};
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    std::string name = name_at(names, symbol.st_name);
    if (name.empty()) continue;
    if (symbol.st_shndx != SHN_UNDEF) {
      defined.insert(std::move(name));
    } else if (undefined != nullptr) {
      undefined->insert(std::move(name));
    }
  }
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path, WhichSymbols which) {
  Reader reader(path);
  const auto header = reader.at<Elf64_Ehdr>(0);
  constexpr unsigned char native =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_DATA] != native)
    return std::nullopt;
  ElfFile file;
  file.is_64_bit = header->e_ident[EI_CLASS] == ELFCLASS64;
  if (!file.is_64_bit) return file;

  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = reader.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_type != PT_INTERP) continue;
    file.interpreter = reader.text(segment->p_offset, segment->p_filesz).c_str();
  }

  const auto sections = sections_of(reader, *header);
  std::string section_names;
  if (header->e_shstrndx < sections.size()) {
    const auto& names = sections[header->e_shstrndx];
    section_names = reader.text(names.sh_offset, names.sh_size);
  }
  for (const Elf64_Shdr& section : sections) {
    file.sections.insert(name_at(section_names, section.sh_name));
    const bool is_hidden = section.sh_type == SHT_SYMTAB && which == WhichSymbols::kAll;
    if ((section.sh_type != SHT_DYNSYM && !is_hidden) || section.sh_link >= sections.size())
      continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    read_symbols(reader, section, reader.text(names.sh_offset, names.sh_size),
                 is_hidden ? file.hidden : file.defined, is_hidden ? nullptr : &file.undefined);
  }
  return file;
}

bool has_static_cuda_runtime(const ElfFile& file) {
  // nvcc puts device code into .nv_fatbin and has the runtime register it at load time. If that
  // function comes from no library, the runtime is in the file itself.
  return file.sections.contains(".nv_fatbin") &&
         !file.undefined.contains("__cudaRegisterFatBinary");
}

ListedLibrary library_in(std::string_view line) {
  constexpr std::string_view arrow_mark = " => ";
  const auto arrow = line.find(arrow_mark);
  if (arrow == std::string_view::npos) return {};
  const auto begin = line.find_first_not_of(" \t");
  const std::string_view place = line.substr(arrow + arrow_mark.size());
  return {.name = std::string(line.substr(begin, arrow - begin)),
          .place = std::string(place.substr(0, place.find(" (")))};
}

}  // namespace inline_prof::run
