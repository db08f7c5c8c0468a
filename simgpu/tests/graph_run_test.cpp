// Launched graphs do their work in the order and at the times of their nodes.
#include "graph_fixture.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace simgpu {
namespace {

class GraphRuns : public GraphTest {};
class GraphMemoryNodes : public GraphTest {
 protected:
  static CUresult add_free(CUgraph graph, const Nodes& after, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    return cuGraphAddMemFreeNode(&node, graph, after.data(), after.size(), address);
  }
};
class UserObjects : public GraphTest {
 protected:
  // Counts the calls of its destructor, which another thread makes.
  CUuserObject new_object(unsigned references = 1) {
    return out(cuUserObjectCreate, &destroyed_, count_one, references,
               CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  }
  CUgraph graph_with(CUuserObject object) {
    CUgraph graph = graph_of_a_kernel();
    EXPECT_EQ(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
    return graph;
  }
  // Waits until the count is as expected, or shortly for nothing to happen; returns the count.
  int destroyed(int expected) {
    const auto patience = std::chrono::milliseconds(expected > 0 ? 5000 : 20);
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < limit && (expected == 0 || destroyed_ < expected))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return destroyed_;
  }
  static void CUDA_CB count_one(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

  std::atomic<int> destroyed_{0};
};

TEST_F(GraphRuns, AreNestedInChildGraphs) {
  CUgraph child = new_graph();
  const CUgraphNode inner = add_kernel(child);
  add_kernel(child, {inner});
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode holder = add_child(graph, {first}, child);
  add_kernel(graph, {holder}, kBlocksFor100us);
  EXPECT_NEAR(replay_us(instantiate(graph)), 130.0, 1e-3);
}

TEST_F(GraphRuns, OfOneExecComeOneAfterTheOtherThoseOfTwoOverlap) {
  CUgraph graph = graph_of_a_kernel(kBlocksFor100us);
  const CUgraphExec first = instantiate(graph);
  CUstream other = new_stream();
  for (const auto& [second, us] : {std::pair{first, 200.0}, std::pair{instantiate(graph), 100.0}}) {
    occupy(stream_);
    const CUevent start = record(stream_);
    ASSERT_EQ(cuStreamWaitEvent(other, start, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(first, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(second, other), CUDA_SUCCESS);
    const CUevent end = record(stream_);
    EXPECT_NEAR(elapsed_us(start, record(other)), us, 1e-3);
    EXPECT_NEAR(elapsed_us(start, end), 100.0, 1e-3);
  }
}

TEST_F(GraphRuns, MeasureANodeBetweenTwoRecords) {
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph, {}, kBlocksFor100us);
  const CUevent before = new_event();
  const CUevent after = new_event();
  const CUgraphNode start = add_record(graph, {first}, before);
  const CUgraphNode timed = add_kernel(graph, {start});
  add_record(graph, {timed}, after);
  ASSERT_EQ(cuGraphLaunch(instantiate(graph), stream_), CUDA_SUCCESS);
  EXPECT_NEAR(elapsed_us(before, after), 10.0, 1e-3);
}

TEST_F(GraphRuns, WaitForAnEventInTheNodeThatWaits) {
  CUstream other = new_stream();
  occupy(other);  // 1002 us
  const CUevent outside = record(other);
  CUgraph graph = new_graph();
  CUgraphNode wait = out(cuGraphAddEventWaitNode, graph, nullptr, 0, outside);
  const CUevent beside = new_event();
  const CUevent behind = new_event();
  add_record(graph, {add_kernel(graph)}, beside);
  add_record(graph, {add_kernel(graph, {wait})}, behind);
  const CUevent start = record(stream_);
  ASSERT_EQ(cuGraphLaunch(instantiate(graph), stream_), CUDA_SUCCESS);
  EXPECT_LT(elapsed_us(start, beside), 100.0);
  EXPECT_NEAR(elapsed_us(outside, behind), 10.0, 1e-3);
}

TEST_F(GraphRuns, CallTheHost) {
  static std::atomic<int> calls{0};
  const auto count = [](void* amount) { calls += *static_cast<int*>(amount); };
  int amount = 3;
  CUgraph graph = new_graph();
  const CUgraphNode first = add_kernel(graph);
  const CUgraphNode call = add_host(graph, {first}, count, &amount);
  add_kernel(graph, {call});
  const CUgraphExec exec = instantiate(graph);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(calls, 6);
}

TEST_F(GraphRuns, AreTakenInByACapture) {
  const CUgraphExec inner = instantiate(graph_of_a_kernel(kBlocksFor100us));
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(inner, stream_), CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_SUCCESS);
  EXPECT_EQ(type_of(nodes_of(captured).at(1)), CU_GRAPH_NODE_TYPE_GRAPH);
  EXPECT_NEAR(replay_us(instantiate(captured)), 110.0, 1e-3);
}

TEST_F(GraphMemoryNodes, GiveOneAddressToAllLaunches) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  const CUgraphNode allocation = add_allocation(graph, address);
  const CUgraphNode fill = add_fill(graph, {allocation}, address, 5, 64);
  ASSERT_EQ(add_free(graph, {fill}, address), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(graph);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);  // freed in its graph
}

TEST_F(GraphMemoryNodes, MustBeFreedBeforeTheNextLaunch) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  add_allocation(graph, address);
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemFreeAsync(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
}

TEST_F(GraphMemoryNodes, AreFreedByALaunchWhereAsked) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  add_allocation(graph, address);
  const CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
}

TEST_F(GraphMemoryNodes, KeepNodesAndEdgesInPlace) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  const CUgraphNode allocation = add_allocation(graph, address);
  const CUgraphNode kernel = add_kernel(graph, {allocation});
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &allocation, &kernel, nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphMemoryNodes, AreFreedOnceAndByOneGraph) {
  CUgraph graph = new_graph();
  CUdeviceptr address = 0;
  const CUgraphNode allocation = add_allocation(graph, address);
  CUdeviceptr ordinary = out(cuMemAlloc, 8);
  EXPECT_EQ(add_free(graph, {}, ordinary), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(add_free(graph, {allocation}, address), CUDA_SUCCESS);
  EXPECT_EQ(add_free(graph, {allocation}, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_free(new_graph(), {}, address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphMemoryNodes, GoIntoAParentOnlyForGood) {
  CUgraph child = new_graph();
  CUdeviceptr address = 0;
  add_allocation(child, address);
  CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph = {.graph = child, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  ASSERT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, child, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(instantiate(graph), stream_), CUDA_SUCCESS);
}

TEST_F(GraphMemoryNodes, AreCaptured) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr address = out(cuMemAllocAsync, 64, stream_);
  ASSERT_EQ(cuMemFreeAsync(address, stream_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  const Nodes nodes = nodes_of(graph);
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  ASSERT_EQ(cuGraphMemAllocNodeGetParams(nodes.at(0), &parameters), CUDA_SUCCESS);
  EXPECT_EQ(parameters.dptr, address);
  EXPECT_EQ(parameters.bytesize, 64U);
  CUdeviceptr freed = 0;
  ASSERT_EQ(cuGraphMemFreeNodeGetParams(nodes.at(1), &freed), CUDA_SUCCESS);
  EXPECT_EQ(freed, address);
}

TEST_F(UserObjects, EndWithTheLastReference) {
  const CUuserObject object = new_object(2);
  ASSERT_EQ(cuUserObjectRetain(object, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuUserObjectRelease(object, 2), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(0), 0);
  ASSERT_EQ(cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, LiveAsLongAsACloneDoes) {
  CUgraph graph = graph_with(new_object());
  CUgraph clone = clone_of(graph);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(0), 0);
  ASSERT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, LiveAsLongAsAnExecDoes) {
  CUgraph graph = graph_with(new_object());
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(0), 0);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, LiveAsLongAsALaunchRuns) {
  CUgraph graph = graph_with(new_object());
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  occupy(stream_);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(0), 0);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, StayTheCallersUnlessTheyAreMoved) {
  const CUuserObject object = new_object();
  CUgraph graph = new_graph();
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphReleaseUserObject(graph, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphReleaseUserObject(graph, object, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroyed(0), 0);
  ASSERT_EQ(cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, OfAnExecGoWithAnUpdate) {
  CUgraph graph = graph_with(new_object());
  const CUgraphExec exec = instantiate(graph);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(cuGraphExecUpdate(exec, graph_of_a_kernel(), &info), CUDA_SUCCESS);
  EXPECT_EQ(destroyed(1), 1);
}

TEST_F(UserObjects, WantTheirFlagAndACount) {
  CUuserObject object = nullptr;
  EXPECT_EQ(cuUserObjectCreate(&object, &destroyed_, count_one, 1, 0), CUDA_ERROR_INVALID_VALUE);
  object = new_object();
  EXPECT_EQ(cuUserObjectRetain(object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRetainUserObject(new_graph(), object, 1, 2), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simgpu
