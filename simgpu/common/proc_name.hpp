// A driver function as cudaTypedefs.h names it: cuMemFree_v3020 is what cuGetProcAddress hands out
// for "cuMemFree" since CUDA 3.2, PFN_cuMemFree_v3020 its type.
#pragma once

#include <algorithm>
#include <string_view>

#pragma GCC visibility push(default)
#include <cudaTypedefs.h>
#pragma GCC visibility pop

namespace simgpu {

// The name that callers ask for.
constexpr std::string_view proc_base(std::string_view typed) {
  return typed.substr(0, typed.rfind("_v"));
}

// The first CUDA version that has this signature.
constexpr int proc_version(std::string_view typed) {
  int version = 0;
  for (const char digit : typed.substr(typed.rfind("_v") + 2))
    version = version * 10 + (digit - '0');
  return version;
}

// The same of the form for the per-thread default stream, which came with CUDA 7.0.
constexpr int per_thread_version(std::string_view typed) {
  return std::max(proc_version(typed), 7000);
}

}  // namespace simgpu
