#include "run/simulation.hpp"

#include "run/child.hpp"
#include "run/elf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace inline_prof::run {
namespace {

// Libraries that call a driver: the real file in place of a simulated one does not work.
constexpr std::array<std::string_view, 13> kVendorLibraries{
    "libcuda.so",  "libcudart.so",     "libcublas.so",   "libcublasLt.so", "libcudnn",
    "libcufft.so", "libcurand.so",     "libcusolver.so", "libcusparse.so", "libcupti.so",
    "libnccl.so",  "libcusparseLt.so", "libnvshmem"};

bool is_vendor_library(std::string_view name) {
  return std::ranges::any_of(kVendorLibraries,
                             [&](std::string_view known) { return name.starts_with(known); });
}

bool is_vendor_function(std::string_view name) {
  for (const std::string_view prefix :
       {"cuda", "__cuda", "cublas", "cudnn", "nccl", "cufft", "curand", "cusolver", "cusparse"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name.size() > 2 && name.starts_with("cu") &&
         std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

// Returns the name after `undefined symbol: `, without a version.
std::string symbol_in(std::string_view line) {
  constexpr std::string_view before = "undefined symbol: ";
  const auto at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view name = line.substr(at + before.size());
  return std::string(name.substr(0, name.find_first_of(" \t,()@")));
}

}  // namespace

std::string library_path_with(const std::string& folder) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  return before == nullptr || *before == '\0' ? folder : fmt::format("{}:{}", folder, before);
}

std::string why_not_simulated(const std::string& program, const std::string& folder) {
  const auto file = read_elf(program);
  if (!file) return "";
  if (!file->is_64_bit) return fmt::format("{} is a 32-bit program", program);
  if (file->interpreter.empty()) return fmt::format("{} is linked statically", program);
  if (has_static_cuda_runtime(*file)) {
    return fmt::format(
        "{} brings its own CUDA runtime, which needs a real driver; link it with "
        "nvcc -cudart shared",
        program);
  }

  // Does what ldd -r does. The dynamic linker itself is started, so that it only lists and runs
  // nothing.
  const Outcome list =
      run_child({file->interpreter, program}, {{"LD_LIBRARY_PATH", library_path_with(folder)},
                                               {"LD_TRACE_LOADED_OBJECTS", "1"},
                                               {"LD_WARN", "yes"},
                                               {"LD_BIND_NOW", "yes"},
                                               {"LD_PRELOAD", ""}});
  std::istringstream lines(list.output);
  std::string real_library;
  std::set<std::string> symbols;
  for (std::string line; std::getline(lines, line);) {
    const ListedLibrary library = library_in(line);
    if (is_vendor_library(library.name) && !library.place.starts_with(folder + "/") &&
        real_library.empty())
      real_library = library.name;
    std::string symbol = symbol_in(line);
    if (is_vendor_function(symbol)) symbols.insert(std::move(symbol));
  }
  if (!real_library.empty())
    return fmt::format("{} needs {}, which is not simulated", program, real_library);
  if (symbols.empty()) return "";
  const std::string others =
      symbols.size() == 1 ? "" : fmt::format(" and {} more", symbols.size() - 1);
  return fmt::format("{} needs {}{}, which the simulated GPU does not offer", program,
                     *symbols.begin(), others);
}

}  // namespace inline_prof::run
