// Another library that stands in for dlsym, as limiters of GPU memory do.  It answers for one name
// of its own and passes everything else on.
#include <cstring>
#include <dlfcn.h>

namespace {

using Dlsym = void* (*)(void*, const char*);

int tool_answer() {
  return 4711;
}

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) noexcept {
  static Dlsym real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (std::strcmp(name, "inline_prof_test_tool_answer") == 0)
    return reinterpret_cast<void*>(tool_answer);
  return real == nullptr ? nullptr : real(handle, name);
}
