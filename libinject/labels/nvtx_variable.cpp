// The only code that runs when the library is loaded.
//
// NVTX reads NVTX_INJECTION64_PATH once, at its first call, which may come before the first GPU
// call and from any library.  So the variable must be set from the start.  A path that the user has
// set is kept: NVTX loads that tool, looks up its entry, and gets ours in front of it
// (dlsym_filter.cpp).
#include <cstdlib>
#include <dlfcn.h>

extern "C" {

[[gnu::constructor]] static void inline_prof_set_nvtx_path() {
  Dl_info self{};
  const auto* here = reinterpret_cast<const void*>(&inline_prof_set_nvtx_path);
  if (dladdr(here, &self) == 0 || self.dli_fname == nullptr) return;
  setenv("NVTX_INJECTION64_PATH", self.dli_fname, 0);  // NOLINT(concurrency-mt-unsafe): no threads
}
}
