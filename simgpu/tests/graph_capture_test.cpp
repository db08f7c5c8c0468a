// Captures that write to graphs, move on in them, or take in what has nodes of its own.
#include "graph_fixture.hpp"

#include <thread>

namespace simgpu {
namespace {

class GraphCapture : public GraphTest {
 protected:
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(cuStreamBeginCapture(stream_, mode), CUDA_SUCCESS);
  }
  CUgraph end() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    return graph;
  }
  // Where the next node will go.
  Nodes front() {
    CUstreamCaptureStatus status{};
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
    EXPECT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, nullptr, &count),
              CUDA_SUCCESS);
    return {nodes, nodes + count};
  }
  CUresult launch_overlapping(unsigned blocks) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cuLaunchKernelEx(&config, kernel_, nullptr, nullptr);
  }
};

TEST_F(GraphCapture, RecordsAsNodesOnlyWhatIsExternal) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  record(stream_);
  ASSERT_EQ(cuEventRecordWithFlags(new_event(), stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  const Nodes nodes = nodes_of(end());
  ASSERT_EQ(nodes.size(), 2U);
  CUgraphNodeType type{};
  ASSERT_EQ(cuGraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

TEST_F(GraphCapture, GoesIntoAGivenGraph) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  ASSERT_EQ(cuStreamBeginCaptureToGraph(stream_, graph, &first, nullptr, 1,
                                        CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);  // until the end
  EXPECT_EQ(cuGraphDestroyNode(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(end(), graph);
  EXPECT_NEAR(replay_us(instantiate(graph)), 110.0, 1e-3);
}

TEST_F(GraphCapture, ThatFailsLeavesTheGivenGraph) {
  CUgraph graph = new_graph();
  add_kernel(graph);
  ASSERT_EQ(cuStreamBeginCaptureToGraph(stream_, graph, nullptr, nullptr, 0,
                                        CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph ended = graph;
  EXPECT_EQ(cuStreamEndCapture(stream_, &ended), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(ended, nullptr);
  EXPECT_EQ(nodes_of(graph).size(), 1U);
}

TEST_F(GraphCapture, TakesNodesThatAreAddedByHand) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  CUgraphNode own = add_kernel(graph, front(), kBlocksFor100us);
  ASSERT_EQ(cuStreamUpdateCaptureDependencies(stream_, &own, nullptr, 1,
                                              CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  EXPECT_EQ(front(), Nodes{own});
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(instantiate(end())), 120.0, 1e-3);
}

TEST_F(GraphCapture, AddsDependenciesWithTheirData) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  CUgraphNode own = add_kernel(graph);
  CUgraphEdgeData data{};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  ASSERT_EQ(cuStreamUpdateCaptureDependencies(stream_, &own, &data, 1,
                                              CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  EXPECT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, nullptr, &count),
            CUDA_ERROR_LOSSY_QUERY);
  ASSERT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &edges, &count),
            CUDA_SUCCESS);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(edges[1].from_port, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
  end();
}

TEST_F(GraphCapture, HasDependenciesOnlyWhileItRuns) {
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(stream_, nullptr, nullptr, 0,
                                              CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(GraphCapture, NotesWhichKernelsMayOverlap) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  ASSERT_EQ(launch_overlapping(1), CUDA_SUCCESS);
  CUgraph graph = end();
  CUgraphNode from = nullptr;
  CUgraphNode to = nullptr;
  size_t count = 1;
  EXPECT_EQ(cuGraphGetEdges(graph, &from, &to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  CUgraphEdgeData data{};
  ASSERT_EQ(cuGraphGetEdges(graph, &from, &to, &data, &count), CUDA_SUCCESS);
  EXPECT_EQ(data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(data.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
}

TEST_F(GraphCapture, CopiesTheStreamsPriority) {
  CUstream urgent = nullptr;
  ASSERT_EQ(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -2), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(urgent, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(launch(urgent), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(urgent, &graph), CUDA_SUCCESS);
  CUkernelNodeAttrValue value{};
  ASSERT_EQ(
      cuGraphKernelNodeGetAttribute(nodes_of(graph)[0], CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
      CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -2);
}

TEST_F(GraphCapture, TakesCallsIntoTheHost) {
  begin();
  ASSERT_EQ(cuLaunchHostFunc(
                stream_, [](void*) {}, nullptr),
            CUDA_SUCCESS);
  CUgraphNodeType type{};
  ASSERT_EQ(cuGraphNodeGetType(nodes_of(end()).at(0), &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_HOST);
}

TEST_F(GraphCapture, ForbidsInstantiationUnlessTheThreadIsRelaxed) {
  CUgraph graph = new_graph();
  add_kernel(graph);
  begin();
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }).join();
  CUgraph captured = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace simgpu
