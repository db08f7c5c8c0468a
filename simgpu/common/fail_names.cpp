#include "common/fail_names.hpp"

#include "common/settings.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <string>

namespace simgpu {

bool fail_rules_are_known(const LibraryNames& names) {
  Dl_info self{};
  if (dladdr(names.symbol, &self) == 0) return false;
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const std::string file = self.dli_fname;
  bool good = true;
  for (const auto& rule : process_settings().settings.fail_rules) {
    if (!rule.function.starts_with(names.prefix) ||
        (names.but_not != nullptr && rule.function.starts_with(names.but_not))) {
      continue;
    }
    const std::string versioned = rule.function + "_v2";
    if (dlsym(library, rule.function.c_str()) == nullptr &&
        dlsym(library, versioned.c_str()) == nullptr) {
      std::fprintf(
          stderr, "simgpu: SIMGPU_FAIL=%s: expected a function of the simulated %s\n",
          rule.function.c_str(),
          names.called != nullptr ? names.called : file.substr(file.rfind('/') + 1).c_str());
      good = false;
    }
  }
  dlclose(library);
  return good;
}

}  // namespace simgpu
