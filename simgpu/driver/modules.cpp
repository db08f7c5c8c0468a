// Images, libraries and modules.  The simulator runs no code, so all it wants from an image is the
// names of its kernels and variables.
#include "driver/simulator.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace simgpu {
namespace {

// A compiled image (ELF of a cubin, or a fat binary that holds one) lists its kernels with
// their parameters, registers and shared memory, and variables.  The format is not documented by
// the vendor; the records read here are those that the binary tools print (CUDA Binary
// Utilities 13.0, cuobjdump -elf, "EIATTR_...").
struct CubinKernel {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
  int registers = 0;            // 0: not said
  int static_shared_bytes = 0;  // without what the system keeps for itself
  int max_threads = 1024;
};

struct Cubin {
  std::vector<CubinKernel> kernels;
  std::vector<std::pair<std::string, std::size_t>> variables;  // name, bytes
};

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

std::string demangle(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return mangled;
  std::string result(text);
  std::free(text);
  return result;
}

std::string_view word_at(std::string_view text, std::size_t begin) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (begin < text.size() && is_blank(text[begin]))
    ++begin;
  auto end = begin;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == '_' || text[end] == '$')) {
    ++end;
  }
  return text.substr(begin, end - begin);
}

struct PtxEntry {
  std::string name;
  bool takes_work = false;
  bool takes_meeting = false;
  std::optional<std::vector<std::size_t>> parameter_bytes;
};

// Bytes of one parameter (PTX ISA 8.5, section 5.4 and 5.2.1): `.param .align 8 .b8 name[16]` or
// `.param .u64 name`.  Nothing if the type is not a fundamental one.
std::optional<std::size_t> parameter_size(std::string_view declaration) {
  std::size_t bits = 0;
  for (auto dot = declaration.find('.'); dot != std::string_view::npos;
       dot = declaration.find('.', dot + 1)) {
    const auto word = word_at(declaration, dot + 1);
    if (word.size() < 2 || std::string_view("busf").find(word[0]) == std::string_view::npos) {
      continue;
    }
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), bits);
    if (error == std::errc{} && end == word.data() + word.size()) break;
    bits = 0;
  }
  if (bits == 0) return std::nullopt;
  std::size_t count = 1;
  if (const auto open = declaration.find('['); open != std::string_view::npos) {
    const auto number = word_at(declaration, open + 1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), count);
    if (parsed.ec != std::errc{}) return std::nullopt;
  }
  return bits / 8 * count;
}

