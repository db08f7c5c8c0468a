#include "sys/cuda_api.hpp"

#include "sys/original_dlsym.hpp"

namespace inline_prof::sys {
namespace {

constinit CudaApi cuda_functions;

}  // namespace

const char* load_cuda() noexcept {
#define INLINE_PROF_FIND(function, symbol) \
  cuda_functions.function =                \
      reinterpret_cast<decltype(cuda_functions.function)>(find_loaded(kDriverSoname, symbol));
#define INLINE_PROF_NEED(function, symbol) \
  INLINE_PROF_FIND(function, symbol)       \
  if (cuda_functions.function == nullptr) return symbol;
  INLINE_PROF_REQUIRED_FUNCTIONS(INLINE_PROF_NEED)
  INLINE_PROF_OPTIONAL_FUNCTIONS(INLINE_PROF_FIND)
#undef INLINE_PROF_FIND
#undef INLINE_PROF_NEED
  cuda_functions.elapsed_ms = reinterpret_cast<decltype(cuda_functions.elapsed_ms)>(
      find_loaded(kDriverSoname, "cuEventElapsedTime"));
  return cuda_functions.elapsed_ms == nullptr ? "cuEventElapsedTime" : nullptr;
}

const CudaApi& cuda() noexcept {
  return cuda_functions;
}

}  // namespace inline_prof::sys
