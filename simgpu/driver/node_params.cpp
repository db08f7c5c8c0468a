#include "driver/node_params.hpp"

#include "driver/transfers.hpp"

#include <algorithm>
#include <utility>

namespace simgpu {
namespace {

Context& context_of(Simulator& s, CUcontext handle) {
  return handle == nullptr ? s.current() : s.live(handle);
}

}  // namespace

CopyWork copy_work(Simulator& s, const CUDA_MEMCPY3D& p, CUcontext context) {
  // cuGraphExecMemcpyNodeSetParams: "Zero-length operations are not supported."
  require_value(p.WidthInBytes > 0 && p.Height > 0 && p.Depth > 0);
  CopyWork work = copy_of(p);
  work.context = &context_of(s, context);
  require_inside(s, work);
  return work;
}

CUDA_MEMCPY3D describe(Simulator& s, const CopyWork& work) {
  CUDA_MEMCPY3D out{};
  const auto type = [&](const void* address) {
    return s.memory.is_device(address) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  };
  out.srcMemoryType = type(work.source);
  out.srcHost = work.source;
  out.srcDevice = reinterpret_cast<CUdeviceptr>(work.source);
  out.srcPitch = work.source_pitch;
  out.srcHeight = work.slices > 1 ? work.source_slice / work.source_pitch : work.rows;
  out.dstMemoryType = type(work.destination);
  out.dstHost = work.destination;
  out.dstDevice = reinterpret_cast<CUdeviceptr>(work.destination);
  out.dstPitch = work.destination_pitch;
  out.dstHeight = work.slices > 1 ? work.destination_slice / work.destination_pitch : work.rows;
  out.WidthInBytes = work.width;
  out.Height = work.rows;
  out.Depth = work.slices;
  return out;
}

FillWork fill_work(Simulator& s, const CUDA_MEMSET_NODE_PARAMS& p, CUcontext context) {
  // "The element size must be 1, 2, or 4 bytes."
  require_value(p.elementSize == 1 || p.elementSize == 2 || p.elementSize == 4);
  require_value(p.width > 0 && p.height > 0);
  FillWork work{.destination = pointer(p.dst),
                .pitch = p.pitch,
                .value = p.value,
                .element_bytes = p.elementSize,
                .width = p.width,
                .rows = p.height,
                .context = &context_of(s, context)};
  require_inside(s, work);
  return work;
}

CUDA_MEMSET_NODE_PARAMS describe(const FillWork& work) {
  return {.dst = reinterpret_cast<CUdeviceptr>(work.destination),
          .pitch = work.pitch,
          .value = work.value,
          .elementSize = work.element_bytes,
          .width = work.width,
          .height = work.rows};
}

HostWork host_work(const CUDA_HOST_NODE_PARAMS& parameters) {
  require_value(parameters.fn != nullptr);
  return {.function = parameters.fn, .data = parameters.userData};
}

AllocateWork allocate_work(Simulator& s, const Graph& graph, Context& context, std::size_t bytes) {
  require_value(bytes > 0);
  if (bytes > s.model.device.memory_bytes - context.device->memory_used) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  Allocation* made = s.memory.allocate(context, bytes, MemoryKind::kDevice, 0);
  if (made == nullptr) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  made->stream_ordered = true;
  made->graph_memory_id = s.next_id++;
  AllocateWork work{.memory = std::make_shared<GraphMemory>(s.memory, *made, graph.id)};
  s.graph_memory[made->base] = work.memory;
  work.parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  work.parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  work.parameters.poolProps.location.id = context.device->index;
  work.parameters.bytesize = bytes;
  work.parameters.dptr = made->base;
  return work;
}

AllocateWork allocate_work(Simulator& s, const Graph& graph,
                           CUDA_MEM_ALLOC_NODE_PARAMS& parameters) {
  // "handleTypes must be ::CU_MEM_HANDLE_TYPE_NONE. IPC is not supported."
  require_value(parameters.poolProps.handleTypes == CU_MEM_HANDLE_TYPE_NONE);
  require_value(parameters.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  const Device& device = s.device(parameters.poolProps.location.id);
  Context& current = s.current();
  require_value(current.device == &device);
  AllocateWork work = allocate_work(s, graph, current, parameters.bytesize);
  parameters.dptr = work.memory->address();
  work.parameters = parameters;
  return work;
}

std::shared_ptr<GraphMemory> graph_memory_at(Simulator& s, CUdeviceptr address) {
  const auto at = s.graph_memory.find(static_cast<std::uintptr_t>(address));
  return at == s.graph_memory.end() ? nullptr : at->second.lock();
}

// cuGraphAddMemFreeNode: INVALID_VALUE for "an allocation twice in the same graph", "an address
// that was not returned by an allocation node", "an invalid address".  cuGraphAddMemAllocNode: "If
// the allocation is freed in the same graph, a free node cannot be added to another graph.  If the
// allocation is freed in another graph, a free node can no longer be added to the owning graph."
FreeWork free_work(Simulator& s, const Graph& graph, CUdeviceptr address) {
  const auto memory = graph_memory_at(s, address);
  require_value(memory != nullptr);
  const bool is_own = memory->owner == graph.id;
  require_value(is_own ? !memory->freed_elsewhere : !memory->freed_by_owner);
  require_value(std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
    const auto* freeing = std::get_if<FreeWork>(&node->work);
    return freeing != nullptr && freeing->memory == memory;
  }));
  return {memory};
}

Work work_of(Simulator& s, const CUgraphNodeParams& p) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return kernel_node_work(s, p.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      require_value(p.memcpy.flags == 0 && p.memcpy.reserved == 0);  // "Must be zero"
      return copy_work(s, p.memcpy.copyParams, p.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return fill_work(s,
                       {.dst = p.memset.dst,
                        .pitch = p.memset.pitch,
                        .value = p.memset.value,
                        .elementSize = p.memset.elementSize,
                        .width = p.memset.width,
                        .height = p.memset.height},
                       p.memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
      return host_work({.fn = p.host.fn, .userData = p.host.userData});
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return EmptyWork{};
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return WaitWork{s.event(p.eventWait.event)};
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return RecordWork{s.event(p.eventRecord.event)};
    default:  // external semaphores and batches of memory operations are not simulated
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
}

}  // namespace simgpu
