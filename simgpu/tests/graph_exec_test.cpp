// Executable graphs: instantiated, changed, refused.
#include "graph_fixture.hpp"

namespace simgpu {
namespace {

class GraphExecs : public GraphTest {};
class GraphExecUpdate : public GraphTest {
 protected:
  static CUgraphExecUpdateResultInfo refused(CUgraphExec exec, CUgraph graph) {
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    return info;
  }
};

TEST_F(GraphExecs, ChangeOneKernelForLaterLaunches) {
  CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  const CUgraphExec exec = instantiate(graph);
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  const CUevent start = record(stream_);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  const CUevent stop = record(stream_);
  const auto slower = kernel_parameters(kBlocksFor100us);
  ASSERT_EQ(cuGraphExecKernelNodeSetParams(exec, node, &slower), CUDA_SUCCESS);
  *word = 1;
  EXPECT_NEAR(elapsed_us(start, stop), 10.0, 1e-3);  // enqueued before the change
  EXPECT_NEAR(replay_us(exec), 100.0, 1e-3);
  EXPECT_EQ(grid_of(node), kBlocksFor10us);  // "hNode is also not modified by this call"
}

TEST_F(GraphExecs, KnowTheNodesOfTheirGraphOnly) {
  CUgraph graph = graph_of_a_kernel();
  const CUgraphExec exec = instantiate(graph);
  const auto parameters = kernel_parameters(1);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, add_kernel(graph), &parameters),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, add_kernel(new_graph()), &parameters),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphExecs, DisabledNodesTakeNoTime) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  add_kernel(graph, {first}, kBlocksFor100us);
  const CUgraphNode event = add_record(graph, {}, new_event());
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, event, 0), CUDA_ERROR_INVALID_VALUE);
  unsigned enabled = 9;
  EXPECT_EQ(cuGraphNodeGetEnabled(exec, event, &enabled), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphNodeGetEnabled(exec, first, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 0U);
  EXPECT_NEAR(replay_us(exec), 100.0, 1e-3);
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, first, 1), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(exec), 110.0, 1e-3);
}

TEST_F(GraphExecs, ChangeTheEventOfARecordForLaterLaunches) {
  CUgraph graph = new_graph();
  const CUevent first = new_event(), second = new_event(), after = new_event();
  const CUgraphNode before = add_record(graph, {}, first);
  const CUgraphNode kernel = add_kernel(graph, {before});
  add_record(graph, {kernel}, after);
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphExecEventRecordNodeSetEvent(exec, before, second), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_NEAR(elapsed_us(second, after), 10.0, 1e-3);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, after), CUDA_ERROR_INVALID_HANDLE);
  CUevent of_node = nullptr;
  ASSERT_EQ(cuGraphEventRecordNodeGetEvent(before, &of_node), CUDA_SUCCESS);
  EXPECT_EQ(of_node, first);
}

