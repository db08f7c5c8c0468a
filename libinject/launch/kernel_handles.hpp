// Which kernel a handle stands for.
//
// A kernel is known by its module and its name: generated code repeats names in every module, and
// one kernel can have several handles (a CUkernel, which the runtime may launch in the place of a
// CUfunction, and a CUfunction of each context).  Drivers before 12.3 do not say a handle's name
// (cuFuncGetName): for them names are kept when the application looks kernels up.
#pragma once

#include <cuda.h>

#include <compare>
#include <string>

namespace inline_prof::launch {

struct KernelIdentity {
  const void* module = nullptr;
  std::string name;

  friend auto operator<=>(const KernelIdentity&, const KernelIdentity&) = default;
};

// The handle has just been launched, so it is valid now.
[[nodiscard]] KernelIdentity identity_of(CUfunction function);

}  // namespace inline_prof::launch
