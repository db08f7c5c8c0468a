#include "run/elf_file.hpp"

#include "base/elf_reader.hpp"

#include <bit>
#include <cstring>

namespace inline_prof::run {

std::optional<ElfFile> read_elf(const std::string& path, WhichSymbols which) {
  const base::ElfReader reader(path);
  const auto headers = reader.read<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  constexpr unsigned char native =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_DATA] != native)
    return std::nullopt;
  const Elf64_Ehdr& header = headers[0];
  ElfFile file;
  file.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!file.is_64_bit) return file;

  for (const auto& segment : reader.read<Elf64_Phdr>(
           header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    if (segment.p_type == PT_INTERP)
      file.interpreter = reader.text(segment.p_offset, segment.p_filesz).data();
  }

  const auto sections =
      reader.read<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  std::vector<char> section_names;
  if (header.e_shstrndx < sections.size()) {
    const auto& names = sections[header.e_shstrndx];
    section_names = reader.text(names.sh_offset, names.sh_size);
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name < section_names.size())
      file.sections.insert(&section_names[section.sh_name]);
    const bool is_hidden = section.sh_type == SHT_SYMTAB && which == WhichSymbols::kAll;
    if (section.sh_type != SHT_DYNSYM && !is_hidden) continue;
    reader.each_symbol(sections, section, [&](const Elf64_Sym& symbol, const char* name) {
      if (*name == '\0') return;
      if (symbol.st_shndx != SHN_UNDEF) {
        (is_hidden ? file.hidden : file.defined).insert(name);
      } else if (!is_hidden) {
        file.undefined.insert(name);
      }
    });
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
