// Functions that the vendor's library has and the simulator does not: they say so once, are
// counted, and return the library's own "not supported".  unsimulated/generate.py writes one line
// for each.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>
#include <span>

namespace simgpu {

struct Unsimulated {
  const char* function;
  std::atomic<std::uint64_t> calls{0};
  Unsimulated* next = nullptr;  // of those that were called
};

// Says the name at the first call, and writes a line to SIMGPU_LOG at each.  Returns what the
// function is to return: `status`, or an address of a text where the name says that the function
// gives one.
[[nodiscard]] std::intptr_t call_unsimulated(Unsimulated& function, int status);

using Address = void (*)();
struct UnsimulatedRow {
  const char* name;
  Address address;
};

// Lists this library's functions by name.
[[nodiscard]] std::span<const UnsimulatedRow> unsimulated_functions();

}  // namespace simgpu

#define SIMGPU_VERSION(name)                                                  \
  extern "C" __attribute__((visibility("default"))) std::intptr_t name(int*); \
  extern "C" std::intptr_t name(int* version) {                               \
    *version = 12000;                                                         \
    return 0;                                                                 \
  }

// The parameters of the vendor's function stay where the caller put them.
#define SIMGPU_UNSIMULATED(name, status)                                  \
  extern "C" __attribute__((visibility("default"))) std::intptr_t name(); \
  extern "C" std::intptr_t name() {                                       \
    static constinit simgpu::Unsimulated function{#name};                 \
    return simgpu::call_unsimulated(function, status);                    \
  }
