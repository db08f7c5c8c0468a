// Kernel launches, wrapped at the driver API: the runtime, cuBLAS, cuDNN and NCCL all end here.
//
// A launch that is not measured costs one cache line, a shift, two tests and a jump
// (tests/inject/link_rules checks that the path has no call and ends in a jump).  While launches
// are counted, a table look-up is added.  Everything else is out of line.
#include "entry/driver_functions.hpp"
#include "entry/start.hpp"
#include "graphs/graph_registry.hpp"
#include "hook/guard.hpp"
#include "launch/launch.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/observed.hpp"

namespace inline_prof::hook {
namespace {

using LaunchKernel = Signature_cuLaunchKernel*;
using LaunchKernelEx = Signature_cuLaunchKernelEx*;
using LaunchCooperative = Signature_cuLaunchCooperativeKernel*;
using GraphLaunch = Signature_cuGraphLaunch*;

template <std::size_t Slot>
const char* symbol_of(const char* legacy, const char* per_thread) noexcept {
  return Slot == kPerThread ? per_thread : legacy;
}

// --- cuLaunchKernel

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_kernel_slowly(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) {
  const auto real = reinterpret_cast<LaunchKernel>(resolved(
      sys::hot_line.kernel[Slot], symbol_of<Slot>("cuLaunchKernel", "cuLaunchKernel_ptsz")));
  if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;  // libcuda is not loaded
  const Launch launch{.api = "cuLaunchKernel",
                      .function = f,
                      .stream = explicit_stream(stream, Slot == kPerThread),
                      .grid = {grid_x, grid_y, grid_z},
                      .block = {block_x, block_y, block_z},
                      .cluster = {1, 1, 1},
                      .dynamic_shared_bytes = shared_bytes};
  return observed(launch, [&] { return real(INLINE_PROF_LAUNCH_ARGUMENTS, extra); });
}

template <std::size_t Slot>
[[gnu::always_inline]] inline CUresult launch_kernel_unmarked(INLINE_PROF_LAUNCH_PARAMETERS,
                                                              void** extra) {
  auto target =
      reinterpret_cast<LaunchKernel>(sys::hot_line.kernel[Slot].load(std::memory_order_relaxed));
  timer::LaunchSlot* counted = nullptr;
  if (target == nullptr || !settle_quietly(f, explicit_stream(stream, Slot == kPerThread), counted))
      [[unlikely]] {
    target = launch_kernel_slowly<Slot>;
  }
  if (counted == nullptr) return target(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
  const CUresult result = target(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
  if (result != CUDA_SUCCESS) [[unlikely]]
    timer::take_back(counted->count);
  return result;
}

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_kernel_marked(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) {
  const timer::MarkedLaunch mark(explicit_stream(stream, Slot == kPerThread));
  return launch_kernel_unmarked<Slot>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
}

template <std::size_t Slot>
[[gnu::always_inline]] inline CUresult launch_kernel_counted(INLINE_PROF_LAUNCH_PARAMETERS,
                                                             void** extra) {
  if (is_to_be_marked()) [[unlikely]]
    return launch_kernel_marked<Slot>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
  return launch_kernel_unmarked<Slot>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
}

// --- cuLaunchKernelEx

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_kernel_ex_slowly(const CUlaunchConfig* config, CUfunction f,
                                                   void** parameters, void** extra) {
  const auto real = reinterpret_cast<LaunchKernelEx>(resolved(
      sys::hot_line.kernel_ex[Slot], symbol_of<Slot>("cuLaunchKernelEx", "cuLaunchKernelEx_ptsz")));
  if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (config == nullptr) return real(config, f, parameters, extra);
  const Launch launch{.api = "cuLaunchKernelEx",
                      .function = f,
                      .stream = explicit_stream(config->hStream, Slot == kPerThread),
                      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                      .cluster = cluster_of(*config),
                      .dynamic_shared_bytes = config->sharedMemBytes,
                      .may_overlap = may_overlap(*config)};
  return observed(launch, [&] { return real(config, f, parameters, extra); });
}

template <std::size_t Slot>
[[gnu::always_inline]] inline CUresult launch_kernel_ex_unmarked(const CUlaunchConfig* config,
                                                                 CUfunction f, void** parameters,
                                                                 void** extra) {
  auto target = reinterpret_cast<LaunchKernelEx>(
      sys::hot_line.kernel_ex[Slot].load(std::memory_order_relaxed));
  timer::LaunchSlot* counted = nullptr;
  if (target == nullptr || config == nullptr ||
      !settle_quietly(f, explicit_stream(config->hStream, Slot == kPerThread), counted))
      [[unlikely]] {
    return launch_kernel_ex_slowly<Slot>(config, f, parameters, extra);
  }
  const CUresult result = target(config, f, parameters, extra);
  if (result != CUDA_SUCCESS && counted != nullptr) [[unlikely]]
    timer::take_back(counted->count);
  return result;
}

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_kernel_ex_counted(const CUlaunchConfig* config, CUfunction f,
                                                    void** parameters, void** extra) {
  if (config == nullptr || !is_to_be_marked())
    return launch_kernel_ex_unmarked<Slot>(config, f, parameters, extra);
  const timer::MarkedLaunch mark(explicit_stream(config->hStream, Slot == kPerThread));
  return launch_kernel_ex_unmarked<Slot>(config, f, parameters, extra);
}

// --- cuLaunchCooperativeKernel: rare, so the table look-up is in the slow part

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_cooperative_unmarked(INLINE_PROF_LAUNCH_PARAMETERS) {
  const auto real = reinterpret_cast<LaunchCooperative>(
      resolved(launch_originals.cooperative[Slot],
               symbol_of<Slot>("cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz")));
  if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  timer::LaunchSlot* counted = nullptr;
  if (settle_quietly(f, explicit_stream(stream, Slot == kPerThread), counted)) {
    const CUresult result = real(INLINE_PROF_LAUNCH_ARGUMENTS);
    if (result != CUDA_SUCCESS && counted != nullptr) timer::take_back(counted->count);
    return result;
  }
  const Launch launch{.api = "cuLaunchCooperativeKernel",
                      .function = f,
                      .stream = explicit_stream(stream, Slot == kPerThread),
                      .grid = {grid_x, grid_y, grid_z},
                      .block = {block_x, block_y, block_z},
                      .cluster = {1, 1, 1},
                      .dynamic_shared_bytes = shared_bytes};
  return observed(launch, [&] { return real(INLINE_PROF_LAUNCH_ARGUMENTS); });
}

template <std::size_t Slot>
[[gnu::noinline]] CUresult launch_cooperative_slowly(INLINE_PROF_LAUNCH_PARAMETERS) {
  if (!is_to_be_marked()) return launch_cooperative_unmarked<Slot>(INLINE_PROF_LAUNCH_ARGUMENTS);
  const timer::MarkedLaunch mark(explicit_stream(stream, Slot == kPerThread));
  return launch_cooperative_unmarked<Slot>(INLINE_PROF_LAUNCH_ARGUMENTS);
}

// --- cuGraphLaunch

// While a kernel inside the graph is measured, a copy of the graph with events around that kernel
// is launched instead.  If the driver refuses the copy, the application's own graph is launched.
template <std::size_t Slot>
[[gnu::noinline]] CUresult graph_launch_unmarked(CUgraphExec exec, CUstream stream) {
  const auto real = reinterpret_cast<GraphLaunch>(resolved(
      launch_originals.graph_launch[Slot], symbol_of<Slot>("cuGraphLaunch", "cuGraphLaunch_ptsz")));
  if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  start_once();
  if (!sys::is_on() || cupti_sees_launches.load(std::memory_order_relaxed)) {
    return real(exec, stream);
  }
  Launch launch{.api = "cuGraphLaunch",
                .function = nullptr,
                .stream = explicit_stream(stream, Slot == kPerThread),
                .grid = {},
                .block = {},
                .cluster = {},
                .dynamic_shared_bytes = 0};
  LaunchTicket ticket;
  fenced(launch.api, [&] {
    launch.graph = exec == nullptr ? nullptr : graphs::known_or_new(exec);
    launch.function = reinterpret_cast<CUfunction>(launch.graph);
    if (launch.graph != nullptr) {
      ticket = before_launch(launch);
    } else if (exec != nullptr) {
      count_graph_launch();
    }
  });
  bool launched = false;
  CUresult result = CUDA_SUCCESS;
  if (ticket.replay.clone != nullptr) {
    launched = real(ticket.replay.clone->exec(), stream) == CUDA_SUCCESS;
    if (!launched) result = real(exec, stream);
  } else {
    result = real(exec, stream);
    launched = result == CUDA_SUCCESS;
  }
  if (launch.graph != nullptr) {
    fenced(launch.api, [&] { after_launch(launch, ticket, launched); });
  }
  return result;
}

template <std::size_t Slot>
[[gnu::noinline]] CUresult graph_launch_slowly(CUgraphExec exec, CUstream stream) {
  if (!is_to_be_marked()) return graph_launch_unmarked<Slot>(exec, stream);
  const timer::MarkedLaunch mark(explicit_stream(stream, Slot == kPerThread));
  if (is_only_marked(exec)) {
    const auto real = reinterpret_cast<GraphLaunch>(
        launch_originals.graph_launch[Slot].load(std::memory_order_relaxed));
    if (real != nullptr) return real(exec, stream);
  }
  return graph_launch_unmarked<Slot>(exec, stream);
}

template <std::size_t Slot>
CUresult graph_launch(CUgraphExec exec, CUstream stream) {
  auto target = reinterpret_cast<GraphLaunch>(
      launch_originals.graph_launch[Slot].load(std::memory_order_relaxed));
  if (target == nullptr || sys::may_be_armed(exec)) [[unlikely]] {
    target = graph_launch_slowly<Slot>;
  }
  return target(exec, stream);
}

}  // namespace

// cuLaunchKernel itself is assembly (launch_x86_64.S, launch_aarch64.S) and jumps here if the
// filter lets a launch through.
CUresult CUDAAPI launch_counted_legacy(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) {
  return launch_kernel_counted<kLegacy>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
}
CUresult CUDAAPI launch_counted_per_thread(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) {
  return launch_kernel_counted<kPerThread>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
}
CUresult CUDAAPI launch_counted_spare(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) {
  return launch_kernel_counted<kSpare>(INLINE_PROF_LAUNCH_ARGUMENTS, extra);
}

#define INLINE_PROF_LAUNCH_KERNEL_EX(wrapper, slot)                                       \
  CUresult CUDAAPI wrapper(const CUlaunchConfig* config, CUfunction f, void** parameters, \
                           void** extra) {                                                \
    auto target = reinterpret_cast<LaunchKernelEx>(                                       \
        sys::hot_line.kernel_ex[slot].load(std::memory_order_relaxed));                   \
    if (sys::may_be_armed(f) || target == nullptr) [[unlikely]] {                         \
      return launch_kernel_ex_counted<slot>(config, f, parameters, extra);                \
    }                                                                                     \
    return target(config, f, parameters, extra);                                          \
  }
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx, kLegacy)
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx_ptsz, kPerThread)
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx_spare, kSpare)

#define INLINE_PROF_LAUNCH_COOPERATIVE(wrapper, slot)                        \
  CUresult CUDAAPI wrapper(INLINE_PROF_LAUNCH_PARAMETERS) {                  \
    auto target = reinterpret_cast<LaunchCooperative>(                       \
        launch_originals.cooperative[slot].load(std::memory_order_relaxed)); \
    if (sys::may_be_armed(f) || target == nullptr) [[unlikely]] {            \
      return launch_cooperative_slowly<slot>(INLINE_PROF_LAUNCH_ARGUMENTS);  \
    }                                                                        \
    return target(INLINE_PROF_LAUNCH_ARGUMENTS);                             \
  }
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel, kLegacy)
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel_ptsz, kPerThread)
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel_spare, kSpare)

CUresult CUDAAPI hooked_cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return graph_launch<kLegacy>(graph, stream);
}
CUresult CUDAAPI hooked_cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return graph_launch<kPerThread>(graph, stream);
}
CUresult CUDAAPI hooked_cuGraphLaunch_spare(CUgraphExec graph, CUstream stream) {
  return graph_launch<kSpare>(graph, stream);
}

}  // namespace inline_prof::hook
