// Stream captures, and the graphs that they make.
#include "graph_fixture.hpp"

#include <functional>
#include <thread>
#include <vector>

namespace simgpu {
namespace {

class Capture : public GraphTest {
 protected:
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(cuStreamBeginCapture(stream_, mode), CUDA_SUCCESS);
  }
  CUgraph end(CUresult expected = CUDA_SUCCESS) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), expected);
    EXPECT_EQ(graph == nullptr, expected != CUDA_SUCCESS);
    return graph;
  }
  CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus result{};
    EXPECT_EQ(cuStreamIsCapturing(stream, &result), CUDA_SUCCESS);
    return result;
  }
  void expect_invalidated() {
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(launch(stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  }
};

class Graphs : public Capture {};

TEST_F(Capture, RunsNothing) {
  const auto before = simgpu_launch_count();
  begin();
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  end();
  EXPECT_EQ(simgpu_launch_count(), before);
}

TEST_F(Capture, ReportsItsGraphAndDependencies) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  CUstreamCaptureStatus capture_status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  ASSERT_EQ(cuStreamGetCaptureInfo(stream_, &capture_status, &id, &graph, &nodes, nullptr, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(capture_status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0U);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_KERNEL);
  EXPECT_EQ(end(), graph);
}

TEST_F(Capture, CannotBeginInTheLegacyStream) {
  EXPECT_EQ(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(Capture, IsInvalidatedByWhatItForbids) {
  constexpr auto strict = CU_STREAM_CAPTURE_MODE_GLOBAL;
  constexpr auto relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  constexpr auto unsafe = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const CUevent unrelated = new_event(), outside = record(stream_);
  CUdeviceptr memory = 0;
  CUresult seen = CUDA_SUCCESS;
  const struct {
    const char* name;
    CUstreamCaptureMode mode;
    std::function<CUresult()> call;
    CUresult expected;
  } rows[] = {
      {"an event is queried", strict, [&] { return cuEventQuery(unrelated); }, unsafe},
      {"memory is allocated", strict, [&] { return cuMemAlloc(&memory, 16); }, unsafe},
      {"its stream is waited for", relaxed, [&] { return cuStreamSynchronize(stream_); }, unsafe},
      {"its context is waited for", relaxed, [] { return cuCtxSynchronize(); }, unsafe},
      {"a captured event is queried", relaxed, [&] { return cuEventQuery(record(stream_)); },
       CUDA_ERROR_CAPTURED_EVENT},
      {"another thread queries an event", strict,
       [&] {
         std::thread([&] { seen = cuEventQuery(unrelated); }).join();
         return seen;
       },
       unsafe},
      {"it waits for uncaptured work", strict,
       [&] { return cuStreamWaitEvent(stream_, outside, 0); }, CUDA_ERROR_STREAM_CAPTURE_ISOLATION},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    begin(row.mode);
    EXPECT_EQ(row.call(), row.expected);
    expect_invalidated();
  }
}

TEST_F(Capture, ToleratesUnsafeCallsOfARelaxedThread) {
  const CUevent unrelated = new_event();
  begin();
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuEventQuery(unrelated), CUDA_SUCCESS);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  end();
}

TEST_F(Capture, OfThreadLocalModeLeavesOtherThreadsAlone) {
  const CUevent unrelated = new_event();
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUresult seen = CUDA_ERROR_UNKNOWN;
  std::thread([&] { seen = cuEventQuery(unrelated); }).join();
  EXPECT_EQ(seen, CUDA_SUCCESS);
  end();
}

TEST_F(Capture, MustEndInItsThreadUnlessRelaxed) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUgraph graph = nullptr;
  CUresult seen = CUDA_SUCCESS;
  std::thread([&] { seen = cuStreamEndCapture(stream_, &graph); }).join();
  EXPECT_EQ(seen, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  end();
}

TEST_F(Capture, MakesTheLegacyStreamUnusableIfItsOwnIsBlocking) {
  CUstream blocking = new_stream(CU_STREAM_DEFAULT);
  ASSERT_EQ(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUstreamCaptureStatus result{};
  EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &result), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);  // asking does no harm
  EXPECT_EQ(launch(CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, SpreadsThroughEvents) {
  CUstream other = new_stream();
  begin();
  ASSERT_EQ(cuStreamWaitEvent(other, record(stream_), 0), CUDA_SUCCESS);
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(launch(other), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(stream_, record(other), 0), CUDA_SUCCESS);
  end();
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Capture, MustJoinItsForks) {
  CUstream other = new_stream();
  begin();
  ASSERT_EQ(cuStreamWaitEvent(other, record(stream_), 0), CUDA_SUCCESS);
  ASSERT_EQ(launch(other), CUDA_SUCCESS);
  end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(Capture, MustEndInItsOwnStream) {
  CUstream other = new_stream();
  begin();
  ASSERT_EQ(cuStreamWaitEvent(other, record(stream_), 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  end();
}

TEST_F(Capture, CannotMergeWithAnother) {
  CUstream other = new_stream();
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_EQ(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, record(stream_), 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  expect_invalidated();
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, EndsOnlyWhereItHasBegun) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(Graphs, ReplayTakesTheSumOfAChain) {
  begin();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(instantiate(end())), 30.0, 1e-3);
}

TEST_F(Graphs, BranchesRunBesideEachOther) {
  CUstream other = new_stream();
  begin();
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(other, record(stream_), 0), CUDA_SUCCESS);
  ASSERT_EQ(launch(other, kBlocksFor100us), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(stream_, record(other), 0), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(instantiate(end())), 120.0, 1e-3);  // 10 + max(100, 10) + 10
}

TEST_F(Graphs, ExternalRecordsTimeOneNode) {
  const CUevent before = new_event();
  const CUevent after = new_event();
  begin();
  ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecordWithFlags(before, stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecordWithFlags(after, stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(end());
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(before), CUDA_ERROR_NOT_READY);
  EXPECT_NEAR(elapsed_us(before, after), 10.0, 1e-3);
}

TEST_F(Graphs, ExternalRecordsAreInvalidOutsideOfCapture) {
  EXPECT_EQ(cuEventRecordWithFlags(new_event(), stream_, CU_EVENT_RECORD_EXTERNAL),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, OutliveTheGraphTheyCameFrom) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  CUgraph graph = end();
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  const auto before = simgpu_graph_kernel_count();
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(simgpu_graph_kernel_count(), before + 1);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Graphs, HoldTheirNodesInOrderOfCapture) {
  begin();
  ASSERT_EQ(launch(stream_, 3), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_, 5), CUDA_SUCCESS);
  CUgraph graph = end();
  const Nodes nodes = nodes_of(graph);
  ASSERT_EQ(nodes.size(), 2U);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  ASSERT_EQ(cuGraphKernelNodeGetParams(nodes[1], &parameters), CUDA_SUCCESS);
  EXPECT_EQ(parameters.gridDimX, 5U);
  const char* name = out(cuFuncGetName, parameters.func);
  EXPECT_STREQ(name, "empty");
}

TEST_F(Graphs, UpdateKeepsTheTopology) {
  begin();
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(end());
  begin();
  ASSERT_EQ(launch(stream_, kBlocksFor100us), CUDA_SUCCESS);
  CUgraph slower = end();
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(cuGraphExecUpdate(exec, slower, &info), CUDA_SUCCESS);
  EXPECT_NEAR(replay_us(exec), 100.0, 1e-3);

  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecUpdate(exec, end(), &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

TEST_F(Graphs, LaunchedBehindAHoldKeepTheVersionOfTheirLaunch) {
  begin();
  ASSERT_EQ(launch(stream_, kBlocksFor10us), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(end());
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  const CUevent start = record(stream_);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  const CUevent stop = record(stream_);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  *word = 1;
  EXPECT_NEAR(elapsed_us(start, stop), 10.0, 1e-3);
}

// Captures that write to given graphs, move on in them, or take in what has nodes of its own.
class GraphCapture : public Capture {
 protected:
  CUgraph captured_graph() {
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    return graph;
  }
  // The nodes that the next one will depend on.
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
    return launch_with(&attribute, blocks);
  }
};

TEST_F(GraphCapture, RecordsAsNodesOnlyWhatIsExternal) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  record(stream_);
  ASSERT_EQ(cuEventRecordWithFlags(new_event(), stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  const Nodes nodes = nodes_of(end());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(type_of(nodes[1]), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
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
  CUgraph graph = graph_of_a_kernel();
  ASSERT_EQ(cuStreamBeginCaptureToGraph(stream_, graph, nullptr, nullptr, 0,
                                        CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(nodes_of(graph).size(), 1U);
}

TEST_F(GraphCapture, TakesNodesThatAreAddedByHand) {
  begin();
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  CUgraph graph = captured_graph();
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
  CUgraph graph = captured_graph();
  CUgraphNode own = add_kernel(graph);
  CUgraphEdgeData data{};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  ASSERT_EQ(cuStreamUpdateCaptureDependencies(stream_, &own, &data, 1,
                                              CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
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
  CUstream urgent = out(cuStreamCreateWithPriority, CU_STREAM_NON_BLOCKING, -2);
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
  EXPECT_EQ(type_of(nodes_of(end()).at(0)), CU_GRAPH_NODE_TYPE_HOST);
}

TEST_F(GraphCapture, ForbidsInstantiationUnlessTheThreadIsRelaxed) {
  CUgraph graph = graph_of_a_kernel();
  begin();
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  CUgraphExec exec = out(cuGraphInstantiate, graph, 0);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }).join();
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace simgpu
