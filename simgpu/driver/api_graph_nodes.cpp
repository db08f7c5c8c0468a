// Nodes are added to graphs.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"
#include "driver/node_params.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

using namespace simgpu;

namespace {

// The parameters that all functions that add a node have in common.
struct Place {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* edges;
  size_t count;
};

// `work(graph)` makes the node's work.
template <typename MakeWork>
void add(Simulator& s, const Place& place, const MakeWork& work) {
  require(place.node);
  Graph& graph = s.graph(place.graph);
  auto dependencies = edges_to(s, place.dependencies, place.edges, place.count);
  *place.node =
      reinterpret_cast<CUgraphNode>(&add_node(s, graph, work(graph), std::move(dependencies)));
}

void add_child(Simulator& s, const Place& place, CUgraph child, bool moves) {
  require(place.node);
  *place.node = reinterpret_cast<CUgraphNode>(
      &simgpu::add_child(s, s.graph(place.graph), s.graph(child), moves,
                         edges_to(s, place.dependencies, place.edges, place.count)));
}

bool is_zero(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char byte) { return byte == 0; });
}

void add_any(Simulator& s, const Place& place, CUgraphNodeParams* p) {
  require(p);
  // "All unused bytes - that is, reserved0 and all bytes past the utilized union member - must be
  // set to zero."
  const auto* reserved = reinterpret_cast<const char*>(p->reserved0);
  require_value(is_zero(reserved, reserved + sizeof p->reserved0) && p->reserved2 == 0);
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
      require_value(p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ||
                    p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
      add_child(s, place, p->graph.graph,
                p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
      return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS parameters{.poolProps = p->alloc.poolProps,
                                            .accessDescs = p->alloc.accessDescs,
                                            .accessDescCount = p->alloc.accessDescCount,
                                            .bytesize = p->alloc.bytesize,
                                            .dptr = 0};
      add(s, place, [&](const Graph& graph) { return allocate_work(s, graph, parameters); });
      p->alloc.dptr = parameters.dptr;
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      add(s, place, [&](const Graph& graph) { return free_work(s, graph, p->free.dptr); });
      return;
    default:
      add(s, place, [&](const Graph&) { return work_of(s, *p); });
  }
}

}  // namespace

SIMGPU_CALL(cuGraphAddKernelNode, cuGraphAddKernelNode_v10000, kOther, node, graph, dependencies,
            count, parameters) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return kernel_node_work(s, *parameters); });
}

SIMGPU_CALL(cuGraphAddKernelNode_v2, cuGraphAddKernelNode_v12000, kOther, node, graph, dependencies,
            count, parameters) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return kernel_node_work(s, *parameters); });
}

SIMGPU_CALL(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode_v10000, kOther, node, graph, dependencies,
            count, parameters, context) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return copy_work(s, *parameters, context); });
}

SIMGPU_CALL(cuGraphAddMemsetNode, cuGraphAddMemsetNode_v10000, kOther, node, graph, dependencies,
            count, parameters, context) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return fill_work(s, *parameters, context); });
}

SIMGPU_CALL(cuGraphAddHostNode, cuGraphAddHostNode_v10000, kOther, node, graph, dependencies, count,
            parameters) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return host_work(*parameters); });
}

SIMGPU_CALL(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode_v10000, kOther, node, graph,
            dependencies, count, child) {
  add_child(s, {node, graph, dependencies, nullptr, count}, child, false);
}

SIMGPU_CALL(cuGraphAddEmptyNode, cuGraphAddEmptyNode_v10000, kOther, node, graph, dependencies,
            count) {
  add(s, {node, graph, dependencies, nullptr, count}, [](const Graph&) { return EmptyWork{}; });
}

SIMGPU_CALL(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode_v11010, kOther, node, graph,
            dependencies, count, event) {
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return RecordWork{s.event(event)}; });
}

SIMGPU_CALL(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode_v11010, kOther, node, graph,
            dependencies, count, event) {
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph&) { return WaitWork{s.event(event)}; });
}

SIMGPU_CALL(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode_v11040, kAllocate, node, graph,
            dependencies, count, parameters) {
  require(parameters);
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph& owner) { return allocate_work(s, owner, *parameters); });
}

SIMGPU_CALL(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode_v11040, kAllocate, node, graph,
            dependencies, count, address) {
  add(s, {node, graph, dependencies, nullptr, count},
      [&](const Graph& owner) { return free_work(s, owner, address); });
}

SIMGPU_CALL(cuGraphAddNode, cuGraphAddNode_v12020, kOther, node, graph, dependencies, count,
            parameters) {
  add_any(s, {node, graph, dependencies, nullptr, count}, parameters);
}

SIMGPU_CALL(cuGraphAddNode_v2, cuGraphAddNode_v12030, kOther, node, graph, dependencies, edges,
            count, parameters) {
  add_any(s, {node, graph, dependencies, edges, count}, parameters);
}
