// The functions that cuGetProcAddress hands out: each definition adds its row.
#pragma once

#include "common/proc_name.hpp"

#include <span>
#include <string_view>

namespace simgpu {

enum class ProcVariant { kBoth, kLegacyOnly, kPerThreadOnly };

struct ProcRow {
  std::string_view base;    // the name that callers ask for
  int version;              // first CUDA version with this signature
  ProcVariant variant;      // which default stream it uses
  std::string_view symbol;  // as exported
  void* (*address)();
};

[[nodiscard]] std::span<const ProcRow* const> proc_table();

// True for a base name or a symbol of the table.
[[nodiscard]] bool is_driver_function(std::string_view name);

}  // namespace simgpu

// The linker puts the pointers to all rows one after another.  The static_cast lets the compiler
// compare our function with the vendor's typedef for that version.
#define SIMGPU_PROC_ROW(symbol, typed, version, variant)                                         \
  static constexpr simgpu::ProcRow row_##symbol{                                                 \
      simgpu::proc_base(#typed), simgpu::version(#typed), simgpu::ProcVariant::variant, #symbol, \
      [] { return reinterpret_cast<void*>(static_cast<PFN_##typed>(&::symbol)); }};              \
  [[gnu::section("simgpu_proc_rows"),                                                            \
    gnu::used]] static constexpr const simgpu::ProcRow* const pointer_to_##symbol = &row_##symbol;
// A function with one form for both kinds of default stream.
#define SIMGPU_PROC(symbol, typed) SIMGPU_PROC_ROW(symbol, typed, proc_version, kBoth)
// A function and its twin for the per-thread default stream.
#define SIMGPU_PROC_TWINS(symbol, twin, typed)              \
  SIMGPU_PROC_ROW(symbol, typed, proc_version, kLegacyOnly) \
  SIMGPU_PROC_ROW(twin, typed, per_thread_version, kPerThreadOnly)
