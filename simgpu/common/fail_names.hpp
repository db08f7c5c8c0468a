// SIMGPU_FAIL names functions: whether they are there.
#pragma once

namespace simgpu {

// The functions of a library: those whose names start with `prefix` and not with `but_not`.
struct LibraryNames {
  const char* prefix;
  const void* symbol;  // one of them, by which the library's file is found
  const char* but_not = nullptr;
  const char* called = nullptr;  // null: by its file's name
};

// Whether every SIMGPU_FAIL rule for the library names a function that it has; says on stderr which
// does not.  A misspelt name would test nothing.
[[nodiscard]] bool fail_rules_are_known(const LibraryNames& names);

}  // namespace simgpu
