#include "entry/hooked_functions.hpp"

#include "entry/wrappers.hpp"
#include "graphs/graph_wrappers.hpp"
#include "sys/cuda_api.hpp"
#include "sys/hot_line.hpp"
#include "sys/original_dlsym.hpp"

#include <array>
#include <cstring>
#include <link.h>
#include <sched.h>

namespace inline_prof::hook {
namespace {

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Built at first use without a guard: the pieces are link-time addresses, but a reinterpret_cast is
// no constant expression.  Two threads that race write the same values.
struct Table {
  std::array<HookedFunction, 57> functions{{
      {"cuLaunchKernel", "cuLaunchKernel", 4000, false, address(launch_kernel_legacy),
       &sys::hot_line.kernel[0], address(launch_kernel_spare), &sys::hot_line.kernel[2]},
      {"cuLaunchKernel_ptsz", "cuLaunchKernel", 7000, true, address(launch_kernel_per_thread),
       &sys::hot_line.kernel[1], nullptr, nullptr},
      {"cuLaunchKernelEx", "cuLaunchKernelEx", 11060, false, address(launch_kernel_ex_legacy),
       &sys::hot_line.kernel_ex[0], address(launch_kernel_ex_spare), &sys::hot_line.kernel_ex[2]},
      {"cuLaunchKernelEx_ptsz", "cuLaunchKernelEx", 11060, true,
       address(launch_kernel_ex_per_thread), &sys::hot_line.kernel_ex[1], nullptr, nullptr},
      {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", 9000, false,
       address(launch_cooperative_legacy), &originals.cooperative[0],
       address(launch_cooperative_spare), &originals.cooperative[2]},
      {"cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel", 9000, true,
       address(launch_cooperative_per_thread), &originals.cooperative[1], nullptr, nullptr},
      {"cuGraphLaunch", "cuGraphLaunch", 10000, false, address(graph_launch_legacy),
       &originals.graph_launch[0], address(graph_launch_spare), &originals.graph_launch[2]},
      {"cuGraphLaunch_ptsz", "cuGraphLaunch", 10000, true, address(graph_launch_per_thread),
       &originals.graph_launch[1], nullptr, nullptr},
      {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, false,
       address(primary_context_retain), &originals.primary_context_retain, nullptr, nullptr},
      {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease", 7000, false,
       address(primary_context_release), &originals.primary_context_release, nullptr, nullptr},
      {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", 11000, false,
       address(primary_context_release_v2), &originals.primary_context_release_v2, nullptr,
       nullptr},
      {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset", 7000, false,
       address(primary_context_reset), &originals.primary_context_reset, nullptr, nullptr},
      {"cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", 11000, false,
       address(primary_context_reset_v2), &originals.primary_context_reset_v2, nullptr, nullptr},
      {"cuCtxCreate", "cuCtxCreate", 2000, false, address(context_create),
       &originals.context_create, nullptr, nullptr},
      {"cuCtxCreate_v2", "cuCtxCreate", 3020, false, address(context_create_v2),
       &originals.context_create_v2, nullptr, nullptr},
      {"cuCtxCreate_v3", "cuCtxCreate", 11040, false, address(context_create_v3),
       &originals.context_create_v3, nullptr, nullptr},
      {"cuCtxCreate_v4", "cuCtxCreate", 12050, false, address(context_create_v4),
       &originals.context_create_v4, nullptr, nullptr},
      {"cuCtxDestroy", "cuCtxDestroy", 2000, false, address(context_destroy),
       &originals.context_destroy, nullptr, nullptr},
      {"cuCtxDestroy_v2", "cuCtxDestroy", 4000, false, address(context_destroy_v2),
       &originals.context_destroy_v2, nullptr, nullptr},
      {"cuStreamDestroy_v2", "cuStreamDestroy", 4000, false, address(stream_destroy_v2),
       &originals.stream_destroy_v2, nullptr, nullptr},
      {"cuModuleGetFunction", "cuModuleGetFunction", 2000, false, address(module_get_function),
       &originals.module_get_function, nullptr, nullptr},
      {"cuLibraryGetKernel", "cuLibraryGetKernel", 12000, false, address(library_get_kernel),
       &originals.library_get_kernel, nullptr, nullptr},
      {"cuKernelGetFunction", "cuKernelGetFunction", 12000, false, address(kernel_get_function),
       &originals.kernel_get_function, nullptr, nullptr},
      {"cuGetProcAddress", "cuGetProcAddress", 11030, false, address(get_proc_address),
       &originals.get_proc_address, nullptr, nullptr},
      {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, false, address(get_proc_address_v2),
       &originals.get_proc_address_v2, nullptr, nullptr},
      {"cuGraphInstantiate", "cuGraphInstantiate", 10000, false, address(graph_instantiate),
       &graph_originals.graph_instantiate, nullptr, nullptr},
      {"cuGraphInstantiate_v2", "cuGraphInstantiate", 11000, false, address(graph_instantiate_v2),
       &graph_originals.graph_instantiate_v2, nullptr, nullptr},
      {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040, false,
       address(graph_instantiate_with_flags), &graph_originals.graph_instantiate_with_flags,
       nullptr, nullptr},
      {"cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams", 12000, false,
       address(graph_instantiate_with_params), &graph_originals.graph_instantiate_with_params,
       nullptr, nullptr},
      {"cuGraphInstantiateWithParams_ptsz", "cuGraphInstantiateWithParams", 12000, true,
       address(graph_instantiate_with_params_per_thread),
       &graph_originals.graph_instantiate_with_params_per_thread, nullptr, nullptr},
      {"cuGraphExecUpdate", "cuGraphExecUpdate", 10020, false, address(graph_exec_update),
       &graph_originals.graph_exec_update, nullptr, nullptr},
      {"cuGraphExecUpdate_v2", "cuGraphExecUpdate", 12000, false, address(graph_exec_update_v2),
       &graph_originals.graph_exec_update_v2, nullptr, nullptr},
      {"cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams", 10010, false,
       address(graph_exec_kernel_set), &graph_originals.graph_exec_kernel_set, nullptr, nullptr},
      {"cuGraphExecKernelNodeSetParams_v2", "cuGraphExecKernelNodeSetParams", 12000, false,
       address(graph_exec_kernel_set_v2), &graph_originals.graph_exec_kernel_set_v2, nullptr,
       nullptr},
      {"cuGraphExecMemcpyNodeSetParams", "cuGraphExecMemcpyNodeSetParams", 10020, false,
       address(graph_exec_memcpy_set), &graph_originals.graph_exec_memcpy_set, nullptr, nullptr},
      {"cuGraphExecMemsetNodeSetParams", "cuGraphExecMemsetNodeSetParams", 10020, false,
       address(graph_exec_memset_set), &graph_originals.graph_exec_memset_set, nullptr, nullptr},
      {"cuGraphExecHostNodeSetParams", "cuGraphExecHostNodeSetParams", 10020, false,
       address(graph_exec_host_set), &graph_originals.graph_exec_host_set, nullptr, nullptr},
      {"cuGraphExecChildGraphNodeSetParams", "cuGraphExecChildGraphNodeSetParams", 11010, false,
       address(graph_exec_child_set), &graph_originals.graph_exec_child_set, nullptr, nullptr},
      {"cuGraphExecEventRecordNodeSetEvent", "cuGraphExecEventRecordNodeSetEvent", 11010, false,
       address(graph_exec_record_set), &graph_originals.graph_exec_record_set, nullptr, nullptr},
      {"cuGraphExecEventWaitNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent", 11010, false,
       address(graph_exec_wait_set), &graph_originals.graph_exec_wait_set, nullptr, nullptr},
      {"cuGraphExecExternalSemaphoresSignalNodeSetParams",
       "cuGraphExecExternalSemaphoresSignalNodeSetParams", 11020, false,
       address(graph_exec_signal_set), &graph_originals.graph_exec_signal_set, nullptr, nullptr},
      {"cuGraphExecExternalSemaphoresWaitNodeSetParams",
       "cuGraphExecExternalSemaphoresWaitNodeSetParams", 11020, false,
       address(graph_exec_semaphore_wait_set), &graph_originals.graph_exec_semaphore_wait_set,
       nullptr, nullptr},
      {"cuGraphExecBatchMemOpNodeSetParams", "cuGraphExecBatchMemOpNodeSetParams", 11070, false,
       address(graph_exec_memory_ops_set), &graph_originals.graph_exec_memory_ops_set, nullptr,
       nullptr},
      {"cuGraphExecNodeSetParams", "cuGraphExecNodeSetParams", 12020, false,
       address(graph_exec_node_set), &graph_originals.graph_exec_node_set, nullptr, nullptr},
      {"cuGraphNodeSetEnabled", "cuGraphNodeSetEnabled", 11060, false,
       address(graph_node_set_enabled), &graph_originals.graph_node_set_enabled, nullptr, nullptr},
      {"cuGraphExecDestroy", "cuGraphExecDestroy", 10000, false, address(graph_exec_destroy),
       &graph_originals.graph_exec_destroy, nullptr, nullptr},
      {"cuGraphDestroy", "cuGraphDestroy", 10000, false, address(graph_destroy),
       &graph_originals.graph_destroy, nullptr, nullptr},
      {"cuGraphClone", "cuGraphClone", 10000, false, address(graph_clone),
       &graph_originals.graph_clone, nullptr, nullptr},
      {"cuGraphRetainUserObject", "cuGraphRetainUserObject", 11030, false,
       address(graph_retain_object), &graph_originals.graph_retain_object, nullptr, nullptr},
      {"cuStreamBeginCapture", "cuStreamBeginCapture", 10000, false, address(begin_capture),
       &graph_originals.begin_capture, nullptr, nullptr},
      {"cuStreamBeginCapture_ptsz", "cuStreamBeginCapture", 10000, true,
       address(begin_capture_per_thread), &graph_originals.begin_capture_per_thread, nullptr,
       nullptr},
      {"cuStreamBeginCapture_v2", "cuStreamBeginCapture", 10010, false, address(begin_capture_v2),
       &graph_originals.begin_capture_v2, nullptr, nullptr},
      {"cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCapture", 10010, true,
       address(begin_capture_v2_per_thread), &graph_originals.begin_capture_v2_per_thread, nullptr,
       nullptr},
      {"cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph", 12030, false,
       address(begin_capture_to_graph), &graph_originals.begin_capture_to_graph, nullptr, nullptr},
      {"cuStreamBeginCaptureToGraph_ptsz", "cuStreamBeginCaptureToGraph", 12030, true,
       address(begin_capture_to_graph_per_thread),
       &graph_originals.begin_capture_to_graph_per_thread, nullptr, nullptr},
      {"cuStreamEndCapture", "cuStreamEndCapture", 10000, false, address(end_capture),
       &graph_originals.end_capture, nullptr, nullptr},
      {"cuStreamEndCapture_ptsz", "cuStreamEndCapture", 10000, true,
       address(end_capture_per_thread), &graph_originals.end_capture_per_thread, nullptr, nullptr},
  }};
};

// How often a thread gives way to the one that builds the table: longer than that takes.
constexpr int kPatience = 10'000;

const Table& table() noexcept {
  // A function-local static would bring a guard, and a constructor call a load-time one.
  static constinit std::atomic<bool> built{false};
  static constinit std::atomic_flag building = ATOMIC_FLAG_INIT;
  alignas(Table) static constinit std::array<std::byte, sizeof(Table)> storage{};
  if (!built.load(std::memory_order_acquire)) {
    // One thread builds it.  In a child that was forked meanwhile nobody does: what is written
    // twice is the same.
    if (building.test_and_set(std::memory_order_acquire)) {
      for (int i = 0; i < kPatience && !built.load(std::memory_order_acquire); ++i)
        sched_yield();
    }
    if (!built.load(std::memory_order_acquire)) {
      const Table fresh;
      std::memcpy(storage.data(), &fresh, sizeof fresh);
      built.store(true, std::memory_order_release);
    }
  }
  return *reinterpret_cast<const Table*>(storage.data());
}

constinit std::atomic<unsigned long> unwrapped{0};

struct DriverRange {
  const void* address;
  bool inside;
};

int look_for_driver(dl_phdr_info* library, std::size_t, void* data) {
  const char* path = library->dlpi_name;
  const char* name = path == nullptr ? nullptr : std::strrchr(path, '/');
  name = name == nullptr ? path : name + 1;
  if (name == nullptr || std::strncmp(name, "libcuda.so", 10) != 0) return 0;
  auto& range = *static_cast<DriverRange*>(data);
  const auto address = reinterpret_cast<std::uintptr_t>(range.address);
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
      range.inside = true;
      return 1;
    }
  }
  return 0;
}

}  // namespace

