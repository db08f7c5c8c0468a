// cuGetProcAddress: the way in which cudart, cuBLAS, cuDNN and NCCL find the driver's functions.
#include "entry/hooked_functions.hpp"
#include "hook/driver_functions.hpp"

namespace inline_prof::entry {
namespace {

// If `caller` is inside libcuda, the driver looks up its own function and must get it.
void replace(const char* symbol, void** function, int version, cuuint64_t flags,
             const void* caller) noexcept {
  if (function == nullptr || *function == nullptr) return;
  const HookedFunction* hooked = hooked_by_request(symbol, version, flags);
  if (hooked == nullptr || is_inside_driver(caller)) return;
  hooked = hooked_by_address(*hooked, *function);
  if (hooked == nullptr) {
    hook::unwrapped_functions.fetch_add(1);
    return;
  }
  *function = wrap(*hooked, *function);
}

}  // namespace

INLINE_PROF_AFTER(cuGetProcAddress,
                  (const char* name, void** function, int version, cuuint64_t flags),
                  (name, function, version, flags),
                  replace(name, function, version, flags, __builtin_return_address(0)))
INLINE_PROF_AFTER(cuGetProcAddress_v2,
                  (const char* name, void** function, int version, cuuint64_t flags,
                   CUdriverProcAddressQueryResult* status),
                  (name, function, version, flags, status),
                  replace(name, function, version, flags, __builtin_return_address(0)))

}  // namespace inline_prof::entry
