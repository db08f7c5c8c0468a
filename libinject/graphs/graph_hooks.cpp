// Wrappers of the functions that create, change and destroy graphs, and of stream capture.  Each
// makes the application's call once, unchanged, and tells graphs/graph_registry.hpp of it.
#include "graphs/graph_clone.hpp"
#include "graphs/graph_registry.hpp"
#include "hook/driver_functions.hpp"
#include "hook/observer.hpp"
#include "hook/start.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/launch_filter.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"
#include "timer/driver_scope.hpp"

namespace inline_prof::graphs {

namespace {

// Runs `note` if profiling is on and this is not one of our own calls.
template <typename Note>
void noted(const char* where, const Note& note) noexcept {
  if (sys::is_on() && !launch::filter.is_left_to_cupti()) hook::fenced(where, note);
}

// The same, and also after profiling has ended while there are still copies of graphs: what they
// refer to must not live longer than in the application's own graph.
template <typename Note>
void released(const char* where, const Note& note) noexcept {
  if (hook::observer() == nullptr || (!sys::is_on() && copy_bytes() == 0)) return;
  hook::fenced(where, note);
}

void instantiated(const CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  if (exec == nullptr || *exec == nullptr) return;
  hook::start_once();
  noted("cuGraphInstantiate", [&] { made(*exec, graph, flags); });
}

void updated(CUgraphExec exec, CUgraph graph) {
  noted("cuGraphExecUpdate", [&] { updated_from(exec, graph); });
}

// A change of a node that is not mirrored to our copy.
void changed(CUgraphExec exec, CUgraphNode node) {
  noted("cuGraphExecNodeSetParams", [&] {
    const std::lock_guard lock(mutex());
    const auto clone_node = clone_node_of(exec, node);
    if (clone_node.graph == nullptr) return;
    give_copy_up(*clone_node.graph, "the program changes nodes of it that are not kernels");
  });
}

CUresult set_kernel(CUgraphExec exec, CUgraphNode node, void* parameters) {
  return sys::graph_api().set_exec_kernel(
      exec, node, static_cast<const CUDA_KERNEL_NODE_PARAMS_v2*>(parameters));
}

// Mirrors the change to our copy, and to the clone with events if there is one.
void follow_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& wanted) {
  const auto& api = sys::graph_api();
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(mutex());
  const auto clone_node = clone_node_of(exec, node);
  if (clone_node.graph == nullptr) return;
  clone_node.graph->generation.fetch_add(1, std::memory_order_release);
  if (clone_node.node == nullptr || api.set_kernel == nullptr || api.set_exec_kernel == nullptr ||
      api.set_kernel(clone_node.node, &wanted) != CUDA_SUCCESS)
    return give_copy_up(*clone_node.graph, "the program changes its kernels");
  CUDA_KERNEL_NODE_PARAMS_v2 same = wanted;
  live_clone().mirror(*clone_node.graph, clone_node.node, set_kernel, &same,
                      LiveClone::Mirrored::kAlways);
}

void kernel_changed(CUgraphExec exec, CUgraphNode node,
                    const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  if (parameters == nullptr) return;
  noted("cuGraphExecKernelNodeSetParams", [&] { follow_kernel(exec, node, *parameters); });
}

void kernel_changed(CUgraphExec exec, CUgraphNode node,
                    const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  if (parameters == nullptr) return;
  const CUDA_KERNEL_NODE_PARAMS_v2 wanted{.func = parameters->func,
                                          .gridDimX = parameters->gridDimX,
                                          .gridDimY = parameters->gridDimY,
                                          .gridDimZ = parameters->gridDimZ,
                                          .blockDimX = parameters->blockDimX,
                                          .blockDimY = parameters->blockDimY,
                                          .blockDimZ = parameters->blockDimZ,
                                          .sharedMemBytes = parameters->sharedMemBytes,
                                          .kernelParams = parameters->kernelParams,
                                          .extra = parameters->extra,
                                          .kern = nullptr,
                                          .ctx = nullptr};
  kernel_changed(exec, node, &wanted);
}

CUresult set_enabled(CUgraphExec exec, CUgraphNode node, void* is_enabled) {
  return sys::graph_api().set_exec_enabled(exec, node, *static_cast<unsigned*>(is_enabled));
}

void follow_enabled(CUgraphExec exec, CUgraphNode node, unsigned is_enabled) {
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(mutex());
  const auto clone_node = clone_node_of(exec, node);
  if (clone_node.graph == nullptr) return;
  clone_node.graph->generation.fetch_add(1, std::memory_order_release);
  if (clone_node.node == nullptr || sys::graph_api().set_exec_enabled == nullptr)
    return give_copy_up(*clone_node.graph, "the program switches its nodes off and on");
  clone_node.place->is_enabled = is_enabled != 0;
  live_clone().mirror(*clone_node.graph, clone_node.node, set_enabled, &is_enabled,
                      LiveClone::Mirrored::kNotIfTimed);
}

CUresult begun(CUresult result) {
  if (result != CUDA_SUCCESS) return result;
  noted("cuStreamBeginCapture", [] {
    launch::filter.capture_begins();
    if (hook::Observer* session = hook::observer()) session->capture_begins();
  });
  return result;
}

void cloned(CUgraph original, const CUgraph* clone) {
  if (clone == nullptr) return;
  noted("cuGraphClone", [&] { capture_notes::copy(original, *clone); });
}

// The capture is over, whatever the call has returned.
CUresult ended(CUresult result) {
  if (sys::is_on() && launch::filter.capture_ends() == 0)
    hook::report("cuStreamEndCapture", [](hook::Observer& session) { session.capture_ends(); });
  return result;
}

// --- cuGraphLaunch

// While a kernel inside the graph is measured, a copy of the graph with events around that kernel
// is launched instead.  If the driver refuses the copy, the application's own graph is launched.
template <std::size_t kSlot>
[[gnu::noinline]] CUresult graph_launch_unmarked(CUgraphExec exec, CUstream stream) {
  const auto real = reinterpret_cast<Signature_cuGraphLaunch*>(
      hook::resolved(hook::launch_originals.graph_launch[kSlot],
                     kSlot == hook::kPerThread ? "cuGraphLaunch_ptsz" : "cuGraphLaunch"));
  if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  hook::start_once();
  if (!sys::is_on() || launch::filter.is_left_to_cupti()) return real(exec, stream);
  hook::Launch launch{.api = "cuGraphLaunch",
                      .function = nullptr,
                      .stream = launch::explicit_stream(stream, kSlot == hook::kPerThread)};
  hook::LaunchTicket ticket;
  hook::report(launch.api, [&](hook::Observer& session) {
    launch.graph = exec == nullptr ? nullptr : known_or_new(exec);
    launch.function = reinterpret_cast<CUfunction>(launch.graph);
    if (launch.graph != nullptr) {
      ticket = session.before_launch(launch);
    } else if (exec != nullptr) {
      session.count_graph_launch();
    }
  });
  bool launched = ticket.clone != nullptr && real(ticket.clone, stream) == CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  if (!launched) {
    result = real(exec, stream);
    launched = ticket.clone == nullptr && result == CUDA_SUCCESS;
  }
  if (launch.graph != nullptr) {
    hook::report(launch.api,
                 [&](hook::Observer& session) { session.after_launch(launch, ticket, launched); });
  }
  return result;
}

template <std::size_t kSlot>
[[gnu::noinline]] CUresult graph_launch_slowly(CUgraphExec exec, CUstream stream) {
  if (!launch::filter.is_to_be_marked()) return graph_launch_unmarked<kSlot>(exec, stream);
  const timer::LaunchScope under_way(launch::explicit_stream(stream, kSlot == hook::kPerThread));
  const auto real = reinterpret_cast<Signature_cuGraphLaunch*>(
      hook::launch_originals.graph_launch[kSlot].load(std::memory_order_relaxed));
  if (real != nullptr && launch::filter.only_marks(exec)) return real(exec, stream);
  return graph_launch_unmarked<kSlot>(exec, stream);
}

template <std::size_t kSlot>
CUresult graph_launch(CUgraphExec exec, CUstream stream) {
  auto target = reinterpret_cast<Signature_cuGraphLaunch*>(
      hook::launch_originals.graph_launch[kSlot].load(std::memory_order_relaxed));
  if (target == nullptr || sys::may_be_armed(exec)) [[unlikely]] {
    target = graph_launch_slowly<kSlot>;
  }
  return target(exec, stream);
}

}  // namespace

