// A plug-in that was linked with one of the copies, as a Python extension is.
#include <dlfcn.h>

extern "C" int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int,
                              const float*, int, const float*, float*, int);

extern "C" [[gnu::visibility("default")]] int call_blas(int m) {
  return cublasSgemm_v2(nullptr, 0, 0, m, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr,
                        1);
}

// In the scope of a library that came in by RTLD_LOCAL, its own dependencies are found.
extern "C" [[gnu::visibility("default")]] void* look_up_in_scope() {
  // Not a tail call: the scope is that of the return address.
  void* volatile found = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
  return found;
}