std::optional<std::vector<std::size_t>> parameter_sizes(std::string_view head) {
  std::vector<std::size_t> sizes;
  constexpr std::string_view directive = ".param";
  for (auto at = head.find(directive); at != std::string_view::npos;) {
    const auto begin = at + directive.size();
    at = head.find(directive, begin);
    const auto size =
        parameter_size(head.substr(begin, at == std::string_view::npos ? at : at - begin));
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

// Entry functions of a PTX text (PTX ISA 8.5, section 5.4 "Kernel and Function Directives":
// `.entry kernel-name ( param-list )`).
std::vector<PtxEntry> ptx_entries(std::string_view text) {
  constexpr std::string_view directive = ".entry";
  std::vector<PtxEntry> entries;
  for (auto at = text.find(directive); at != std::string_view::npos;
       at = text.find(directive, at + 1)) {
    const auto name = word_at(text, at + directive.size());
    if (name.empty()) continue;
    const auto body = text.find('{', at);
    const auto head = text.substr(at, body == std::string_view::npos ? body : body - at);
    entries.push_back({.name = std::string(name),
                       .takes_work = head.find("simgpu_work") != std::string_view::npos,
                       .takes_meeting = head.find("simgpu_meeting") != std::string_view::npos,
                       .parameter_bytes = parameter_sizes(head)});
  }
  return entries;
}

// PTX begins with comments or the .version directive (PTX ISA 8.5, section 11.1).
bool looks_like_ptx(const char* image) {
  while (std::isspace(static_cast<unsigned char>(*image)) != 0)
    ++image;
  return std::strncmp(image, "//", 2) == 0 || std::strncmp(image, ".version", 8) == 0;
}

}  // namespace

std::unique_ptr<Library> Simulator::load_image(const void* image) {
  if (image == nullptr) throw Failure{CUDA_ERROR_INVALID_VALUE};
  auto library = std::make_unique<Library>();
  const auto add = [&](const PtxEntry& entry) -> Kernel& {
    auto kernel = std::make_unique<Kernel>();
    kernel->library = library.get();
    kernel->mangled = entry.name;
    kernel->demangled = demangle(entry.name);
    kernel->takes_work = entry.takes_work;
    kernel->takes_meeting = entry.takes_meeting;
    kernel->parameter_bytes = entry.parameter_bytes;
    kernel->rules = model.rules_for(kernel->mangled, kernel->demangled);
    kernels.insert(kernel.get());
    return *(library->kernels[entry.name] = std::move(kernel));
  };

  if (const auto known = images.find(image); known != images.end()) {
    for (const auto& name : known->second.kernels)
      add({.name = name, .parameter_bytes = std::nullopt});
    for (const auto& [name, bytes] : known->second.variables)
      library->variables[name] = bytes;
    return library;
  }
  if (looks_like_cubin(image)) {
    const auto cubin = read_cubin(image);
    if (!cubin) throw Failure{CUDA_ERROR_INVALID_IMAGE};
    for (const auto& kernel : cubin->kernels) {
      Kernel& made = add({.name = kernel.name, .parameter_bytes = kernel.parameter_bytes});
      if (kernel.registers > 0) made.image_registers = kernel.registers;
      made.image_static_shared_bytes = kernel.static_shared_bytes;
      made.max_threads = kernel.max_threads;
    }
    for (const auto& [name, bytes] : cubin->variables)
      library->variables[name] = {.bytes = bytes};
    return library;
  }
  if (!looks_like_ptx(static_cast<const char*>(image))) throw Failure{CUDA_ERROR_INVALID_IMAGE};
  for (const auto& entry : ptx_entries(static_cast<const char*>(image))) {
    add(entry);
  }
  return library;
}

Module& Simulator::module_of(Context& context, Library& library) {
  auto& slot = context.library_modules[&library];
  if (slot != nullptr) return *slot;
  auto owned = std::make_unique<Module>();
  Module& module = *owned;
  module.context = &context;
  module.library = &library;
  for (auto& [name, variable] : library.variables) {
    if (variable.address != 0) {
      module.variables[name] = variable;
      continue;
    }
    const Allocation* made = memory.allocate(
        context, variable.bytes, variable.managed ? MemoryKind::kManaged : MemoryKind::kDevice, 0);
    if (made == nullptr) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
    Variable placed = variable;
    placed.address = made->base;
    if (placed.managed) variable.address = placed.address;
    module.variables[name] = placed;
  }
  module_owner[&module] = &context;
  context.modules.emplace(&module, std::move(owned));
  slot = &module;
  return module;
}

Function& Simulator::function_of(Module& module, Kernel& kernel) {
  auto& slot = module.functions[&kernel];
  if (!slot) {
    slot = std::make_unique<Function>();
    slot->kernel = &kernel;
    slot->context = module.context;
    functions.insert(slot.get());
  }
  return *slot;
}

// Threads, registers, shared memory, block slots (CUDA C++ Programming Guide 13.0, "Compute
// Capabilities", technical specifications per multiprocessor).
int Simulator::blocks_per_sm(const Kernel& kernel, int threads, std::size_t dynamic_shared) const {
  const auto& device = model.device;
  const int warps = (threads + 31) / 32;
  const auto shared = dynamic_shared + static_cast<std::size_t>(kernel.static_shared_bytes()) +
                      kReservedSharedBytesPerBlock;
  int blocks = device.max_blocks_per_sm;
  blocks = std::min(blocks, device.max_threads_per_sm / (warps * 32));
  blocks = std::min(blocks, device.registers_per_sm / (kernel.registers() * warps * 32));
  return std::min(blocks,
                  static_cast<int>(static_cast<std::size_t>(device.shared_bytes_per_sm) / shared));
}

void Simulator::forget_kernels(Library& library) {
  for (const auto& [name, kernel] : library.kernels)
    kernels.erase(kernel.get());
}

void Simulator::unload(Module& module) {
  Context& context = *module.context;
  for (const auto& [kernel, function] : module.functions)
    functions.erase(function.get());
  for (const auto& [name, variable] : module.variables) {
    if (variable.managed) continue;  // outlives the module: other devices use it too
    if (const Allocation* owned = memory.find(variable.address); owned != nullptr) {
      memory.release(*owned);
    }
  }
  context.library_modules.erase(module.library);
  if (module.owned) forget_kernels(*module.owned);
  module_owner.erase(&module);
  context.modules.erase(&module);
}

}  // namespace simgpu
