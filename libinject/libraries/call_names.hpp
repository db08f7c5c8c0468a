// The names of the wrapped functions and of their libraries. Data only, so that prof-run can use it
// as well.
#pragma once

#include "libraries/call_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace inline_prof::libraries {

enum class VendorLibrary { kCublas, kCublasLt, kCudnn, kNccl };

struct VendorLibraryName {
  VendorLibrary library;
  const char* stem;   // of its file name, without the version: "libcublas.so"
  bool has_versions;  // its symbols are versioned
};
inline constexpr std::array kVendorLibraries{
    VendorLibraryName{VendorLibrary::kCublas, "libcublas.so", true},
    VendorLibraryName{VendorLibrary::kCublasLt, "libcublasLt.so", true},
    VendorLibraryName{VendorLibrary::kCudnn, "libcudnn.so", true},
    VendorLibraryName{VendorLibrary::kNccl, "libnccl.so", false},
};

[[nodiscard]] constexpr const VendorLibraryName& name_of(VendorLibrary library) {
  return kVendorLibraries[static_cast<std::size_t>(library)];
}

// "libcublas" of "libcublas.so".
[[nodiscard]] constexpr std::string_view short_name(VendorLibrary library) {
  const std::string_view stem = name_of(library).stem;
  return stem.substr(0, stem.find('.'));
}

// True for the path of a file of these vendors.
[[nodiscard]] inline bool is_a_vendors(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(kVendorLibraries.begin(), kVendorLibraries.end(), [&](const auto& library) {
    return name.starts_with(short_name(library.library));
  });
}

// The library with the longest name that the symbol begins with: "cublasLt" before "cublas".
[[nodiscard]] constexpr VendorLibrary library_of(std::string_view symbol) {
  VendorLibrary found = VendorLibrary::kCublas;
  for (const VendorLibraryName& each : kVendorLibraries) {
    if (symbol.starts_with(short_name(each.library).substr(3))) found = each.library;
  }
  return found;
}

struct CallName {
  const char* symbol;
  VendorLibrary library;
};
inline constexpr std::array kCallNames{
#define INLINE_PROF_NAME(name, ...) CallName{#name, library_of(#name)},
    INLINE_PROF_CALLS(INLINE_PROF_NAME)
#undef INLINE_PROF_NAME
};

}  // namespace inline_prof::libraries
