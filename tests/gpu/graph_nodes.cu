// Measures what the two event nodes around a node of a graph read and cost (claims 26, 48, 49), and
// what the driver does with clones of a graph (claims 23 to 25).
//
// Kernels of known length stand in a chain and in a branch; each notes by the GPU's global timer
// how long it took.  The simulated GPU runs no kernel: the length that was asked for stands there,
// and its model (graph_rehearsal_model.json) makes it true.  The graphs are made by the driver's
// functions that the injected library uses.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace {

namespace gpu_test = inline_prof::gpu_test;
using namespace gpu_test;
using Clock = std::chrono::steady_clock;
using Nodes = std::vector<CUgraphNode>;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "unknown";
  static_cast<void>(cuGetErrorString(result, &text));
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}
using gpu_test::check;

// One kernel a length, so that the model of a rehearsal can tell them apart.
template <int kLengthUs>
__global__ void spin_for(std::int64_t cycles, KernelTimes* times) {
  spin_and_note(cycles, times);
}

struct Spin {
  int us;
  void (*kernel)(std::int64_t, KernelTimes*);
};
const std::array<Spin, 9> kSpins{{{2, spin_for<2>},
                                  {5, spin_for<5>},
                                  {10, spin_for<10>},
                                  {20, spin_for<20>},
                                  {50, spin_for<50>},
                                  {100, spin_for<100>},
                                  {200, spin_for<200>},
                                  {500, spin_for<500>},
                                  {1000, spin_for<1000>}}};
// Places in kSpins.
constexpr std::size_t kShort = 0;
constexpr std::size_t kBeside = 5;
constexpr std::size_t kHold = 5;
constexpr std::size_t kLongHold = 8;

// Makes nodes of known length, and keeps the stream busy.
class Spins {
 public:
  Spins() {
    times_ = static_cast<KernelTimes*>(take_memory(sizeof *times_));
    cycles_per_us_ = cycles_per_us_when_warm(stream_);
    for (std::size_t i = 0; i < kSpins.size(); ++i)
      parameters_[i] = parameters_of(kSpins[i]);
  }

  [[nodiscard]] CUstream stream() const { return stream_; }
  void wait() const { gpu_test::wait(stream_); }

  CUgraphNode add(CUgraph graph, const Nodes& after, std::size_t length,
                  KernelTimes* times = nullptr) const {
    std::int64_t cycles = cycles_of(length);
    if (times == nullptr) times = times_;
    void* arguments[] = {&cycles, &times};
    CUDA_KERNEL_NODE_PARAMS parameters = parameters_[length];
    parameters.kernelParams = arguments;
    CUgraphNode node = nullptr;
    check(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters),
          "cuGraphAddKernelNode");
    return node;
  }

  // Adds `count` nodes in a row.
  Nodes add_chain(CUgraph graph, Nodes after, std::size_t length, int count) const {
    Nodes chain;
    for (int i = 0; i < count; ++i) {
      chain.push_back(add(graph, after, length));
      after = {chain.back()};
    }
    return chain;
  }

  // Keeps the stream busy meanwhile, so that what is queued next follows without a gap.
  void hold(std::size_t length) const {
    kSpins[length].kernel<<<1, 1, 0, stream_>>>(cycles_of(length), times_);
    check(cudaGetLastError(), "launch");
  }

 private:
  [[nodiscard]] std::int64_t cycles_of(std::size_t length) const {
    return static_cast<std::int64_t>(kSpins[length].us * cycles_per_us_);
  }

  // The driver knows the kernel by a handle of its own: a capture of one launch has it.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS parameters_of(const Spin& spin) const {
    cudaGraph_t graph = captured(stream_, [&] { spin.kernel<<<1, 1, 0, stream_>>>(0, times_); });
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    check(cuGraphGetNodes(graph, &node, &count), "cuGraphGetNodes");
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(cuGraphKernelNodeGetParams(node, &parameters), "cuGraphKernelNodeGetParams");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return parameters;
  }

  cudaStream_t stream_ = make_stream();
  KernelTimes* times_ = nullptr;  // of kernels that nobody asks
  double cycles_per_us_ = 0;
  std::array<CUDA_KERNEL_NODE_PARAMS, kSpins.size()> parameters_{};
};

