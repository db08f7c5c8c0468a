#include "measure/dynamic_library.hpp"

#include "measure/case.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace inline_prof::measure {
namespace {

std::string last_error() {
  const char* words = dlerror();  // NOLINT(concurrency-mt-unsafe): one thread loads libraries
  return words == nullptr ? "no reason given" : words;
}

}  // namespace

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  std::string first_error;
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const std::string error = last_error();
    if (first_error.empty()) first_error = error;
  }
  throw Skipped(first_error);
}

void* DynamicLibrary::address_or_null(const char* name) const {
  return dlsym(handle_, name);
}

void* DynamicLibrary::address(const char* name) const {
  void* found = address_or_null(name);
  if (found == nullptr) throw Skipped(fmt::format("{} has no {}", name_, name));
  return found;
}

}  // namespace inline_prof::measure