CUresult CUDAAPI hooked_cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return graph_launch<hook::kLegacy>(graph, stream);
}

CUresult CUDAAPI hooked_cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return graph_launch<hook::kPerThread>(graph, stream);
}

CUresult CUDAAPI hooked_cuGraphLaunch_spare(CUgraphExec graph, CUstream stream) {
  return graph_launch<hook::kSpare>(graph, stream);
}

INLINE_PROF_AFTER(cuGraphInstantiate,
                  (CUgraphExec * exec, CUgraph graph, CUgraphNode* error_node, char* log,
                   std::size_t log_bytes),
                  (exec, graph, error_node, log, log_bytes), instantiated(exec, graph, 0))
INLINE_PROF_AFTER(cuGraphInstantiate_v2,
                  (CUgraphExec * exec, CUgraph graph, CUgraphNode* error_node, char* log,
                   std::size_t log_bytes),
                  (exec, graph, error_node, log, log_bytes), instantiated(exec, graph, 0))
INLINE_PROF_AFTER(cuGraphInstantiateWithFlags,
                  (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
                  (exec, graph, flags), instantiated(exec, graph, flags))
INLINE_PROF_AFTER(cuGraphInstantiateWithParams,
                  (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
                  (exec, graph, parameters),
                  instantiated(exec, graph, parameters == nullptr ? 0 : parameters->flags))
INLINE_PROF_AFTER(cuGraphInstantiateWithParams_ptsz,
                  (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
                  (exec, graph, parameters),
                  instantiated(exec, graph, parameters == nullptr ? 0 : parameters->flags))
INLINE_PROF_AFTER(cuGraphExecUpdate,
                  (CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                   CUgraphExecUpdateResult* update),
                  (exec, graph, error_node, update), updated(exec, graph))
INLINE_PROF_AFTER(cuGraphExecUpdate_v2,
                  (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* update),
                  (exec, graph, update), updated(exec, graph))
INLINE_PROF_AFTER(cuGraphExecMemcpyNodeSetParams,
                  (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* parameters,
                   CUcontext context),
                  (exec, node, parameters, context), changed(exec, node))
INLINE_PROF_AFTER(cuGraphExecMemsetNodeSetParams,
                  (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters,
                   CUcontext context),
                  (exec, node, parameters, context), changed(exec, node))
INLINE_PROF_AFTER(cuGraphClone, (CUgraph * clone, CUgraph original), (clone, original),
                  cloned(original, clone))
INLINE_PROF_AFTER(cuGraphRetainUserObject,
                  (CUgraph graph, CUuserObject object, unsigned count, unsigned flags),
                  (graph, object, count, flags),
                  noted("cuGraphRetainUserObject", [&] { references_held(graph); }))

#define INLINE_PROF_NODE_CHANGE(symbol, Value, note)                                  \
  CUresult CUDAAPI hooked_##symbol(CUgraphExec exec, CUgraphNode node, Value value) { \
    const CUresult result = original_##symbol(exec, node, value);                     \
    if (result == CUDA_SUCCESS) (note);                                               \
    return result;                                                                    \
  }
INLINE_PROF_NODE_CHANGE(cuGraphExecKernelNodeSetParams, const CUDA_KERNEL_NODE_PARAMS_v1*,
                        kernel_changed(exec, node, value))
INLINE_PROF_NODE_CHANGE(cuGraphExecKernelNodeSetParams_v2, const CUDA_KERNEL_NODE_PARAMS_v2*,
                        kernel_changed(exec, node, value))
INLINE_PROF_NODE_CHANGE(cuGraphNodeSetEnabled, unsigned,
                        noted("cuGraphNodeSetEnabled", [&] { follow_enabled(exec, node, value); }))
INLINE_PROF_NODE_CHANGE(cuGraphExecHostNodeSetParams, const CUDA_HOST_NODE_PARAMS*,
                        changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecChildGraphNodeSetParams, CUgraph, changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecEventRecordNodeSetEvent, CUevent, changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecEventWaitNodeSetEvent, CUevent, changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecExternalSemaphoresSignalNodeSetParams,
                        const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*, changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecExternalSemaphoresWaitNodeSetParams,
                        const CUDA_EXT_SEM_WAIT_NODE_PARAMS*, changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecBatchMemOpNodeSetParams, const CUDA_BATCH_MEM_OP_NODE_PARAMS*,
                        changed(exec, node))
INLINE_PROF_NODE_CHANGE(cuGraphExecNodeSetParams, CUgraphNodeParams*, changed(exec, node))

CUresult CUDAAPI hooked_cuGraphExecDestroy(CUgraphExec exec) {
  released("cuGraphExecDestroy", [&] { before_exec_is_destroyed(exec); });
  return original_cuGraphExecDestroy(exec);
}

CUresult CUDAAPI hooked_cuGraphDestroy(CUgraph graph) {
  released("cuGraphDestroy", [&] { before_graph_is_destroyed(graph); });
  return original_cuGraphDestroy(graph);
}

// The beginning of a capture, for both kinds of default stream.
#define INLINE_PROF_CAPTURE(symbol, parameters, arguments) \
  CUresult CUDAAPI hooked_##symbol parameters {            \
    hook::start_once();                                    \
    return begun(original_##symbol arguments);             \
  }                                                        \
  CUresult CUDAAPI hooked_##symbol##_ptsz parameters {     \
    hook::start_once();                                    \
    return begun(original_##symbol##_ptsz arguments);      \
  }
INLINE_PROF_CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream))
INLINE_PROF_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
                    (stream, mode))
INLINE_PROF_CAPTURE(cuStreamBeginCaptureToGraph,
                    (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                     const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode),
                    (stream, graph, dependencies, edges, count, mode))
#undef INLINE_PROF_CAPTURE

CUresult CUDAAPI hooked_cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return ended(original_cuStreamEndCapture(stream, graph));
}

CUresult CUDAAPI hooked_cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return ended(original_cuStreamEndCapture_ptsz(stream, graph));
}

}  // namespace inline_prof::graphs
