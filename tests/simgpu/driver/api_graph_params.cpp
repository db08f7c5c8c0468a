// What nodes of graphs are, read and changed.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"
#include "driver/node_params.hpp"

#include <utility>

using namespace inline_prof::simgpu;

namespace {

template <typename Kind>
Kind& work_in(Simulator& s, CUgraphNode handle) {
  auto* work = std::get_if<Kind>(&s.node(handle).work);
  require(work);
  return *work;
}

// The attributes of a node outlive a change of its parameters.
void set_kernel(Simulator& s, CUgraphNode node, KernelWork fresh) {
  auto& work = work_in<KernelWork>(s, node);
  fresh.attributes = work.attributes;
  work = std::move(fresh);
}

bool is_node_attribute(CUlaunchAttributeID id) {
  switch (id) {
    case CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE:
    case CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_KERNEL_NODE_ATTRIBUTE_PRIORITY:
    case CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return true;
    default:
      return false;
  }
}

void set_attribute(KernelWork& work, CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  require_value(is_node_attribute(id));
  if (id == CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    // "can only be set to 0 or 1"; "once opted-in to this functionality, a node cannot opt out".
    const int wanted = value.deviceUpdatableKernelNode.deviceUpdatable;
    require_value(wanted == 0 || wanted == 1);
    require_value(wanted == 1 || !work.is_device_updatable());
  }
  work.attributes[id] = value;
}

}  // namespace

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    describe(s, work_in<KernelWork>(s, node), *parameters);
  });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    describe(s, work_in<KernelWork>(s, node), *parameters);
  });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                    const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    set_kernel(s, node, kernel_node_work(s, *parameters));
  });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    set_kernel(s, node, kernel_node_work(s, *parameters));
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       CUkernelNodeAttrValue* value) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(value);
    require_value(is_node_attribute(id));
    const auto& attributes = work_in<KernelWork>(s, node).attributes;
    const auto at = attributes.find(id);
    *value = at == attributes.end() ? CUlaunchAttributeValue{} : at->second;
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue* value) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(value);
    set_attribute(work_in<KernelWork>(s, node), id, *value);
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode destination, CUgraphNode source) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    auto& to = work_in<KernelWork>(s, destination);
    const auto& from = work_in<KernelWork>(s, source);
    // "Both node must have the same context."  Device-updatable nodes "cannot have their attributes
    // copied to/from another kernel node via ::cuGraphKernelNodeCopyAttributes."
    require_value(to.context == from.context);
    require_value(!to.is_device_updatable() && !from.is_device_updatable());
    to.attributes = from.attributes;
  });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    *parameters = describe(s, work_in<CopyWork>(s, node));
  });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    auto& work = work_in<CopyWork>(s, node);
    work = copy_work(s, *parameters, reinterpret_cast<CUcontext>(work.context));
  });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    *parameters = describe(work_in<FillWork>(s, node));
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    auto& work = work_in<FillWork>(s, node);
    work = fill_work(s, *parameters, reinterpret_cast<CUcontext>(work.context));
  });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    const auto& work = work_in<HostWork>(s, node);
    *parameters = {.fn = work.function, .userData = work.data};
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    work_in<HostWork>(s, node) = host_work(*parameters);
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(graph);
    *graph = reinterpret_cast<CUgraph>(work_in<ChildWork>(s, node).graph);
  });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(event);
    *event = reinterpret_cast<CUevent>(work_in<RecordWork>(s, node).event.get());
  });
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { work_in<RecordWork>(s, node).event = s.event(event); });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(event);
    *event = reinterpret_cast<CUevent>(work_in<WaitWork>(s, node).event.get());
  });
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { work_in<WaitWork>(s, node).event = s.event(event); });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    *parameters = work_in<AllocateWork>(s, node).parameters;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(address);
    *address = work_in<FreeWork>(s, node).memory->address();
  });
}

// "Modifying parameters is not supported for node types CU_GRAPH_NODE_TYPE_MEM_ALLOC and
// CU_GRAPH_NODE_TYPE_MEM_FREE"; those of graphs inside a node have no other place than the graph.
CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(parameters);
    Node& node = s.node(handle);
    // "The node type specified by nodeParams->type must match the type of hNode."
    require_value(parameters->type == type_of(node.work));
    Work fresh = work_of(s, *parameters);
    if (auto* kernel = std::get_if<KernelWork>(&fresh)) {
      set_kernel(s, handle, std::move(*kernel));
    } else {
      node.work = std::move(fresh);
    }
  });
}
