#include "sys/cuda_api.hpp"

#include "sys/original_dlsym.hpp"

#include <pthread.h>

namespace inline_prof::sys {
namespace {

constinit CudaApi cuda_functions;

constinit GraphApi graph_functions;

template <typename Function>
void find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(find_loaded(kDriverSoname, symbol));
}

void load() {
#define INLINE_PROF_FIND(member, symbol, ...) find(graph_functions.member, #symbol);
  INLINE_PROF_GRAPH_FUNCTIONS(INLINE_PROF_FIND)
#undef INLINE_PROF_FIND
}

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

bool GraphApi::can_time_nodes() const noexcept {
#define INLINE_PROF_IS_THERE(member, symbol, needed, ...) &&(!(needed) || (member) != nullptr)
  return true INLINE_PROF_GRAPH_FUNCTIONS(INLINE_PROF_IS_THERE);
#undef INLINE_PROF_IS_THERE
}

const GraphApi& graph_api() noexcept {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return graph_functions;
}

}  // namespace inline_prof::sys
