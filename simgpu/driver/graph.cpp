#include "driver/graph.hpp"

#include "driver/context.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace simgpu {

KernelArguments::KernelArguments(const Kernel& kernel, void* const* parameters,
                                 void* const* extra) {
  if (extra != nullptr) {
    copy_packed(extra);
    return;
  }
  if (parameters != nullptr && kernel.parameter_bytes) {
    for (const std::size_t bytes : *kernel.parameter_bytes) {
      const auto* value = static_cast<const char*>(parameters[values_.size()]);
      values_.emplace_back(value, value + bytes);
    }
  }
  for (auto& value : values_)
    pointers_.push_back(value.data());
  pointers_.push_back(nullptr);  // a kernel without parameters still has an array
}

void KernelArguments::copy_packed(void* const* extra) {
  is_packed_ = true;
  const char* source = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) source = static_cast<const char*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      buffer_bytes_ = *static_cast<const std::size_t*>(extra[1]);
    }
  }
  if (source != nullptr) buffer_.assign(source, source + buffer_bytes_);
  extra_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
            &buffer_bytes_, CU_LAUNCH_PARAM_END};
}

int KernelWork::priority() const {
  const auto at = attributes.find(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  return at == attributes.end() ? 0 : at->second.priority;
}

bool KernelWork::is_cooperative() const {
  const auto at = attributes.find(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  return at != attributes.end() && at->second.cooperative != 0;
}

GraphMemory::GraphMemory(Memory& memory, const Allocation& allocation,
                         unsigned long long owner_graph)
    : owner(owner_graph),
      memory_(memory),
      base_(allocation.base),
      id_(allocation.graph_memory_id) {}

// The context may have taken the memory with it, and another allocation may have its address.
GraphMemory::~GraphMemory() {
  const Allocation* at = memory_.find(base_);
  if (at != nullptr && at->graph_memory_id == id_) memory_.release(*at);
}

CUgraphNodeType type_of(const Work& work) {
  struct Namer {
    CUgraphNodeType operator()(const EmptyWork&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(const KernelWork&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const CopyWork&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const FillWork&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const RecordWork&) const { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(const WaitWork&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(const HostWork&) const { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const ChildWork&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
    CUgraphNodeType operator()(const AllocateWork&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
    CUgraphNodeType operator()(const FreeWork&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
  };
  return std::visit(Namer{}, work);
}

bool same_data(const CUgraphEdgeData& left, const CUgraphEdgeData& right) {
  static_assert(sizeof(CUgraphEdgeData) == 8);  // no padding
  return std::memcmp(&left, &right, sizeof left) == 0;
}

std::vector<Graph*> Node::bodies() const {
  if (const auto* child = std::get_if<ChildWork>(&work); child != nullptr) return {child->graph};
  return {};
}

bool has_memory_nodes(const Graph& graph) {
  return any_node(graph, [](const Node& node) {
    return std::holds_alternative<AllocateWork>(node.work) ||
           std::holds_alternative<FreeWork>(node.work);
  });
}

}  // namespace simgpu
