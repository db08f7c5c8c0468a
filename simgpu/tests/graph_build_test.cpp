// Graphs built by hand: nodes, edges, copies.
#include "graph_fixture.hpp"

#include <cstring>

namespace simgpu {
namespace {

class GraphBuild : public GraphTest {};
class GraphEdges : public GraphTest {
 protected:
  static CUgraphEdgeData launch_order() {
    CUgraphEdgeData data{};
    data.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
    data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    return data;
  }
};
class GraphClone : public GraphTest {};

TEST_F(GraphBuild, RunsWhatWasAdded) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  add_kernel(graph, {first}, kBlocksFor100us);
  EXPECT_NEAR(replay_us(instantiate(graph)), 110.0, 1e-3);
}

TEST_F(GraphBuild, RefusesFlagsForAGraph) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphBuild, RefusesADependencyTwice) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const Nodes twice{first, first};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, twice.data(), 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(nodes_of(graph).size(), 1U);
}

TEST_F(GraphBuild, RefusesADependencyOfAnotherGraph) {
  const CUgraphNode foreign = add_kernel(new_graph());
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, new_graph(), &foreign, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphBuild, ListsRootsAndNodes) {
  CUgraph graph = new_graph();
  const CUgraphNode root = add_kernel(graph);
  const CUgraphNode next = add_kernel(graph, {root});
  EXPECT_EQ(nodes_of(graph), (Nodes{root, next}));
  Nodes roots(3, next);
  size_t count = roots.size();
  ASSERT_EQ(cuGraphGetRootNodes(graph, roots.data(), &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(roots, (Nodes{root, nullptr, nullptr}));  // the rest is set to NULL
}

TEST_F(GraphBuild, DestroyingANodeSeversItsEdges) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode middle = add_kernel(graph, {first}, kBlocksFor100us);
  const CUgraphNode last = add_kernel(graph, {middle});
  ASSERT_EQ(cuGraphDestroyNode(middle), CUDA_SUCCESS);
  size_t count = 9;
  ASSERT_EQ(cuGraphNodeGetDependencies(last, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(cuGraphDestroyNode(middle), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_NEAR(replay_us(instantiate(graph)), 10.0, 1e-3);  // beside each other
}

TEST_F(GraphBuild, KeepsTheArgumentsOfAKernel) {
  static constexpr const char* with_parameters =
      "//\n.version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry scale(\n  .param .u64 data,\n  .param .f32 factor,\n"
      "  .param .align 4 .b8 shape[12]\n)\n{\n  ret;\n}\n";
  CUmodule module = out(cuModuleLoadData, with_parameters);
  CUfunction function = out(cuModuleGetFunction, module, "scale");
  CUdeviceptr data = 4096;
  float factor = 0.5F;
  int shape[3] = {2, 3, 5};
  void* arguments[] = {&data, &factor, shape};
  auto parameters = kernel_parameters(1);
  parameters.func = function;
  parameters.kernelParams = arguments;
  CUgraph graph = new_graph();
  CUgraphNode node = out(cuGraphAddKernelNode, graph, nullptr, 0, &parameters);
  data = 0;
  factor = 0;
  shape[2] = 0;

  CUDA_KERNEL_NODE_PARAMS kept{};
  ASSERT_EQ(cuGraphKernelNodeGetParams(in_clone(node, clone_of(graph)), &kept), CUDA_SUCCESS);
  ASSERT_NE(kept.kernelParams, nullptr);
  EXPECT_EQ(kept.extra, nullptr);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(kept.kernelParams[0]), 4096U);
  EXPECT_EQ(*static_cast<float*>(kept.kernelParams[1]), 0.5F);
  EXPECT_EQ(static_cast<int*>(kept.kernelParams[2])[2], 5);
}

TEST_F(GraphBuild, KeepsABufferOfArguments) {
  int buffer = 7;
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  auto parameters = kernel_parameters(1);
  parameters.extra = extra;
  CUgraphNode node = out(cuGraphAddKernelNode, new_graph(), nullptr, 0, &parameters);
  buffer = 0;
  CUDA_KERNEL_NODE_PARAMS kept{};
  ASSERT_EQ(cuGraphKernelNodeGetParams(node, &kept), CUDA_SUCCESS);
  EXPECT_EQ(kept.kernelParams, nullptr);
  ASSERT_NE(kept.extra, nullptr);
  EXPECT_EQ(*static_cast<int*>(kept.extra[1]), 7);
  EXPECT_EQ(*static_cast<size_t*>(kept.extra[3]), sizeof buffer);
}

TEST_F(GraphBuild, TakesAKernelWithItsContext) {
  CUlibrary library = out(cuLibraryLoadData, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CUkernel kernel = out(cuLibraryGetKernel, library, "other");
  auto parameters = kernel_parameters(kBlocksFor10us);
  parameters.func = nullptr;
  parameters.kern = kernel;
  parameters.ctx = context_;
  CUgraph graph = new_graph();
  CUgraphNode node = out(cuGraphAddKernelNode, graph, nullptr, 0, &parameters);
  CUDA_KERNEL_NODE_PARAMS told{};
  ASSERT_EQ(cuGraphKernelNodeGetParams(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.func, nullptr);
  EXPECT_EQ(told.kern, kernel);
  EXPECT_EQ(told.ctx, context_);
  EXPECT_NEAR(replay_us(instantiate(graph)), 10.0, 1e-3);
}

TEST_F(GraphBuild, RefusesWhatIsNoNode) {
  CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(nullptr, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, nullptr, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  auto parameters = kernel_parameters(0);  // no blocks
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), CUDA_ERROR_INVALID_VALUE);
  parameters = kernel_parameters(1);
  parameters.func = nullptr;
  EXPECT_NE(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE);
  CUgraphNode found = nullptr;
  CUgraph child = nullptr;
  const CUgraphNode kernel = add_kernel(graph);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, kernel, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(kernel, &child), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(nodes_of(graph), Nodes{kernel});
}

TEST_F(GraphBuild, ChangesAKernelNode) {
  CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  const auto slower = kernel_parameters(kBlocksFor100us);
  ASSERT_EQ(cuGraphKernelNodeSetParams(node, &slower), CUDA_SUCCESS);
  EXPECT_EQ(grid_of(node), kBlocksFor100us);
  EXPECT_NEAR(replay_us(instantiate(graph)), 100.0, 1e-3);
}

TEST_F(GraphBuild, KeepsAttributesOfKernelNodes) {
  const CUgraphNode node = add_kernel(new_graph());
  CUkernelNodeAttrValue value{};
  value.priority = -3;
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  value = {};
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -3);
}

TEST_F(GraphEdges, AreAddedAndRemoved) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode last = add_kernel(graph);
  ASSERT_EQ(cuGraphAddDependencies(graph, &first, &last, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddDependencies(graph, &first, &last, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NEAR(replay_us(instantiate(graph)), 20.0, 1e-3);
  ASSERT_EQ(cuGraphRemoveDependencies(graph, &first, &last, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &first, &last, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NEAR(replay_us(instantiate(graph)), 10.0, 1e-3);
}

TEST_F(GraphEdges, AreChangedTogetherOrNotAtAll) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode last = add_kernel(graph);
  const Nodes from{first, last};
  const Nodes to{last, last};  // the second pair is a node and itself
  EXPECT_EQ(cuGraphAddDependencies(graph, from.data(), to.data(), nullptr, 2),
            CUDA_ERROR_INVALID_VALUE);
  size_t count = 9;
  ASSERT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0U);
}

TEST_F(GraphEdges, AreListed) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode second = add_kernel(graph, {first});
  const CUgraphNode last = add_kernel(graph, {first, second});
  Nodes from(4);
  Nodes to(4);
  size_t count = 4;
  ASSERT_EQ(cuGraphGetEdges(graph, from.data(), to.data(), nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(from, (Nodes{first, first, second, nullptr}));
  EXPECT_EQ(to, (Nodes{second, last, last, nullptr}));
  Nodes dependents(2);
  count = 2;
  ASSERT_EQ(cuGraphNodeGetDependentNodes(first, dependents.data(), nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(dependents, (Nodes{second, last}));
}

TEST_F(GraphEdges, WithDataAreNotListedWithoutIt) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode last = add_kernel(graph);
  const auto data = launch_order();
  ASSERT_EQ(cuGraphAddDependencies(graph, &first, &last, &data, 1), CUDA_SUCCESS);
  CUgraphNode from = nullptr;
  CUgraphNode to = nullptr;
  size_t count = 1;
  EXPECT_EQ(cuGraphGetEdges(graph, &from, &to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(cuGraphNodeGetDependencies(last, &from, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(cuGraphNodeGetDependentNodes(first, &to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  ASSERT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1U);  // how many there are is no loss
  CUgraphEdgeData told{};
  ASSERT_EQ(cuGraphGetEdges(graph, &from, &to, &told, &count), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&told, &data, sizeof data), 0);
  // Removal wants matching data.
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &first, &last, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &first, &last, &data, 1), CUDA_SUCCESS);
}

TEST_F(GraphEdges, OfLaunchOrderWaitForTheBeginOnly) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph, {}, kBlocksFor100us);
  const CUgraphNode last = add_kernel(graph);
  const auto data = launch_order();
  ASSERT_EQ(cuGraphAddDependencies(graph, &first, &last, &data, 1), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(instantiate(graph)), 100.0, 1e-3);
}

TEST_F(GraphEdges, WithPortsBelongToKernels) {
  CUgraph graph = new_graph();
  const CUgraphNode record = add_record(graph, {}, new_event());
  const CUgraphNode last = add_kernel(graph);
  auto data = launch_order();
  EXPECT_EQ(cuGraphAddDependencies(graph, &record, &last, &data, 1), CUDA_ERROR_INVALID_VALUE);
  data = {};
  data.reserved[0] = 1;
  EXPECT_EQ(cuGraphAddDependencies(graph, &record, &last, &data, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphClone, IsACopy) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode last = add_kernel(graph, {first}, kBlocksFor100us);
  CUgraph clone = clone_of(graph);
  const auto longer = kernel_parameters(kBlocksFor100us);
  ASSERT_EQ(cuGraphKernelNodeSetParams(first, &longer), CUDA_SUCCESS);
  EXPECT_EQ(grid_of(in_clone(first, clone)), kBlocksFor10us);
  EXPECT_EQ(grid_of(in_clone(last, clone)), kBlocksFor100us);
  EXPECT_NEAR(replay_us(instantiate(clone)), 110.0, 1e-3);
  EXPECT_NEAR(replay_us(instantiate(graph)), 200.0, 1e-3);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(instantiate(clone)), 110.0, 1e-3);
}

TEST_F(GraphClone, FindsOnlyNodesOfItsOriginal) {
  CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  CUgraph clone = clone_of(graph);
  const CUgraphNode later = add_kernel(graph);
  CUgraphNode found = nullptr;
  EXPECT_EQ(cuGraphNodeFindInClone(&found, later, clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, node, graph), CUDA_ERROR_INVALID_VALUE);
  CUgraph second = clone_of(clone);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, node, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(in_clone(in_clone(node, clone), second), nullptr);
  ASSERT_EQ(cuGraphDestroyNode(in_clone(node, clone)), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, node, clone), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphClone, CopiesChildGraphsToo) {
  CUgraph child = graph_of_a_kernel();
  CUgraph graph = new_graph();
  const CUgraphNode holder = add_child(graph, {}, child);
  CUgraph clone = clone_of(graph);
  CUgraph inner = nullptr;
  CUgraph cloned_inner = nullptr;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(holder, &inner), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(in_clone(holder, clone), &cloned_inner), CUDA_SUCCESS);
  EXPECT_NE(inner, child);
  EXPECT_NE(inner, cloned_inner);
  add_kernel(inner, nodes_of(inner), kBlocksFor100us);  // changes the one graph alone
  EXPECT_NEAR(replay_us(instantiate(graph)), 110.0, 1e-3);
  EXPECT_NEAR(replay_us(instantiate(clone)), 10.0, 1e-3);
  // Nodes of embedded graphs are not in a graph that cuGraphClone was given.
  CUgraphNode found = nullptr;
  EXPECT_EQ(cuGraphNodeFindInClone(&found, nodes_of(inner)[0], clone), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphClone, IsRefusedWithMemoryNodes) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  add_allocation(graph, address);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphBuild, EmbeddedGraphsBelongToTheirNode) {
  CUgraph child = graph_of_a_kernel();
  CUgraph graph = new_graph();
  const CUgraphNode holder = add_child(graph, {}, child);
  CUgraph inner = nullptr;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(holder, &inner), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphDestroyNode(holder), CUDA_SUCCESS);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(inner, nullptr, &count), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace simgpu