TEST_F(GraphExecs, ChangeWhereACopyGoes) {
  CUdeviceptr targets[2] = {};
  CUdeviceptr source = out(cuMemAlloc, 4);
  for (auto& target : targets) {
    ASSERT_EQ(cuMemAlloc(&target, 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(target, 0, 4), CUDA_SUCCESS);
  }
  ASSERT_EQ(cuMemsetD8(source, 0x5a, 4), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = source;
  copy.dstDevice = targets[0];
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CUgraph graph = new_graph();
  CUgraphNode node = out(cuGraphAddMemcpyNode, graph, nullptr, 0, &copy, context_);
  const CUgraphExec exec = instantiate(graph);
  copy.dstDevice = targets[1];
  ASSERT_EQ(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(read<unsigned char>(targets[0]), 0);
  EXPECT_EQ(read<unsigned char>(targets[1]), 0x5a);
  copy.Height = 2;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 2;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphExecs, ChangeWhatAFillWrites) {
  CUdeviceptr memory = out(cuMemAlloc, 8);
  CUgraph graph = new_graph();
  const CUgraphNode node = add_fill(graph, {}, memory, 1, 8);
  const CUgraphExec exec = instantiate(graph);
  CUDA_MEMSET_NODE_PARAMS fill{};
  ASSERT_EQ(cuGraphMemsetNodeGetParams(node, &fill), CUDA_SUCCESS);
  fill.value = 7;
  ASSERT_EQ(cuGraphExecMemsetNodeSetParams(exec, node, &fill, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(read<unsigned char>(memory + 7), 7);
  fill.height = 2;
  fill.pitch = fill.width = 4;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, node, &fill, context_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphExecs, ChangeTheInsideOfAChildGraph) {
  CUgraph child = graph_of_a_kernel();
  CUgraph graph = new_graph();
  const CUgraphNode holder = add_child(graph, {}, child);
  const CUgraphExec exec = instantiate(graph);
  CUgraph slower = graph_of_a_kernel(kBlocksFor100us);
  ASSERT_EQ(cuGraphExecChildGraphNodeSetParams(exec, holder, slower), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(exec), 100.0, 1e-3);
  add_kernel(slower);
  EXPECT_EQ(cuGraphExecChildGraphNodeSetParams(exec, holder, slower), CUDA_ERROR_INVALID_VALUE);
  CUgraph inner = nullptr;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(holder, &inner), CUDA_SUCCESS);
  const auto fast = kernel_parameters(kBlocksFor10us);
  ASSERT_EQ(cuGraphExecKernelNodeSetParams(exec, nodes_of(inner)[0], &fast), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(exec), 10.0, 1e-3);
}

TEST_F(GraphExecs, TakeParametersOfAnyNode) {
  CUgraph graph = new_graph();
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  parameters.eventRecord.event = new_event();
  CUgraphNode node = out(cuGraphAddNode, graph, nullptr, nullptr, 0, &parameters);
  const CUgraphExec exec = instantiate(graph);
  parameters.eventRecord.event = new_event();
  ASSERT_EQ(cuGraphExecNodeSetParams(exec, node, &parameters), CUDA_SUCCESS);
  parameters.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  EXPECT_EQ(cuGraphExecNodeSetParams(exec, node, &parameters), CUDA_ERROR_INVALID_VALUE);
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  parameters.reserved0[1] = 1;  // "Must be zero"
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphExecs, WithMemoryNodesExistOnce) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  add_allocation(graph, address);
  const CUgraphExec exec = instantiate(graph);
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  instantiate(graph);
}

TEST_F(GraphExecs, OfCyclesAreRefusedWithANodeOfIt) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode last = add_kernel(graph, {first});
  ASSERT_EQ(cuGraphAddDependencies(graph, &last, &first, nullptr, 1), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_TRUE(parameters.hErrNode_out == first || parameters.hErrNode_out == last);
}

TEST_F(GraphExecs, AreAcceptedForDeviceLaunch) {
  const CUgraphExec exec =
      instantiate(graph_of_a_kernel(), CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  cuuint64_t flags = 0;
  ASSERT_EQ(cuGraphExecGetFlags(exec, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<cuuint64_t>(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
  EXPECT_NEAR(replay_us(exec), 10.0, 1e-3);
}

TEST_F(GraphExecs, DoNotReturnTheUploadFlag) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  parameters.hUploadStream = stream_;
  CUgraphExec exec = out(cuGraphInstantiateWithParams, graph_of_a_kernel(), &parameters);
  cuuint64_t flags = 9;
  ASSERT_EQ(cuGraphExecGetFlags(exec, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0U);
}

TEST_F(GraphExecUpdate, TakesParametersAndKeepsTheNodesOfItsGraph) {
  CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  const CUgraphExec exec = instantiate(graph);
  CUgraph slower = new_graph();
  const CUgraphNode foreign = add_kernel(slower, {}, kBlocksFor100us);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(cuGraphExecUpdate(exec, slower, &info), CUDA_SUCCESS);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_NEAR(replay_us(exec), 100.0, 1e-3);
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, node, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, foreign, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphExecUpdate, NamesTheNodeWhoseDependenciesDiffer) {
  CUgraph graph = graph_of_a_kernel();
  add_kernel(graph);
  const CUgraphExec exec = instantiate(graph);
  CUgraph chain = new_graph();
  const CUgraphNode last = add_kernel(chain, {add_kernel(chain)});
  auto info = refused(exec, chain);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, last);
  info = refused(exec, new_graph());  // another count of nodes
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nullptr);
}

TEST_F(GraphExecUpdate, NamesTheEdgeThatDiffers) {
  const auto fan = [&](std::size_t which) {
    CUgraph graph = new_graph();
    Nodes roots{add_kernel(graph), add_kernel(graph)};
    add_kernel(graph, {roots[which]});
    return graph;
  };
  const CUgraphExec exec = instantiate(fan(0));
  CUgraph other = fan(1);
  const auto info = refused(exec, other);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nodes_of(other)[2]);
  EXPECT_EQ(info.errorFromNode, nodes_of(other)[1]);
}

TEST_F(GraphExecUpdate, RefusesAnotherTypeOfNode) {
  const CUgraphExec exec = instantiate(graph_of_a_kernel());
  CUgraph other = new_graph();
  const CUgraphNode record = add_record(other, {}, new_event());
  const auto info = refused(exec, other);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, record);
  EXPECT_NEAR(replay_us(exec), 10.0, 1e-3);  // nothing has changed
}

TEST_F(GraphExecUpdate, RefusesAnotherPriorityWhereItCounts) {
  CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  const CUgraphExec careless = instantiate(graph);
  const CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  CUkernelNodeAttrValue value{};
  value.priority = -1;
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(cuGraphExecUpdate(careless, graph, &info), CUDA_SUCCESS);
  EXPECT_EQ(refused(exec, graph).result, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
}

TEST_F(GraphExecUpdate, RefusesOtherDimensionsOfATwoDimensionalFill) {
  CUdeviceptr memory = out(cuMemAlloc, 64);
  const auto plane = [&](size_t width) {
    const CUDA_MEMSET_NODE_PARAMS fill{
        .dst = memory, .pitch = 16, .value = 1, .elementSize = 1, .width = width, .height = 4};
    CUgraph graph = new_graph();
    out(cuGraphAddMemsetNode, graph, nullptr, 0, &fill, context_);
    return graph;
  };
  const CUgraphExec exec = instantiate(plane(16));
  EXPECT_EQ(refused(exec, plane(8)).result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
}

}  // namespace
}  // namespace simgpu
