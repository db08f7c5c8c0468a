#include "labels/nvtx_injection.hpp"

#include "hook/export.hpp"
#include "labels/nvtx_api.hpp"
#include "labels/nvtx_ranges.hpp"

#include <cstring>

INLINE_PROF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
INLINE_PROF_EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table);

namespace inline_prof::labels {

constinit std::array<NvtxEntry, 2> nvtx_entries{{
    {.symbol = "InitializeInjectionNvtx2"},
    {.symbol = "InitializeInjectionNvtx"},
}};

namespace {

// Returns this copy of NVTX's pointer to `function`; null if it has no such function.
NvtxFunctionPointer* place_in(const NvtxExportTableCallbacks& callbacks,
                              const NvtxFunction& function) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(function.module, &table, &size) == 0 || table == nullptr ||
      function.id >= size) {
    return nullptr;
  }
  return table[function.id];
}

// False if the chained tool has set another function than in an earlier copy of NVTX; then that one
// stays in place.
bool chain(std::size_t i, NvtxFunctionPointer tools) noexcept {
  NvtxFunctionPointer known = nullptr;
  return nvtx_tools_functions[i].compare_exchange_strong(known, tools) || known == tools;
}

// Each library that uses NVTX has its own copy, which calls this at its first use.
int initialize(NvtxGetExportTableFunc_t get_export_table, void* tools_entry) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  const auto tool = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(tools_entry);
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) {
    return tool == nullptr ? 0 : tool(get_export_table);
  }
  const auto& functions = nvtx_functions();
  std::array<NvtxFunctionPointer*, kNvtxFunctions> places{};
  std::array<NvtxFunctionPointer, kNvtxFunctions> untouched{};
  for (std::size_t i = 0; i < kNvtxFunctions; ++i) {
    places[i] = place_in(*callbacks, functions[i]);
    if (places[i] != nullptr) untouched[i] = *places[i];
  }
  const bool has_tool = tool != nullptr && tool(get_export_table) != 0;
  if (has_tool) has_nvtx_tool.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kNvtxFunctions; ++i) {
    if (places[i] == nullptr) continue;
    // A pointer that the tool has not set still leads to NVTX's initialization, and one that it has
    // set before failing must not be called.
    const bool is_tools = has_tool && *places[i] != untouched[i];
    if (!is_tools || chain(i, *places[i])) *places[i] = functions[i].ours;
  }
  return 1;
}

}  // namespace

NvtxEntry* nvtx_entry(const char* symbol) noexcept {
  if (symbol == nullptr || symbol[0] != 'I') return nullptr;
  for (NvtxEntry& entry : nvtx_entries) {
    if (std::strcmp(symbol, entry.symbol) == 0) return &entry;
  }
  return nullptr;
}

void* wrap_nvtx_entry(NvtxEntry& entry, void* real) noexcept {
  void* ours = &entry == &nvtx_entries[0] ? reinterpret_cast<void*>(&InitializeInjectionNvtx2)
                                          : reinterpret_cast<void*>(&InitializeInjectionNvtx);
  if (real == nullptr || real == ours) return real;
  void* known = nullptr;
  if (entry.tools.compare_exchange_strong(known, real) || known == real) return ours;
  return real;
}

}  // namespace inline_prof::labels

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace inline_prof::labels;
  return initialize(get_export_table, nvtx_entries[0].tools.load(std::memory_order_acquire));
}

int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table) {
  using namespace inline_prof::labels;
  return initialize(get_export_table, nvtx_entries[1].tools.load(std::memory_order_acquire));
}
