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

CUresult CUDAAPI hooked_cuGetProcAddress(const char* symbol, void** function, int version,
                                         cuuint64_t flags) {
  const CUresult result = original_cuGetProcAddress(symbol, function, version, flags);
  if (result == CUDA_SUCCESS)
    replace(symbol, function, version, flags, __builtin_return_address(0));
  return result;
}

CUresult CUDAAPI hooked_cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                            cuuint64_t flags,
                                            CUdriverProcAddressQueryResult* status) {
  const CUresult result = original_cuGetProcAddress_v2(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS)
    replace(symbol, function, version, flags, __builtin_return_address(0));
  return result;
}

}  // namespace inline_prof::entry