constinit Originals originals;

const HookedFunction* hooked_by_symbol(const char* symbol) noexcept {
  if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u') return nullptr;
  for (const HookedFunction& hooked : table().functions) {
    if (std::strcmp(symbol, hooked.symbol) == 0) return &hooked;
  }
  return nullptr;
}

const HookedFunction* hooked_by_address(const HookedFunction& likely, const void* real) noexcept {
  if (find_original(likely.symbol) == real) return &likely;
  const std::size_t length = std::strlen(likely.name);
  for (const HookedFunction& hooked : table().functions) {
    if (std::strncmp(hooked.symbol, likely.name, length) == 0 &&
        find_original(hooked.symbol) == real) {
      return &hooked;
    }
  }
  return &likely;
}

const HookedFunction* hooked_by_request(const char* name, int version,
                                        std::uint64_t flags) noexcept {
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return nullptr;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const HookedFunction* best = nullptr;
  bool best_fits = false;
  for (const HookedFunction& hooked : table().functions) {
    if (std::strcmp(name, hooked.name) != 0 || hooked.version > version) continue;
    // Most functions have one form for both kinds of default stream.
    const bool fits = hooked.per_thread == per_thread;
    if (hooked.per_thread && !per_thread) continue;
    if (best == nullptr || (fits && !best_fits) ||
        (fits == best_fits && hooked.version > best->version)) {
      best = &hooked;
      best_fits = fits;
    }
  }
  return best;
}

void* wrap(const HookedFunction& hooked, void* real) noexcept {
  if (real == nullptr || real == hooked.wrapper || real == hooked.spare_wrapper) return real;
  void* known = nullptr;
  if (hooked.real->compare_exchange_strong(known, real) || known == real) return hooked.wrapper;
  if (hooked.spare_original != nullptr) {
    known = nullptr;
    if (hooked.spare_original->compare_exchange_strong(known, real) || known == real) {
      return hooked.spare_wrapper;
    }
  }
  unwrapped.fetch_add(1, std::memory_order_relaxed);
  return real;
}

void* find_original(const char* symbol) noexcept {
  return sys::find_loaded(sys::kDriverSoname, symbol);
}

bool is_inside_driver(const void* address) noexcept {
  DriverRange range{.address = address, .inside = false};
  dl_iterate_phdr(look_for_driver, &range);
  return range.inside;
}

unsigned long unwrapped_count() noexcept {
  return unwrapped.load(std::memory_order_relaxed);
}

}  // namespace inline_prof::hook
