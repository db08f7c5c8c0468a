// The door of an exported function: log of calls, injected failures.
#pragma once

#include "common/settings.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace simgpu {

// One per exported function: `static const Entry entry{__func__};`.
class Entry {
 public:
  // `failure` is the code of a SIMGPU_FAIL rule that names none.
  Entry(const char* function, int failure);

  // Writes the log line.  Returns the code with which this call must fail, 0 if it must not.
  [[nodiscard]] int begin() const { return watched_ ? begin_watched() : 0; }

  [[nodiscard]] const char* function() const { return function_; }

 private:
  [[nodiscard]] int begin_watched() const;

  const char* function_;
  int failure_;
  const FailRule* rule_ = nullptr;
  std::atomic<std::uint64_t>* calls_ = nullptr;  // one count per rule: _ptsz twins share it
  bool watched_;
};

// Appends a line to the log, if there is one.
void write_log(std::string line);

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
