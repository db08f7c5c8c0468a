// A training program that replays CUDA graphs and checks each step's result: the graph writes a
// number that depends on the step's input.
//
//   host_graphs SHAPE [NAME=NUMBER]...
//
// Prints "host ok" and exits with 0 if all is as it should be.
#include "host.hpp"

#include <algorithm>
#include <random>

namespace {

std::map<std::string, int> numbers;

int number(const char* name, int otherwise) {
  const auto known = numbers.find(name);
  return known == numbers.end() ? otherwise : known->second;
}

constexpr int kKernels = 12;

struct Device {
  CUcontext context = nullptr;
  std::vector<CUfunction> kernels;
  CUstream stream = nullptr;
  CUstream second = nullptr;
  CUdeviceptr input = 0;
  CUdeviceptr output = 0;
};

Device open_device(int index) {
  Device device;
  device.context = host::open_context(index);
  device.kernels = host::load_numbered_kernels(kKernels);
  device.stream = host::open_stream();
  device.second = host::open_stream();
  CHECK(cuMemAlloc(&device.input, 64));
  CHECK(cuMemAlloc(&device.output, 64));
  return device;
}

void launch(const Device& device, int kernel, CUstream stream, unsigned grid = 16) {
  host::launch(device.kernels[static_cast<std::size_t>(kernel)], stream, grid, 128);
}

// --- graphs

CUgraph captured(const Device& device, void (*work)(const Device&)) {
  return host::captured(device.stream, [&] { work(device); });
}

// Six kernels in a row, and a copy of the input.
void chain(const Device& device) {
  for (int i = 0; i < 6; ++i) {
    PROFILE_SCOPE(i < 3 ? "Bottom" : "Top", device.stream);
    launch(device, i, device.stream);
  }
  CHECK(cuMemcpyDtoDAsync(device.output, device.input, 4, device.stream));
}

// The same by programmatic dependent launches, as cuBLAS, CUTLASS and Triton make them.
void overlapping_chain(const Device& device) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = 16;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = device.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(cuLaunchKernelEx(&config, device.kernels[i], nullptr, nullptr));
  CHECK(cuMemcpyDtoDAsync(device.output, device.input, 4, device.stream));
}

// A region and a layer of the program's own words.
void labelled(const Device& device) {
  PROFILE_SCOPE("Net", device.stream);
  PROFILE_OP("fc", "gemm", "m", 128, "n", 64, "k", 32, "a_type", "f16");
  PROFILE_RECORD("fc.start", device.stream);
  launch(device, 1, device.stream);
  launch(device, 2, device.stream);
  PROFILE_RECORD("fc.stop", device.stream);
  launch(device, 3, device.stream);
  CHECK(cuMemcpyDtoDAsync(device.output, device.input, 4, device.stream));
}

// Two branches on two streams that meet again.
void branches(const Device& device) {
  CUevent fork = nullptr;
  CUevent join = nullptr;
  CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  launch(device, 0, device.stream);
  CHECK(cuEventRecord(fork, device.stream));
  CHECK(cuStreamWaitEvent(device.second, fork, 0));
  launch(device, 7, device.stream);
  launch(device, 5, device.second);
  launch(device, 6, device.second);
  CHECK(cuEventRecord(join, device.second));
  CHECK(cuStreamWaitEvent(device.stream, join, 0));
  launch(device, 1, device.stream);
  CHECK(cuMemcpyDtoDAsync(device.output, device.input, 4, device.stream));
  CHECK(cuEventDestroy(fork));
  CHECK(cuEventDestroy(join));
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(const Device& device, int kernel, unsigned grid = 16) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = device.kernels[static_cast<std::size_t>(kernel)];
  parameters.gridDimX = grid;
  parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = 128;
  parameters.blockDimY = parameters.blockDimZ = 1;
  return parameters;
}

unsigned below(std::mt19937& random, std::size_t bound) {
  return static_cast<unsigned>(random() % bound);
}

CUgraphNode add_kernel(CUgraph graph, const Device& device, int kernel,
                       const std::vector<CUgraphNode>& after, unsigned grid = 16) {
  const auto parameters = kernel_parameters(device, kernel, grid);
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

void add_copy(CUgraph graph, const Device& device, const std::vector<CUgraphNode>& after) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = device.input;
  copy.dstDevice = device.output;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(), &copy, device.context));
}