struct EventPair {
  EventPair() {
    check(cuEventCreate(&start, CU_EVENT_DEFAULT), "cuEventCreate");
    check(cuEventCreate(&stop, CU_EVENT_DEFAULT), "cuEventCreate");
  }
  ~EventPair() {
    static_cast<void>(cuEventDestroy(start));
    static_cast<void>(cuEventDestroy(stop));
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  // Returns a negative time if the events were not recorded.
  [[nodiscard]] double us_if_recorded() const {
    float ms = 0;
    const CUresult result = cuEventElapsedTime(&ms, start, stop);
    if (result == CUDA_ERROR_INVALID_HANDLE) return -1;
    check(result, "cuEventElapsedTime");
    return static_cast<double>(ms) * 1e3;
  }
  [[nodiscard]] double us() const {
    const double found_us = us_if_recorded();
    if (found_us < 0) check(CUDA_ERROR_INVALID_HANDLE, "cuEventElapsedTime");
    return found_us;
  }

  CUevent start = nullptr;
  CUevent stop = nullptr;
};

CUgraph new_graph() {
  CUgraph graph = nullptr;
  check(cuGraphCreate(&graph, 0), "cuGraphCreate");
  return graph;
}

CUgraph cloned(CUgraph original) {
  CUgraph clone = nullptr;
  check(cuGraphClone(&clone, original), "cuGraphClone");
  return clone;
}

CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec exec = nullptr;
  check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}

void destroy(CUgraphExec exec) {
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
}
void destroy(CUgraph graph) {
  check(cuGraphDestroy(graph), "cuGraphDestroy");
}

struct EventNodes {
  CUgraphNode start = nullptr;
  CUgraphNode stop = nullptr;
};

// Puts events around the twin of the original's `node`, as the injected library does:
// predecessors -> start -> node -> stop -> successors.
EventNodes put_events_around(CUgraph clone, CUgraphNode node, const EventPair& pair) {
  CUgraphNode twin = nullptr;
  check(cuGraphNodeFindInClone(&twin, node, clone), "cuGraphNodeFindInClone");
  const auto neighbours = [&](auto get) {
    std::size_t count = 0;
    check(get(twin, nullptr, nullptr, &count), "neighbours of a node");
    Nodes nodes(count);
    std::vector<CUgraphEdgeData> edges(count);
    if (count > 0) check(get(twin, nodes.data(), edges.data(), &count), "neighbours of a node");
    return nodes;
  };
  const Nodes before = neighbours(cuGraphNodeGetDependencies_v2);
  const Nodes after = neighbours(cuGraphNodeGetDependentNodes_v2);
  EventNodes made;
  check(cuGraphAddEventRecordNode(&made.start, clone, before.data(), before.size(), pair.start),
        "cuGraphAddEventRecordNode");
  check(cuGraphAddEventRecordNode(&made.stop, clone, &twin, 1, pair.stop),
        "cuGraphAddEventRecordNode");
  for (CUgraphNode other : before)
    check(cuGraphRemoveDependencies_v2(clone, &other, &twin, nullptr, 1), "remove dependency");
  for (CUgraphNode other : after) {
    check(cuGraphRemoveDependencies_v2(clone, &twin, &other, nullptr, 1), "remove dependency");
    check(cuGraphAddDependencies_v2(clone, &made.stop, &other, nullptr, 1), "add dependency");
  }
  check(cuGraphAddDependencies_v2(clone, &made.start, &twin, nullptr, 1), "add dependency");
  return made;
}

// --- event nodes

constexpr int kWarmUps = 10;  // as the injected library drops them
constexpr int kReplays = 40;
constexpr double kEventResolutionUs = 0.5;  // cuda.h, cuEventElapsedTime

// A graph, and its node that is to be timed.
struct Subject {
  CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
};

