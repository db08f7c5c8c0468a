#include "driver/cubin.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <map>
#include <string_view>

namespace simgpu {
namespace {

constexpr std::uint32_t kFatWrapper = 0x466243b1;  // fatBinaryCtl.h
constexpr std::uint32_t kFatHeader = 0xba55ed50;
constexpr std::uint16_t kMachineCuda = 190;  // EM_CUDA

// Records of .nv.info sections.
constexpr unsigned char kWithBytes = 4;  // a size and as many bytes; other records have four
constexpr unsigned char kMaxThreads = 0x05, kParameter = 0x17, kRegisterCount = 0x2f;

template <typename T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The first ELF part of a fat binary, or null.
const char* elf_of(const char* image) {
  if (read<std::uint32_t>(image) == kFatWrapper) image = read<const char*>(image + 8);
  if (image == nullptr) return nullptr;
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return image;
  if (read<std::uint32_t>(image) != kFatHeader) return nullptr;
  const char* part = image + read<std::uint16_t>(image + 6);
  const char* const end = part + read<std::uint64_t>(image + 8);
  while (part < end) {
    const char* const body = part + read<std::uint32_t>(part + 4);
    if (read<std::uint16_t>(part) == 2 && std::memcmp(body, ELFMAG, SELFMAG) == 0) return body;
    part = body + read<std::uint64_t>(part + 8);
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(const char* elf) : elf_(elf), header_(read<Elf64_Ehdr>(elf)) {}

  [[nodiscard]] Cubin read_all() {
    const auto names = section(header_.e_shstrndx);
    Elf64_Shdr symbols{};
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto at = section(i);
      sections_[elf_ + names.sh_offset + at.sh_name] = at;
      if (at.sh_type == SHT_SYMTAB) symbols = at;
    }
    const auto strings = section(symbols.sh_link);
    Cubin cubin;
    std::map<std::uint32_t, std::size_t> kernel_of_symbol;
    for (std::uint32_t i = 0; symbols.sh_entsize > 0 && i < symbols.sh_size / symbols.sh_entsize;
         ++i) {
      const auto symbol = read<Elf64_Sym>(elf_ + symbols.sh_offset + i * symbols.sh_entsize);
      const std::string name = elf_ + strings.sh_offset + symbol.st_name;
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      // STO_CUDA_ENTRY: other functions are called by kernels.
      if (type == STT_FUNC && (symbol.st_other & 0x10) != 0) {
        kernel_of_symbol[i] = cubin.kernels.size();
        cubin.kernels.push_back(kernel(name));
      } else if (type == STT_OBJECT && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0) {
        cubin.variables.emplace_back(name, symbol.st_size);
      }
    }
    for_each_record(".nv.info", [&](unsigned char kind, const char* data, std::size_t bytes) {
      if (kind != kRegisterCount || bytes < 8) return;
      const auto of = kernel_of_symbol.find(read<std::uint32_t>(data));
      if (of != kernel_of_symbol.end()) {
        cubin.kernels[of->second].registers = static_cast<int>(read<std::uint32_t>(data + 4));
      }
    });
    return cubin;
  }

 private:
  [[nodiscard]] Elf64_Shdr section(unsigned index) const {
    return read<Elf64_Shdr>(elf_ + header_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  [[nodiscard]] CubinKernel kernel(const std::string& name) const {
    CubinKernel result;
    result.name = name;
    std::map<unsigned, std::size_t> parameters;  // by place
    for_each_record(".nv.info." + name, [&](unsigned char kind, const char* data,
                                            std::size_t bytes) {
      if (kind == kParameter && bytes >= 12) {
        // Index, place, offset, and the size in the upper 14 bits of a word of flags.
        parameters[read<std::uint16_t>(data + 4)] = read<std::uint32_t>(data + 8) >> 18 & 0x3fff;
      } else if (kind == kMaxThreads && bytes >= 12) {
        result.max_threads =
            static_cast<int>(read<std::uint32_t>(data) * read<std::uint32_t>(data + 4) *
                             read<std::uint32_t>(data + 8));
      }
    });
    for (const auto& [place, bytes] : parameters)
      result.parameter_bytes.push_back(bytes);
    const auto shared = sections_.find(".nv.shared." + name);
    if (shared != sections_.end()) {
      const bool has_reserved = sections_.contains(".nv.shared.reserved.0");
      const auto bytes = static_cast<int>(shared->second.sh_size);
      result.static_shared_bytes = std::max(0, bytes - (has_reserved ? 1024 : 0));
    }
    return result;
  }

  template <typename Body>
  void for_each_record(const std::string& name, Body&& body) const {
    const auto found = sections_.find(name);
    if (found == sections_.end()) return;
    const char* at = elf_ + found->second.sh_offset;
    const char* const end = at + found->second.sh_size;
    while (end - at >= 4) {
      const auto bytes = at[0] == kWithBytes ? read<std::uint16_t>(at + 2) : std::uint16_t{0};
      if (end - at - 4 < bytes) return;
      body(static_cast<unsigned char>(at[1]), at + 4, bytes);
      at += 4 + bytes;
    }
  }

  const char* elf_;
  Elf64_Ehdr header_;
  std::map<std::string, Elf64_Shdr> sections_;
};

}  // namespace

bool looks_like_cubin(const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  const auto magic = read<std::uint32_t>(bytes);
  return magic == kFatWrapper || magic == kFatHeader || std::memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

std::optional<Cubin> read_cubin(const void* image) {
  const char* elf = elf_of(static_cast<const char*>(image));
  if (elf == nullptr) return std::nullopt;
  const auto header = read<Elf64_Ehdr>(elf);
  if (header.e_machine != kMachineCuda || header.e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  return Reader(elf).read_all();
}

}  // namespace simgpu
