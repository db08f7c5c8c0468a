// Libraries of the vendor's that may be absent: what needs one is skipped, and says so.
#pragma once

#include <initializer_list>
#include <string>

namespace inline_prof::measure {

class DynamicLibrary {
 public:
  // The first of these names that can be loaded.  Throws Skipped with the loader's words.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  // Throws Skipped where the library does not have it.
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name));
  }
  // Null where the library does not have it.
  template <typename Function>
  void find_optional(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_or_null(name));
  }

 private:
  [[nodiscard]] void* address(const char* name) const;
  [[nodiscard]] void* address_or_null(const char* name) const;

  std::string name_;
  void* handle_ = nullptr;  // stays loaded: threads of such a library outlive everything of ours
};

}  // namespace inline_prof::measure
