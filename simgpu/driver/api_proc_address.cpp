// cuGetProcAddress: which function a caller gets.
#include "common/unsimulated.hpp"
#include "driver/call.hpp"
#include "driver/proc_table.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace simgpu {

// The linker puts the section of SIMGPU_PROC_ROW between these two.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names.
extern "C" [[gnu::visibility("hidden")]] const ProcRow* const __start_simgpu_proc_rows[];
extern "C" [[gnu::visibility("hidden")]] const ProcRow* const __stop_simgpu_proc_rows[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

// SIMGPU_LAUNCH=null: what a launch costs its caller if nobody does anything.
CUresult null_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult null_cooperative(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, CUstream, void**) {
  return CUDA_SUCCESS;
}
CUresult null_launch_ex(const CUlaunchConfig*, CUfunction, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult null_graph_launch(CUgraphExec, CUstream) {
  return CUDA_SUCCESS;
}
CUresult null_copy(CUdeviceptr, CUdeviceptr, size_t, CUstream) {
  return CUDA_SUCCESS;
}

void* null_launch_for(std::string_view base) {
  if (base == "cuLaunchKernel") return reinterpret_cast<void*>(&null_launch);
  if (base == "cuLaunchCooperativeKernel") return reinterpret_cast<void*>(&null_cooperative);
  if (base == "cuLaunchKernelEx") return reinterpret_cast<void*>(&null_launch_ex);
  if (base == "cuGraphLaunch") return reinterpret_cast<void*>(&null_graph_launch);
  if (base == "cuMemcpyDtoDAsync") return reinterpret_cast<void*>(&null_copy);
  return nullptr;
}

int driver_version() {
  const Simulator* simulator = Simulator::instance();
  return simulator != nullptr ? simulator->model.driver_version
                              : process_settings().settings.driver_version.value_or(13000);
}

struct Found {
  CUresult result = CUDA_SUCCESS;
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// Finds a function that is not simulated: its newest version, since all of them answer alike.
void* unsimulated(std::string_view base, bool per_thread) {
  const UnsimulatedRow* best = nullptr;
  for (const auto& row : unsimulated_functions()) {
    const std::string_view name = row.name;
    if (base_name(name) != base ||
        (name.ends_with("_ptsz") || name.ends_with("_ptds")) != per_thread)
      continue;
    if (best == nullptr || name > best->name) best = &row;
  }
  if (best == nullptr) return per_thread ? unsimulated(base, false) : nullptr;
  return reinterpret_cast<void*>(best->address);
}

// cuda.h, cuGetProcAddress: the newest variant that is not newer than `version`; "If the specified
// CUDA version is greater than the driver version, the API will return CUDA_ERROR_INVALID_VALUE";
// "If a per-thread version is not found, the API will return the legacy version".
Found find(std::string_view name, int version, cuuint64_t flags) {
  constexpr cuuint64_t known_flags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const int driver = driver_version();
  if (version > driver || (flags & ~known_flags) != 0) return {.result = CUDA_ERROR_INVALID_VALUE};

  const auto& settings = process_settings().settings;
  const auto& missing = settings.missing;
  if (std::find(missing.begin(), missing.end(), name) != missing.end()) return {};

  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const ProcRow* best = nullptr;
  bool known = false;
  for (const ProcRow* candidate : proc_table()) {
    const ProcRow& row = *candidate;
    if (row.base != name || row.version > driver) continue;
    known = true;
    if (row.version > version) continue;
    if (!per_thread && row.variant == ProcVariant::kPerThreadOnly) continue;
    const auto rank = [](const ProcRow& r) {
      return std::pair(r.version, r.variant == ProcVariant::kPerThreadOnly);
    };
    // Per-thread first, if asked for; then the newest.
    if (best == nullptr ||
        (per_thread && best->variant != ProcVariant::kPerThreadOnly &&
         row.variant == ProcVariant::kPerThreadOnly) ||
        (best->variant == row.variant && rank(row) > rank(*best)) ||
        (!per_thread && rank(row) > rank(*best))) {
      best = &row;
    }
  }
  if (best == nullptr && !known) {
    if (void* entry = unsimulated(name, per_thread); entry != nullptr) {
      return {.address = entry, .status = CU_GET_PROC_ADDRESS_SUCCESS};
    }
  }
  if (best == nullptr) {
    return {.status = known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  }
  void* null_version = settings.null_launch ? null_launch_for(name) : nullptr;
  return {.address = null_version != nullptr ? null_version : best->address(),
          .status = CU_GET_PROC_ADDRESS_SUCCESS};
}

}  // namespace

std::span<const ProcRow* const> proc_table() {
  return {__start_simgpu_proc_rows, __stop_simgpu_proc_rows};
}

bool is_driver_function(std::string_view name) {
  const auto rows = proc_table();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const ProcRow* row) { return row->base == name || row->symbol == name; });
}

}  // namespace simgpu

using simgpu::DriverEntry;

SIMGPU_FUNCTION(cuGetProcAddress_v2, cuGetProcAddress_v12000, symbol, address, version, flags,
                status) {
  if (const int injected = entry.begin(); injected != 0) return static_cast<CUresult>(injected);
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = simgpu::find(symbol, version, flags);
  *address = found.address;
  if (status != nullptr) *status = found.status;
  return found.result;
}

SIMGPU_FUNCTION(cuGetProcAddress, cuGetProcAddress_v11030, symbol, address, version, flags) {
  if (const int injected = entry.begin(); injected != 0) return static_cast<CUresult>(injected);
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = simgpu::find(symbol, version, flags);
  *address = found.address;
  // Without the status argument the code is all there is: CUDA 11.3 to 11.8, cuda.h,
  // cuGetProcAddress: "CUDA_ERROR_NOT_FOUND".
  if (found.result == CUDA_SUCCESS && found.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  return found.result;
}