Subject in_chain(const Spins& spins, std::size_t length, KernelTimes* times) {
  Subject subject;
  const Nodes before = spins.add_chain(subject.graph, {}, kShort, 5);
  subject.node = spins.add(subject.graph, {before.back()}, length, times);
  spins.add_chain(subject.graph, {subject.node}, kShort, 5);
  return subject;
}

// Another branch of 100 us runs beside the node; both begin and end together.
Subject in_branch(const Spins& spins, std::size_t length, KernelTimes* times) {
  Subject subject;
  CUgraphNode fork = spins.add(subject.graph, {}, kShort);
  subject.node = spins.add(subject.graph, {fork}, length, times);
  CUgraphNode beside = spins.add(subject.graph, {fork}, kBeside);
  spins.add(subject.graph, {subject.node, beside}, kShort);
  return subject;
}

struct Replays {
  std::vector<double> whole_us;  // of the graph
  std::vector<double> timed_whole_us;
  std::vector<double> pair_us;
  double inner_us = 0;  // mean: the timer steps by up to a microsecond
};

// Replays the graph and its timed clone in turn, so that a drift of the clocks falls on both alike.
Replays replay(const Spins& spins, const Subject& subject, const KernelTimes* noted) {
  const EventPair around;
  const EventPair pair;
  CUgraph clone = cloned(subject.graph);
  put_events_around(clone, subject.node, pair);
  CUgraphExec plain = instantiated(subject.graph);
  CUgraphExec timed = instantiated(clone);
  const auto whole_us = [&](CUgraphExec exec) {
    spins.hold(kHold);  // so that the time of the calls is not in the pair around the graph
    check(cuEventRecord(around.start, spins.stream()), "cuEventRecord");
    check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
    check(cuEventRecord(around.stop, spins.stream()), "cuEventRecord");
    spins.wait();
    return around.us();
  };
  Replays replays;
  for (int i = 0; i < kWarmUps + kReplays; ++i) {
    const double plain_us = whole_us(plain);
    const double timed_us = whole_us(timed);
    if (i < kWarmUps) continue;
    replays.whole_us.push_back(plain_us);
    replays.timed_whole_us.push_back(timed_us);
    replays.pair_us.push_back(pair.us());
    KernelTimes times{};
    check(cudaMemcpy(&times, noted, sizeof times, cudaMemcpyDeviceToHost), "cudaMemcpy");
    replays.inner_us += static_cast<double>(times.last_ns - times.first_ns) * 1e-3 / kReplays;
  }
  destroy(timed);
  destroy(plain);
  destroy(clone);
  return replays;
}

// Returns the empty pair of state `graph`, as the injected library's calibration calls it.
double empty_pair_us(const Spins& spins) {
  const EventPair pair;
  CUgraph graph = new_graph();
  EventNodes nodes;
  check(cuGraphAddEventRecordNode(&nodes.start, graph, nullptr, 0, pair.start), "add event node");
  check(cuGraphAddEventRecordNode(&nodes.stop, graph, &nodes.start, 1, pair.stop),
        "add event node");
  CUgraphExec exec = instantiated(graph);
  std::vector<double> pairs_us;
  for (int i = 0; i < kWarmUps + kReplays; ++i) {
    check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
    spins.wait();
    if (i >= kWarmUps) pairs_us.push_back(pair.us());
  }
  destroy(exec);
  destroy(graph);
  return median(pairs_us);
}

