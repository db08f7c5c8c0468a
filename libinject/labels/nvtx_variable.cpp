// The one function that runs when the library is loaded.
//
// It remembers what stderr is (sys/log.hpp), and it answers NVTX, which asks at its first call
// which library takes part, and never again; that call may come before the first GPU call, and from
// any library.  So the answer stands in the environment from the start.  A path that the user has
// set stays: NVTX loads that tool, looks its entry up, and gets ours in front of it
// (dlsym_filter.cpp).
#include "sys/log.hpp"

#include <cstdlib>
#include <dlfcn.h>

extern "C" {

[[gnu::constructor]] static void inline_prof_set_nvtx_path() {
  inline_prof::sys::note_stderr();
  Dl_info self{};
  const auto* here = reinterpret_cast<const void*>(&inline_prof_set_nvtx_path);
  if (dladdr(here, &self) == 0 || self.dli_fname == nullptr) return;
  setenv("NVTX_INJECTION64_PATH", self.dli_fname, 0);  // NOLINT(concurrency-mt-unsafe): no threads
}
}
