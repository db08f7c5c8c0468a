// Single nodes of executable graphs are changed: "The modifications only affect future launches of
// hGraphExec.  Already enqueued or running launches of hGraphExec are not affected".
#include "driver/call.hpp"
#include "driver/graph_exec.hpp"
#include "driver/node_params.hpp"

#include <utility>

using namespace simgpu;

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
