#include "sys/cupti_api.hpp"

#include "sys/original_dlsym.hpp"

#include <array>
#include <dlfcn.h>

namespace inline_prof::sys {
namespace {

// The newest first. A CUPTI that is newer than the driver reports it on subscription.
constexpr std::array kSonames{"libcupti.so.13", "libcupti.so.12"};

constinit CuptiApi cupti_functions;

void* open_library() {
  for (const int loading : {RTLD_NOLOAD, 0}) {
    for (const char* soname : kSonames) {
      // An application without CUPTI must not see our failed look-up in dlerror().
      if (void* library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | loading)) return library;
      dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
    }
  }
  return nullptr;
}

}  // namespace

std::string load_cupti() {
  void* library = open_library();  // stays open: callbacks may come until the process ends
  if (library == nullptr) {
    return "neither libcupti.so.13 nor libcupti.so.12 can be loaded: the folder of the toolkit's "
           "CUPTI must be on LD_LIBRARY_PATH";
  }
#define INLINE_PROF_FIND(function)                                                             \
  cupti_functions.function =                                                                   \
      reinterpret_cast<decltype(cupti_functions.function)>(glibc_dlsym()(library, #function)); \
  if (cupti_functions.function == nullptr) return #function " is not in libcupti";
  INLINE_PROF_CUPTI_FUNCTIONS(INLINE_PROF_FIND)
#undef INLINE_PROF_FIND
#if CUPTI_API_VERSION >= 130000
  cupti_functions.cuptiSubscribe_v2 = reinterpret_cast<decltype(cupti_functions.cuptiSubscribe_v2)>(
      glibc_dlsym()(library, "cuptiSubscribe_v2"));
  if (cupti_functions.cuptiSubscribe_v2 == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe)
#endif
  return {};
}

const CuptiApi& cupti() noexcept {
  return cupti_functions;
}

}  // namespace inline_prof::sys
