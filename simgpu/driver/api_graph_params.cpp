// Functions that read and change the parameters of a graph's nodes.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"
#include "driver/graph_exec.hpp"
#include "driver/node_params.hpp"

#include <utility>

using namespace simgpu;

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
  work.attributes[id] = value;
}

}  // namespace

SIMGPU_CALL(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v10000, kNone, node,
            parameters) {
  require(parameters);
  describe(s, work_in<KernelWork>(s, node), *parameters);
}

SIMGPU_CALL(cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeGetParams_v12000, kNone, node,
            parameters) {
  require(parameters);
  describe(s, work_in<KernelWork>(s, node), *parameters);
}

SIMGPU_CALL(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v10000, kOther, node,
            parameters) {
  require(parameters);
  set_kernel(s, node, kernel_node_work(s, *parameters));
}

SIMGPU_CALL(cuGraphKernelNodeSetParams_v2, cuGraphKernelNodeSetParams_v12000, kOther, node,
            parameters) {
  require(parameters);
  set_kernel(s, node, kernel_node_work(s, *parameters));
}

SIMGPU_CALL(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute_v11000, kNone, node, id,
            value) {
  require(value);
  require_value(is_node_attribute(id));
  const auto& attributes = work_in<KernelWork>(s, node).attributes;
  const auto at = attributes.find(id);
  *value = at == attributes.end() ? CUlaunchAttributeValue{} : at->second;
}

SIMGPU_CALL(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute_v11000, kOther, node, id,
            value) {
  require(value);
  set_attribute(work_in<KernelWork>(s, node), id, *value);
}

SIMGPU_CALL(cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes_v11000, kOther,
            destination, source) {
  auto& to = work_in<KernelWork>(s, destination);
  const auto& from = work_in<KernelWork>(s, source);
  require_value(to.context == from.context);  // "Both node must have the same context."
  to.attributes = from.attributes;
}

SIMGPU_GET(cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams_v10000, kNone,
           describe(s, work_in<CopyWork>(s, node)), node)

SIMGPU_CALL(cuGraphMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams_v10000, kOther, node,
            parameters) {
  require(parameters);
  auto& work = work_in<CopyWork>(s, node);
  work = copy_work(s, *parameters, reinterpret_cast<CUcontext>(work.context));
}

SIMGPU_GET(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams_v10000, kNone,
           describe(work_in<FillWork>(s, node)), node)

SIMGPU_CALL(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams_v10000, kOther, node,
            parameters) {
  require(parameters);
  auto& work = work_in<FillWork>(s, node);
  work = fill_work(s, *parameters, reinterpret_cast<CUcontext>(work.context));
}

SIMGPU_CALL(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams_v10000, kNone, node, parameters) {
  require(parameters);
  const auto& work = work_in<HostWork>(s, node);
  *parameters = {.fn = work.function, .userData = work.data};
}

SIMGPU_CALL(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams_v10000, kOther, node, parameters) {
  require(parameters);
  work_in<HostWork>(s, node) = host_work(*parameters);
}

SIMGPU_GET(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph_v10000, kNone,
           reinterpret_cast<CUgraph>(work_in<ChildWork>(s, node).graph), node)
SIMGPU_GET(cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent_v11010, kNone,
           reinterpret_cast<CUevent>(work_in<RecordWork>(s, node).event.get()), node)

SIMGPU_CALL(cuGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent_v11010, kOther, node,
            event) {
  work_in<RecordWork>(s, node).event = s.event(event);
}

SIMGPU_GET(cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent_v11010, kNone,
           reinterpret_cast<CUevent>(work_in<WaitWork>(s, node).event.get()), node)

SIMGPU_CALL(cuGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent_v11010, kOther, node,
            event) {
  work_in<WaitWork>(s, node).event = s.event(event);
}

SIMGPU_GET(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams_v11040, kNone,
           work_in<AllocateWork>(s, node).parameters, node)
SIMGPU_GET(cuGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams_v11040, kNone,
           work_in<FreeWork>(s, node).memory->address(), node)

// "Modifying parameters is not supported for node types CU_GRAPH_NODE_TYPE_MEM_ALLOC and
// CU_GRAPH_NODE_TYPE_MEM_FREE"; those of graphs inside a node have no other place than the graph.
SIMGPU_CALL(cuGraphNodeSetParams, cuGraphNodeSetParams_v12020, kOther, handle, parameters) {
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
}

// Single nodes of executable graphs are changed: "The modifications only affect future launches of
// hGraphExec.  Already enqueued or running launches of hGraphExec are not affected".

namespace {

// A kernel's attributes stay as they were.
void set_work(Simulator& s, CUgraphExec exec, CUgraphNode handle, Work fresh) {
  change_node(s.exec(exec), s.node(handle), [&](ExecNode& node) {
    check_change(node.work, fresh);
    if (auto* kernel = std::get_if<KernelWork>(&fresh)) {
      kernel->attributes = std::get<KernelWork>(node.work).attributes;
    }
    node.work = std::move(fresh);
  });
}

// "Currently only kernel, memset and memcpy nodes are supported."
void require_switch(const Work& work) {
  require_value(std::holds_alternative<KernelWork>(work) ||
                std::holds_alternative<FillWork>(work) || std::holds_alternative<CopyWork>(work));
}

}  // namespace

SIMGPU_CALL(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v10010, kOther, exec,
            node, parameters) {
  require(parameters);
  set_work(s, exec, node, kernel_node_work(s, *parameters));
}

SIMGPU_CALL(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v12000, kOther, exec,
            node, parameters) {
  require(parameters);
  set_work(s, exec, node, kernel_node_work(s, *parameters));
}

SIMGPU_CALL(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams_v10020, kOther, exec,
            node, parameters, context) {
  require(parameters);
  set_work(s, exec, node, copy_work(s, *parameters, context));
}

SIMGPU_CALL(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams_v10020, kOther, exec,
            node, parameters, context) {
  require(parameters);
  set_work(s, exec, node, fill_work(s, *parameters, context));
}

SIMGPU_CALL(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams_v10020, kOther, exec, node,
            parameters) {
  require(parameters);
  set_work(s, exec, node, host_work(*parameters));
}

SIMGPU_CALL(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams_v11010, kOther,
            exec, node, child) {
  change_child(s.exec(exec), s.node(node), s.graph(child));
}

SIMGPU_CALL(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent_v11010, kOther,
            exec, node, event) {
  set_work(s, exec, node, RecordWork{s.event(event)});
}

SIMGPU_CALL(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent_v11010, kOther, exec,
            node, event) {
  set_work(s, exec, node, WaitWork{s.event(event)});
}

SIMGPU_CALL(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams_v12020, kOther, exec, node,
            parameters) {
  require(parameters);
  require_value(parameters->type == type_of(s.node(node).work));
  if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    change_child(s.exec(exec), s.node(node), s.graph(parameters->graph.graph));
  } else {
    set_work(s, exec, node, work_of(s, *parameters));
  }
}

SIMGPU_CALL(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled_v11060, kOther, exec, handle, is_enabled) {
  change_node(s.exec(exec), s.node(handle), [&](ExecNode& node) {
    require_switch(node.work);
    node.is_enabled = is_enabled != 0;
  });
}

SIMGPU_CALL(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled_v11060, kNone, exec, handle, is_enabled) {
  require(is_enabled);
  const ExecNode& node = node_in(s.exec(exec), s.node(handle));
  require_switch(node.work);
  *is_enabled = node.is_enabled ? 1 : 0;
}
