#include "launch/kernel_handles.hpp"

#include "hook/driver_functions.hpp"
#include "hook/guard.hpp"
#include "launch/copies.hpp"
#include "sys/cuda_api.hpp"
#include "sys/locked.hpp"

#include <atomic>
#include <unordered_map>

namespace inline_prof::launch {
namespace {

// Beyond this, further handles are not remembered.
constexpr std::size_t kMostHandles = 65536;

struct Remembered {
  std::string name;
  const void* module;  // CUmodule or CUlibrary
};

struct HandleBook {
  std::unordered_map<const void*, Remembered> kernels;
};

// True if the driver does not tell names; determined once.
bool names_are_needed() noexcept {
  enum class Answer { kUnknown, kYes, kNo };
  static constinit std::atomic<Answer> answer{Answer::kUnknown};
  Answer known = answer.load(std::memory_order_relaxed);
  if (known == Answer::kUnknown) {
    known = hook::find_original("cuFuncGetName") == nullptr ? Answer::kYes : Answer::kNo;
    answer.store(known, std::memory_order_relaxed);
  }
  return known == Answer::kYes;
}

template <typename Note>
void keep(const char* where, const Note& note) noexcept {
  if (names_are_needed()) hook::fenced(where, note);
}

void remember(const void* handle, const char* name, const void* module) {
  const sys::Locked<HandleBook> handles;
  // A handle of an unloaded module may be reused for another kernel.
  if (handles->kernels.size() < kMostHandles) handles->kernels[handle] = {name, module};
}

void remember_as(const void* handle, const void* known) {
  const sys::Locked<HandleBook> handles;
  const auto same = handles->kernels.find(known);
  if (same == handles->kernels.end() || handles->kernels.size() >= kMostHandles) return;
  const Remembered kernel = same->second;
  handles->kernels[handle] = kernel;
}

// The driver's name for it; empty if it does not tell.
std::string name_of(CUfunction function) {
  const auto& cuda = sys::cuda();
  const char* name = nullptr;
  if (cuda.cuFuncGetName != nullptr && cuda.cuFuncGetName(&name, function) == CUDA_SUCCESS &&
      name != nullptr) {
    return name;
  }
  // The runtime may launch a CUkernel in the place of a CUfunction (cuda.h, cuLaunchKernel).
  if (cuda.cuKernelGetName != nullptr &&
      cuda.cuKernelGetName(&name, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS &&
      name != nullptr) {
    return name;
  }
  return "";
}

// Null if the driver does not tell.
const void* module_of(CUfunction function) {
  const auto& cuda = sys::cuda();
  CUmodule module = nullptr;
  if (cuda.cuFuncGetModule == nullptr) return nullptr;
  if (cuda.cuFuncGetModule(&module, function) == CUDA_SUCCESS) return module;
  CUfunction of_kernel = nullptr;
  if (cuda.cuKernelGetFunction != nullptr &&
      cuda.cuKernelGetFunction(&of_kernel, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS &&
      cuda.cuFuncGetModule(&module, of_kernel) == CUDA_SUCCESS) {
    return module;
  }
  return nullptr;
}

}  // namespace

KernelIdentity identity_of(CUfunction function) {
  if (is_copy(function)) return {.module = function, .name = name_of(kind_of(function))};
  KernelIdentity identity{.module = module_of(function), .name = name_of(function)};
  if (identity.name.empty()) {
    const sys::Locked<HandleBook> handles;
    const auto known = handles->kernels.find(function);
    if (known != handles->kernels.end()) {
      identity.name = known->second.name;
      if (identity.module == nullptr) identity.module = known->second.module;
    }
  }
  if (identity.name.empty()) identity.name = "kernel_without_a_name";
  // A handle of which nothing is known counts as a kernel of its own.
  if (identity.module == nullptr) identity.module = function;
  return identity;
}

INLINE_PROF_AFTER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name),
                  (function, module, name),
                  keep("cuModuleGetFunction", [&] { remember(*function, name, module); }))
INLINE_PROF_AFTER(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char* name),
                  (kernel, library, name),
                  keep("cuLibraryGetKernel", [&] { remember(*kernel, name, library); }))
INLINE_PROF_AFTER(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), (function, kernel),
                  keep("cuKernelGetFunction", [&] { remember_as(*function, kernel); }))

}  // namespace inline_prof::launch