// Expects that the pair less the empty pair exceeds the kernel's own time by its start and end,
// which take the same for every length.
template <typename Shape>
void node_times(const char* name, const Shape& shape, const Spins& spins, double empty_us,
                Answers& answers) {
  auto* noted = static_cast<KernelTimes*>(take_memory(sizeof(KernelTimes)));
  std::string excesses;
  double first_excess_us = 0;
  bool is_so = true;
  for (std::size_t length = 0; length < kSpins.size(); ++length) {
    const KernelTimes asked{0, static_cast<std::uint64_t>(kSpins[length].us) * 1000};
    check(cudaMemcpy(noted, &asked, sizeof asked, cudaMemcpyHostToDevice), "cudaMemcpy");
    const Subject subject = shape(spins, length, noted);
    const Replays replays = replay(spins, subject, noted);
    destroy(subject.graph);
    const double pair_us = median(replays.pair_us);
    const double excess_us = pair_us - empty_us - replays.inner_us;
    if (length == 0) first_excess_us = excess_us;
    is_so = is_so && pair_us >= replays.inner_us - kEventResolutionUs &&
            std::abs(excess_us - first_excess_us) <= kEventResolutionUs + 0.01 * replays.inner_us;
    excesses += text_of("%s %d us %+.2f", length == 0 ? "" : ",", kSpins[length].us, excess_us);
  }
  answers.expect(is_so, text_of("48: a node in a %s reads its kernel's length and the same excess "
                                "(us, less the empty pair):%s",
                                name, excesses.c_str()));
}

// Expects that two event nodes cost what they take themselves, and nothing at the other nodes.
void rest_of_graph(const char* name, const Subject& subject, const Spins& spins, double empty_us,
                   Answers& answers) {
  const auto* unused = static_cast<const KernelTimes*>(take_memory(sizeof(KernelTimes)));
  const Replays replays = replay(spins, subject, unused);
  const double whole_us = median(replays.whole_us);
  const double timed_us = median(replays.timed_whole_us);
  constexpr double kAllowedUs = 5;  // at each of 400 nodes, 0.0125 us
  answers.expect(timed_us - whole_us <= empty_us + kAllowedUs,
                 text_of("26: %s takes %.2f us, with two event nodes %.2f us (%+.2f)", name,
                         whole_us, timed_us, timed_us - whole_us));
}

// Expects that a launch that waits on the stream keeps the events that it was launched with.
void other_events(const Spins& spins, Answers& answers) {
  const EventPair first;
  const EventPair second;
  const Subject subject = in_chain(spins, kShort, nullptr);
  CUgraph clone = cloned(subject.graph);
  const EventNodes nodes = put_events_around(clone, subject.node, first);
  CUgraphExec exec = instantiated(clone);
  for (int i = 0; i < 5; ++i)
    spins.hold(kLongHold);
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
  check(cuGraphExecEventRecordNodeSetEvent(exec, nodes.start, second.start), "set event");
  check(cuGraphExecEventRecordNodeSetEvent(exec, nodes.stop, second.stop), "set event");
  const bool was_waiting = cuStreamQuery(spins.stream()) == CUDA_ERROR_NOT_READY;
  spins.wait();
  const double first_us = first.us_if_recorded();
  const bool second_has_first = second.us_if_recorded() >= 0;
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
  spins.wait();
  const bool second_has_second = second.us_if_recorded() >= 0;
  const bool is_kept = first.us_if_recorded() == first_us;
  answers.expect(
      was_waiting && first_us >= 0 && !second_has_first && second_has_second && is_kept,
      text_of("49: other events for an exec hold from the next launch on: changed while a launch "
              "waited %d, that launch recorded the old ones %d and the new ones %d, the next one "
              "the new ones %d and left the old ones %d",
              was_waiting, first_us >= 0, second_has_first, second_has_second, is_kept));
  destroy(exec);
}

// --- clones

constexpr int kNodes = 2000;
constexpr int kTrainedNodes = 200;
constexpr int kClones = 10;
constexpr double kGuessedBytesPerNode = 1024;  // kBytesPerNode of graphs/graph_registry.cpp

struct Chain {
  CUgraph graph = new_graph();
  Nodes nodes;  // in order

  Chain(const Spins& spins, int count) : nodes(spins.add_chain(graph, {}, kShort, count)) {}
};

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Replays one graph and waits for it, on a thread of its own, as a training loop does.
class Trainer {
 public:
  explicit Trainer(CUgraphExec exec) : exec_(exec) {
    check(cuCtxGetCurrent(&context_), "cuCtxGetCurrent");
    thread_ = std::thread([this] { train(); });
  }
  void tell(bool somebody_clones) { somebody_clones_ = somebody_clones; }
  void stop() {
    is_over_ = true;
    thread_.join();
  }
  // Returns the lengths of iterations with or without cloning beside them; after stop().
  [[nodiscard]] const std::vector<double>& us(bool beside_cloning) const {
    return us_[beside_cloning ? 1 : 0];
  }

