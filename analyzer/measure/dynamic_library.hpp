// Vendor libraries that may be absent: a case that needs one is skipped with the reason.
#pragma once

#include <initializer_list>
#include <string>

namespace inline_prof::measure {

class DynamicLibrary {
 public:
  // The address of a function, which becomes a pointer of whatever type it is assigned to.
  struct Address {
    void* value;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(value);
    }
  };

  // Loads the first of these names that can be loaded.  Throws Skipped with the loader's words.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  // Throws Skipped if the library lacks the function.
  [[nodiscard]] Address find(const char* name) const;
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  std::string name_;
  void* handle_ = nullptr;  // stays loaded: threads of such a library may still run at exit
};

}  // namespace inline_prof::measure
