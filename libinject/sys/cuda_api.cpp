#include "sys/cuda_api.hpp"

#include "sys/real_dlsym.hpp"

namespace inline_prof::sys {
namespace {

constinit CudaApi api;

}  // namespace

const char* load_cuda() noexcept {
#define INLINE_PROF_FIND(function, symbol) \
  api.function = reinterpret_cast<decltype(api.function)>(find_loaded(kDriverSoname, symbol));
#define INLINE_PROF_NEED(function, symbol) \
  INLINE_PROF_FIND(function, symbol)       \
  if (api.function == nullptr) return symbol;
  INLINE_PROF_REQUIRED_FUNCTIONS(INLINE_PROF_NEED)
  INLINE_PROF_OPTIONAL_FUNCTIONS(INLINE_PROF_FIND)
#undef INLINE_PROF_FIND
#undef INLINE_PROF_NEED
  api.elapsed_ms =
      reinterpret_cast<decltype(api.elapsed_ms)>(find_loaded(kDriverSoname, "cuEventElapsedTime"));
  return api.elapsed_ms == nullptr ? "cuEventElapsedTime" : nullptr;
}

const CudaApi& cuda() noexcept {
  return api;
}

}  // namespace inline_prof::sys