 private:
  void train() {
    check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    CUstream stream = nullptr;
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    while (!is_over_) {
      const bool before = somebody_clones_;
      const auto start = Clock::now();
      check(cuGraphLaunch(exec_, stream), "cuGraphLaunch while another thread clones");
      check(cuStreamSynchronize(stream), "cuStreamSynchronize");
      const double us = us_since(start);
      if (before == somebody_clones_) us_[before ? 1 : 0].push_back(us);
    }
    check(cuStreamDestroy(stream), "cuStreamDestroy");
  }

  CUgraphExec exec_;
  CUcontext context_ = nullptr;
  std::thread thread_;
  std::atomic<bool> somebody_clones_{false};
  std::atomic<bool> is_over_{false};
  std::vector<double> us_[2];
};

// Host times of the steps that the injected library takes on its own thread, an upload until it is
// done.
constexpr std::array kSteps{"clone", "event nodes", "instantiate", "upload", "destroy"};
using StepTimes = std::array<std::vector<double>, kSteps.size()>;

// Makes, replays and destroys one timed clone; returns the time of the pair inside.
double make_and_replay(const Chain& chain, const Spins& spins, StepTimes& steps_us) {
  const EventPair pair;
  auto start = Clock::now();
  std::size_t step = 0;
  const auto lap = [&] {
    steps_us[step++].push_back(us_since(start));
    start = Clock::now();
  };
  CUgraph clone = cloned(chain.graph);
  lap();
  put_events_around(clone, chain.nodes[kNodes / 2], pair);
  lap();
  CUgraphExec exec = instantiated(clone);
  lap();
  check(cuGraphUpload(exec, spins.stream()), "cuGraphUpload");
  spins.wait();
  lap();
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch of a clone");
  spins.wait();
  start = Clock::now();
  destroy(exec);
  destroy(clone);
  lap();
  return pair.us();
}

void clone_while_training(const Spins& spins, Answers& answers) {
  const Chain trained(spins, kTrainedNodes);
  const Chain chain(spins, kNodes);
  StepTimes first;  // pays for what the driver does once
  static_cast<void>(make_and_replay(chain, spins, first));

  constexpr auto kQuiet = std::chrono::milliseconds(300);
  CUgraphExec exec = instantiated(trained.graph);
  Trainer trainer(exec);
  std::this_thread::sleep_for(kQuiet);
  StepTimes steps_us;
  int measured = 0;
  trainer.tell(true);
  for (int i = 0; i < kClones; ++i) {
    if (make_and_replay(chain, spins, steps_us) > 0) ++measured;
  }
  trainer.tell(false);
  std::this_thread::sleep_for(kQuiet);
  trainer.stop();
  destroy(exec);

  answers.expect(measured == kClones,
                 text_of("23: %d of %d timed clones of %d nodes were made, uploaded and replayed "
                         "while another thread replayed",
                         measured, kClones, kNodes));
  std::string words;
  for (std::size_t i = 0; i < kSteps.size(); ++i)
    words += text_of("%s %s %.0f us", i == 0 ? "" : ",", kSteps[i], median(steps_us[i]));
  answers.figure("23: host time of one:" + words);
  // The clones are replayed, too: their kernels are part of what the other thread notices.
  for (const bool beside_cloning : {false, true}) {
    const std::vector<double>& us = trainer.us(beside_cloning);
    if (us.empty()) continue;
    answers.figure(
        text_of("23: iteration of the other thread, %s: median %.0f us, p95 %.0f, "
                "longest %.0f",
                beside_cloning ? "beside cloning" : "alone", median(us), percentile(us, 0.95),
                percentile(us, 1)));
  }
}

