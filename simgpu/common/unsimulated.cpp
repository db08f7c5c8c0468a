#include "common/unsimulated.hpp"

#include "common/entry.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace simgpu {
namespace {

std::mutex called_mutex;
Unsimulated* called_functions = nullptr;

// How often each was called, to the log of calls.
void write_counts() {
  const std::lock_guard lock(called_mutex);
  for (const Unsimulated* at = called_functions; at != nullptr; at = at->next) {
    write_log("unsimulated " + std::string(at->function) + " " + std::to_string(at->calls.load()));
  }
}

}  // namespace

// A library without a generated source, such as a test's older driver, has none of them.
__attribute__((weak)) std::span<const UnsimulatedRow> unsimulated_functions() {
  return {};
}

std::intptr_t call_unsimulated(Unsimulated& function, int status) {
  write_log(function.function);
  const std::string_view name = function.function;
  const bool gives_text = name.ends_with("String") || name.find("StatusName") != name.npos ||
                          name.ends_with("ErrorName");
  if (function.calls.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::fprintf(stderr, "simgpu: %s is not simulated and returns %d\n", function.function, status);
    const std::lock_guard lock(called_mutex);
    if (called_functions == nullptr) std::atexit(write_counts);
    function.next = called_functions;
    called_functions = &function;
  }
  return gives_text ? reinterpret_cast<std::intptr_t>("not simulated") : status;
}

}  // namespace simgpu
