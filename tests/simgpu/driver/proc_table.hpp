// The functions that cuGetProcAddress hands out.
#pragma once

#include <span>
#include <string_view>

namespace inline_prof::simgpu {

enum class ProcVariant { kBoth, kLegacyOnly, kPerThreadOnly };

struct ProcRow {
  std::string_view base;    // the name that callers ask for
  int version;              // first CUDA version with this signature
  ProcVariant variant;      // which default stream it uses
  std::string_view symbol;  // as exported
  void* address;
};

[[nodiscard]] std::span<const ProcRow> proc_table();

// True for a base name or a symbol of the table.
[[nodiscard]] bool is_driver_function(std::string_view name);

}  // namespace inline_prof::simgpu