struct Memory {
  double host_bytes = 0;    // resident
  double device_bytes = 0;  // taken, by whomever
};

Memory memory_now() {
  std::ifstream statm("/proc/self/statm");
  double size_pages = 0;
  double resident_pages = 0;
  statm >> size_pages >> resident_pages;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return {.host_bytes = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)),
          .device_bytes = static_cast<double>(total_bytes - free_bytes)};
}

void memory_of_clones(const Spins& spins, Answers& answers) {
  const Chain chain(spins, kNodes);
  const auto tell = [&](const char* what, const Memory& before, const Memory& after,
                        const char* more) {
    constexpr double kAllNodes = static_cast<double>(kNodes) * kClones;
    answers.figure(text_of("24: %s: %.0f bytes of host memory a node, %.0f of device memory%s",
                           what, (after.host_bytes - before.host_bytes) / kAllNodes,
                           (after.device_bytes - before.device_bytes) / kAllNodes, more));
  };
  std::vector<CUgraph> clones;
  std::vector<CUgraphExec> execs;
  const Memory at_first = memory_now();
  for (int i = 0; i < kClones; ++i)
    clones.push_back(cloned(chain.graph));
  const Memory with_clones = memory_now();
  for (CUgraph clone : clones)
    execs.push_back(instantiated(clone));
  for (CUgraphExec exec : execs)
    check(cuGraphUpload(exec, spins.stream()), "cuGraphUpload");
  spins.wait();
  const Memory with_execs = memory_now();
  tell("clone", at_first, with_clones, "");
  tell("its exec, uploaded", with_clones, with_execs, "");
  tell("clone and exec", at_first, with_execs,
       text_of("; the injected library reckons with %.0f", kGuessedBytesPerNode).c_str());
  for (CUgraphExec exec : execs)
    destroy(exec);
  for (CUgraph clone : clones)
    destroy(clone);
}

void CUDA_CB count_destruction(void* counter) {
  ++*static_cast<std::atomic<int>*>(counter);
}

// Expects that an object that a graph retains lives as long as the graph's clone.
void user_objects(const Spins& spins, Answers& answers) {
  static std::atomic<int> destroyed{0};
  const Chain chain(spins, 3);
  CUuserObject object = nullptr;
  check(cuUserObjectCreate(&object, &destroyed, count_destruction, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate");
  check(cuGraphRetainUserObject(chain.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
        "cuGraphRetainUserObject");
  CUgraph clone = cloned(chain.graph);
  CUgraphExec exec = instantiated(clone);
  const auto destroyed_without = [&](auto handle) {
    destroy(handle);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(100));  // a thread of the driver's does it
    return destroyed.load();
  };
  const int with_clone = destroyed_without(chain.graph);
  const int with_exec = destroyed_without(clone);
  const int with_none = destroyed_without(exec);
  answers.expect(with_clone == 0 && with_none == 1,
                 text_of("25: a clone keeps the user objects of its original: destroyed %d times "
                         "while clone and exec were there, %d with the exec alone, %d after all",
                         with_clone, with_exec, with_none));
}

}  // namespace

int main() {
  skip_without_gpu();
  const Spins spins;
  Answers answers;
  memory_of_clones(spins, answers);  // first: what others gave back would hide growth
  clone_while_training(spins, answers);
  user_objects(spins, answers);

  const double empty_us = empty_pair_us(spins);
  answers.figure(text_of("26, 48: empty pair of event nodes %.2f us", empty_us));
  node_times("chain", in_chain, spins, empty_us, answers);
  node_times("branch", in_branch, spins, empty_us, answers);
  Subject long_chain;
  long_chain.node = spins.add_chain(long_chain.graph, {}, kShort, 400)[200];
  rest_of_graph("a chain of 400 nodes", long_chain, spins, empty_us, answers);
  rest_of_graph("a graph whose other branch is the longer", in_branch(spins, kShort, nullptr),
                spins, empty_us, answers);
  other_events(spins, answers);
  return answers.exit_status();
}
