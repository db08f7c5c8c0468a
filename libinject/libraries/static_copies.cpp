#include "libraries/static_copies.hpp"

#include "base/elf_reader.hpp"
#include "libraries/library_calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <link.h>
#include <mutex>
#include <set>
#include <string_view>

namespace inline_prof::libraries {
namespace {

// A part of the names of a library's kernels, in lower case.
struct KernelNamePart {
  VendorLibrary library;
  std::string_view part;
};
constexpr std::array kKernelNames{KernelNamePart{VendorLibrary::kCublas, "gemm"},
                                  KernelNamePart{VendorLibrary::kCublas, "cublas"},
                                  KernelNamePart{VendorLibrary::kCublasLt, "gemm"},
                                  KernelNamePart{VendorLibrary::kCudnn, "cudnn"},
                                  KernelNamePart{VendorLibrary::kCudnn, "fprop"},
                                  KernelNamePart{VendorLibrary::kCudnn, "dgrad"},
                                  KernelNamePart{VendorLibrary::kCudnn, "wgrad"},
                                  KernelNamePart{VendorLibrary::kCudnn, "convolve"},
                                  KernelNamePart{VendorLibrary::kNccl, "nccldev"},
                                  KernelNamePart{VendorLibrary::kNccl, "ncclkernel"}};

std::set<VendorLibrary> unexplained(const record::RunRecord& run) {
  const record::EventList& events = run.events;
  std::set<VendorLibrary> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].op || events[i].phase == run.phase_in_making) continue;
    for (std::string name : events[i].kernel_names) {
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      for (const KernelNamePart& known : kKernelNames) {
        if (name.find(known.part) != std::string::npos) found.insert(known.library);
      }
    }
  }
  return found;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

int add_path(dl_phdr_info* object, std::size_t, void* data) {
  auto& paths = *static_cast<std::vector<std::string>*>(data);
  const char* path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  // The main program comes first and has no name there.
  paths.emplace_back(*path == '\0' && paths.empty() ? "/proc/self/exe" : path);
  return 0;
}

// Returns the libraries whose functions the file defines itself.
std::set<VendorLibrary> libraries_in(const std::string& path) {
  std::set<VendorLibrary> found;
  const base::ElfReader file(path);
  const auto headers = file.read<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return found;
  }
  const auto sections = file.read<Elf64_Shdr>(
      headers[0].e_shoff, std::uint64_t{headers[0].e_shnum} * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    file.each_symbol(sections, section, [&](const Elf64_Sym& symbol, const char* name) {
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return;
      if (const LibraryCall* call = call_by_symbol(name)) found.insert(call->library);
    });
  }
  return found;
}

}  // namespace

std::vector<std::string> static_copies(record::RunRecord& run) {
  std::vector<std::string> notes;
  const auto suspects = [&run] {
    const std::lock_guard lock(run.mutex);
    return unexplained(run);
  }();
  if (suspects.empty()) return notes;
  std::vector<std::string> paths;
  dl_iterate_phdr(add_path, &paths);
  // If the vendor's own library is loaded, the kernels are its, and what another file defines may
  // be stubs that look it up, as in XLA.
  const auto is_loaded = [&](VendorLibrary library) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return file_name(path).starts_with(std::string(short_name(library)) + ".so");
    });
  };
  for (const std::string& path : paths) {
    // The vDSO has no file.
    if (path.find('/') == std::string::npos || is_a_vendors(path) ||
        file_name(path).starts_with("libinline_prof"))
      continue;
    for (const VendorLibrary library : libraries_in(path)) {
      if (suspects.count(library) == 0 || is_loaded(library)) continue;
      std::string note(short_name(library));
      note.append(" inside ");
      note.append(path == "/proc/self/exe" ? run.command : std::string(file_name(path)));
      notes.push_back(note + ": static copy, kernels timed, shapes missing");
    }
  }
  return notes;
}

}  // namespace inline_prof::libraries
