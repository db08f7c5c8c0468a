#include "measure/dynamic_library.hpp"

#include "measure/case.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace inline_prof::measure {

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  std::string first_error;
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* words = dlerror();  // NOLINT(concurrency-mt-unsafe): one thread loads libraries
    if (first_error.empty()) first_error = words == nullptr ? "no reason given" : words;
  }
  throw Skipped(first_error);
}

DynamicLibrary::Address DynamicLibrary::find(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw Skipped(fmt::format("{} has no {}", name_, name));
  return {found};
}

}  // namespace inline_prof::measure