// Each node after up to three of the nodes before it.  Grids differ unless one is given.
CUgraph random_graph(const Device& device, int nodes, unsigned seed) {
  std::mt19937 random(seed);
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  std::vector<CUgraphNode> all;
  for (int i = 0; i < nodes; ++i) {
    std::vector<CUgraphNode> after;
    for (unsigned k = 0; k < 3 && !all.empty(); ++k) {
      CUgraphNode one = all[all.size() - 1 - below(random, std::min<std::size_t>(all.size(), 8))];
      if (std::find(after.begin(), after.end(), one) == after.end()) after.push_back(one);
    }
    all.push_back(add_kernel(graph, device, static_cast<int>(below(random, kKernels)), after,
                             static_cast<unsigned>(number("grid", i + 1))));
  }
  add_copy(graph, device, {all.back()});
  return graph;
}

struct TwoKernels {
  CUgraph graph = nullptr;
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
};

// Two kernels in a row and the copy.
TwoKernels two_kernels(const Device& device) {
  TwoKernels made;
  CHECK(cuGraphCreate(&made.graph, 0));
  made.first = add_kernel(made.graph, device, 0, {});
  made.second = add_kernel(made.graph, device, 1, {made.first});
  add_copy(made.graph, device, {made.second});
  return made;
}

CUgraph with_child(const Device& device) {
  CUgraph child = nullptr;
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&child, 0));
  CUgraphNode inner = add_kernel(child, device, 3, {});
  add_kernel(child, device, 4, {inner});
  CHECK(cuGraphCreate(&graph, 0));
  CUgraphNode first = add_kernel(graph, device, 0, {});
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddChildGraphNode(&node, graph, &first, 1, child));
  add_copy(graph, device, {node});
  CHECK(cuGraphDestroy(child));
  return graph;
}

CUgraph with_allocation(const Device& device) {
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters.bytesize = 4096;
  CUgraphNode allocation = nullptr;
  CHECK(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &parameters));
  CUgraphNode kernel = add_kernel(graph, device, 2, {allocation});
  CUgraphNode release = nullptr;
  CHECK(cuGraphAddMemFreeNode(&release, graph, &kernel, 1, parameters.dptr));
  add_copy(graph, device, {release});
  return graph;
}

// The second kernel may begin before the first has ended.
CUgraph with_programmatic_edge(const Device& device) {
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CUgraphNode first = add_kernel(graph, device, 0, {});
  CUgraphNode second = add_kernel(graph, device, 1, {});
  CUgraphNode third = add_kernel(graph, device, 2, {second});
  CUgraphEdgeData edge{};
  edge.from_port = number("launch_order", 0) != 0 ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
                                                  : CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  CHECK(cuGraphAddDependencies_v2(graph, &first, &second, &edge, 1));
  add_copy(graph, device, {third});
  return graph;
}

// --- steps

void give_input(const Device& device, int step) {
  CHECK(cuMemsetD32Async(device.input, static_cast<unsigned>(step), 1, device.stream));
}

void expect_output(const Device& device, int step) {
  unsigned value = 0;
  CHECK(cuStreamSynchronize(device.stream));
  CHECK(cuMemcpyDtoH(&value, device.output, 4));
  if (value != static_cast<unsigned>(step)) host::fail("the graph wrote something else", step);
}

// `between`: what the program does before each replay.
template <typename Between>
void train(const Device& device, std::vector<CUgraphExec>& execs, const Between& between) {
  const int iterations = number("iterations", 200);
  const bool has_boundaries = number("boundaries", 1) != 0;
  for (int step = 0; step < iterations; ++step) {
    if (has_boundaries) PROFILE_ITERATION();
    give_input(device, step);
    between(step);
    for (int replay = 0; replay < number("replays", 1); ++replay) {
      for (CUgraphExec exec : execs)
        CHECK(cuGraphLaunch(exec, device.stream));
    }
    expect_output(device, step);
  }
}

void destroy(std::vector<CUgraphExec>& execs) {
  for (CUgraphExec exec : execs)
    CHECK(cuGraphExecDestroy(exec));
  execs.clear();
}

