// How rows of the table of entry points are written.
#pragma once

#include "driver/proc_table.hpp"

#pragma GCC visibility push(default)
#include <cudaTypedefs.h>
#pragma GCC visibility pop

namespace inline_prof::simgpu {

// The static_cast lets the compiler compare our function with the vendor's typedef for that
// version.
#define SIMGPU_ROW(base, version, variant, symbol, type)         \
  ProcRow {                                                      \
#base, version, ProcVariant::variant, #symbol,               \
        reinterpret_cast < void*>(static_cast <type>(&::symbol)) \
  }

// The part of the table for captures, graphs and user objects.
[[nodiscard]] std::span<const ProcRow> graph_proc_table();

}  // namespace inline_prof::simgpu