void run_simple(const Device& device, CUgraph graph) {
  std::vector<CUgraphExec> execs(static_cast<std::size_t>(number("execs", 1)));
  for (CUgraphExec& exec : execs)
    exec = host::instantiated(graph);
  if (number("keep_graph", 0) == 0) CHECK(cuGraphDestroy(graph));
  train(device, execs, [](int) {});
  destroy(execs);
}

// The program changes one kernel's grid, and with it its time, before every `every`-th replay.
void run_changing(const Device& device, bool by_update) {
  const auto [graph, first, second] = two_kernels(device);
  std::vector<CUgraphExec> execs{host::instantiated(graph)};
  const int every = number("every", 1);
  train(device, execs, [&, graph = graph, second = second](int step) {
    if (step == 0 || step % every != 0) return;
    const auto parameters =
        kernel_parameters(device, 1, static_cast<unsigned>(16 + 16 * (step / every % 2)));
    if (!by_update) {
      CHECK(cuGraphExecKernelNodeSetParams(execs[0], second, &parameters));
      return;
    }
    CHECK(cuGraphKernelNodeSetParams(second, &parameters));
    CUgraphExecUpdateResultInfo info{};
    CHECK(cuGraphExecUpdate(execs[0], graph, &info));
  });
  destroy(execs);
  CHECK(cuGraphDestroy(graph));
}

// Made anew and destroyed before every `every`-th replay.
void run_remaking(const Device& device, bool by_capture) {
  std::vector<CUgraphExec> execs;
  const int every = number("every", 1);
  train(device, execs, [&](int step) {
    if (step % every != 0) return;
    destroy(execs);
    CUgraph graph = by_capture ? captured(device, labelled) : random_graph(device, 10, 1);
    execs.push_back(host::instantiated(graph));
    CHECK(cuGraphDestroy(graph));
  });
  destroy(execs);
}

// Random updates, destroys and makings.
void run_restless(const Device& device) {
  std::mt19937 random(7);
  std::vector<CUgraphExec> execs;
  TwoKernels made;
  const auto make = [&] {
    made = two_kernels(device);
    execs.push_back(host::instantiated(made.graph));
  };
  make();
  train(device, execs, [&](int) {
    const unsigned dice = below(random, 200);
    if (dice == 0) {
      destroy(execs);
      CHECK(cuGraphDestroy(made.graph));
      make();
    } else if (dice < 4) {
      const auto parameters = kernel_parameters(device, 1, 16 * (1 + below(random, 4)));
      CHECK(cuGraphExecKernelNodeSetParams(execs[0], made.second, &parameters));
    } else if (dice == 4) {
      CUgraphExecUpdateResultInfo info{};
      CHECK(cuGraphExecUpdate(execs[0], made.graph, &info));
    } else if (dice == 5) {
      CHECK(cuGraphNodeSetEnabled(execs[0], made.first, below(random, 2)));
    }
  });
  destroy(execs);
  CHECK(cuGraphDestroy(made.graph));
}

// Two devices, each with a graph of its own, one thread each or one after the other.
void run_devices(bool with_threads) {
  std::vector<Device> devices{open_device(0), open_device(1)};
  std::vector<CUgraphExec> execs;
  for (const Device& device : devices) {
    CHECK(cuCtxSetCurrent(device.context));
    CUgraph graph = captured(device, chain);
    execs.push_back(host::instantiated(graph));
    CHECK(cuGraphDestroy(graph));
  }
  const auto step_of = [&](std::size_t i, int step) {
    CHECK(cuCtxSetCurrent(devices[i].context));
    give_input(devices[i], step);
    CHECK(cuGraphLaunch(execs[i], devices[i].stream));
    expect_output(devices[i], step);
  };
  for (int step = 0; step < number("iterations", 200); ++step) {
    PROFILE_ITERATION();
    if (with_threads) {
      std::thread other(step_of, 1, step);
      step_of(0, step);
      other.join();
    } else {
      step_of(0, step);
      step_of(1, step);
    }
  }
  destroy(execs);
}

// One exec on two streams in turn.
void run_on_two_streams(const Device& device) {
  CUgraph graph = captured(device, chain);
  CUgraphExec exec = host::instantiated(graph);
  for (int step = 0; step < number("iterations", 200); ++step) {
    PROFILE_ITERATION();
    give_input(device, step);
    CHECK(cuGraphLaunch(exec, device.stream));
    CHECK(cuStreamSynchronize(device.stream));
    CHECK(cuGraphLaunch(exec, device.second));
    CHECK(cuStreamSynchronize(device.second));
    expect_output(device, step);
  }
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

// A graph whose launch is captured into another one.
void run_launched_while_captured(const Device& device) {
  CUgraph inner = captured(device, chain);
  CUgraphExec inner_exec = host::instantiated(inner);
  run_simple(device, host::captured(device.stream, [&] {
               launch(device, 8, device.stream);
               CHECK(cuGraphLaunch(inner_exec, device.stream));
               launch(device, 9, device.stream);
             }));
}

// Many large graphs, each replayed once an iteration.
void run_many(const Device& device) {
  std::vector<CUgraphExec> execs;
  for (int i = 0; i < number("graphs", 40); ++i) {
    CUgraph graph = random_graph(device, number("nodes", 2000), static_cast<unsigned>(i));
    execs.push_back(host::instantiated(graph));
    CHECK(cuGraphDestroy(graph));
  }
  train(device, execs, [](int) {});
  destroy(execs);
}

void CUDA_CB count_down(void* counter) {
  --*static_cast<std::atomic<int>*>(counter);
}

// A user object must be gone once the program has destroyed its graph and its exec.
void run_with_user_object(const Device& device) {
  static std::atomic<int> alive{1};
  CUuserObject object = nullptr;
  CUgraph graph = captured(device, chain);
  CHECK(cuUserObjectCreate(&object, &alive, count_down, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CHECK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  std::vector<CUgraphExec> execs{host::instantiated(graph)};
  train(device, execs, [](int) {});
  destroy(execs);
  CHECK(cuGraphDestroy(graph));
  CHECK(cuCtxSynchronize());
  for (int i = 0; i < 1000 && alive != 0; ++i)
    usleep(1000);
  if (alive != 0) host::fail("the user object is still held", alive.load());
}

using Run = void (*)(const Device&);
template <void (*Work)(const Device&)>
void run_captured(const Device& device) {
  run_simple(device, captured(device, Work));
}
template <CUgraph (*Make)(const Device&)>
void run_made(const Device& device) {
  run_simple(device, Make(device));
}

const std::map<std::string, Run> kRuns = {
    {"chain", run_captured<chain>},
    {"overlapping", run_captured<overlapping_chain>},
    {"labelled", run_captured<labelled>},
    {"branches", run_captured<branches>},
    {"child", run_made<with_child>},
    {"allocation", run_made<with_allocation>},
    {"programmatic", run_made<with_programmatic_edge>},
    {"random",
     [](auto& device) {
       run_simple(device, random_graph(device, number("nodes", 10),
                                       static_cast<unsigned>(number("seed", 1))));
     }},
    {"overlapping_eager",
     [](auto& device) {
       std::vector<CUgraphExec> none;
       train(device, none, [&](int) { overlapping_chain(device); });
     }},
    {"set_params", [](auto& device) { run_changing(device, false); }},
    {"update", [](auto& device) { run_changing(device, true); }},
    {"remaking", [](auto& device) { run_remaking(device, false); }},
    {"recapturing", [](auto& device) { run_remaking(device, true); }},
    {"restless", run_restless},
    {"two_streams", run_on_two_streams},
    {"nested_capture", run_launched_while_captured},
    {"many", run_many},
    {"user_object", run_with_user_object},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    if (equals != nullptr)
      numbers[std::string(argv[i], static_cast<std::size_t>(equals - argv[i]))] =
          std::atoi(equals + 1);
  }
  CHECK(cuInit(0));
  const std::string shape = argc > 1 ? argv[1] : "chain";
  const auto run = kRuns.find(shape);
  if (shape == "devices" || shape == "threads") {
    run_devices(shape == "threads");
  } else if (run != kRuns.end()) {
    run->second(open_device(0));
  } else {
    host::fail("no such shape", 0);
  }
  std::printf("host ok\n");
  return 0;
}
