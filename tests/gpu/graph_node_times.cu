// What the two event nodes around a node of a graph measure, and what they cost the rest of it
// (docs/gpu_results.md, section "Graphs").  Prints the lines of answers.hpp.
//
// Kernels of known length stand in a chain and in a branch; each says by the GPU's global timer how
// long it took.  The simulated GPU runs no kernel, so that there the length stands that was asked
// for, and its model (graph_rehearsal_model.json) makes it true.
#include "spin_graphs.cuh"

#include <cmath>
#include <functional>

namespace {

using namespace inline_prof::gpu_test;

constexpr int kWarmUps = 10;  // as the injected library drops them
constexpr int kReplays = 40;
constexpr double kEventResolutionUs = 0.5;  // cuda.h, cuEventElapsedTime

// Places in spin_lengths().
constexpr std::size_t kShort = 0;
constexpr std::size_t kBeside = 5;
constexpr std::size_t kHold = 5;
constexpr std::size_t kLongHold = 8;

double length_us(std::size_t length) {
  return spin_lengths()[length].us;
}

// Where a kernel notes its times.
class Note {
 public:
  Note() { check(cudaMalloc(&times_, sizeof *times_), "cudaMalloc"); }
  ~Note() { static_cast<void>(cudaFree(times_)); }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  void expect(double us) {
    const KernelTimes times{0, static_cast<std::uint64_t>(us * 1e3)};
    check(cudaMemcpy(times_, &times, sizeof times, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  [[nodiscard]] double us() const {
    KernelTimes times{};
    check(cudaMemcpy(&times, times_, sizeof times, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return static_cast<double>(times.last_ns - times.first_ns) * 1e-3;
  }
  [[nodiscard]] KernelTimes* times() const { return times_; }

 private:
  KernelTimes* times_ = nullptr;
};

// A graph, and its node that is to be timed.
struct Subject {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
};

Subject in_chain(const SpinGraphs& spins, std::size_t length, KernelTimes* times) {
  Subject subject;
  check(cuGraphCreate(&subject.graph, 0), "cuGraphCreate");
  const Nodes before = spins.add_chain(subject.graph, {}, kShort, 5);
  subject.node = spins.add(subject.graph, {before.back()}, length, times);
  spins.add_chain(subject.graph, {subject.node}, kShort, 5);
  return subject;
}

// Beside the node runs another branch, of 100 us; both begin and end together.
Subject in_branch(const SpinGraphs& spins, std::size_t length, KernelTimes* times) {
  Subject subject;
  check(cuGraphCreate(&subject.graph, 0), "cuGraphCreate");
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
  std::vector<double> inner_us;
};

// Replays the graph and its timed clone in turn, so that a drift of the clocks falls on both alike.
Replays replay(const SpinGraphs& spins, const Subject& subject, const Note& note) {
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
    check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
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
    replays.inner_us.push_back(note.us());
  }
  check(cuGraphExecDestroy(timed), "cuGraphExecDestroy");
  check(cuGraphExecDestroy(plain), "cuGraphExecDestroy");
  check(cuGraphDestroy(clone), "cuGraphDestroy");
  return replays;
}

// What the injected library's calibration calls the empty pair of state `graph`.
double empty_pair_us(const SpinGraphs& spins) {
  const EventPair pair;
  CUgraph graph = nullptr;
  CUgraphNode start = nullptr;
  CUgraphNode stop = nullptr;
  check(cuGraphCreate(&graph, 0), "cuGraphCreate");
  check(cuGraphAddEventRecordNode(&start, graph, nullptr, 0, pair.start), "add event node");
  check(cuGraphAddEventRecordNode(&stop, graph, &start, 1, pair.stop), "add event node");
  CUgraphExec exec = instantiated(graph);
  std::vector<double> pairs_us;
  for (int i = 0; i < kWarmUps + kReplays; ++i) {
    check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
    check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
    if (i >= kWarmUps) pairs_us.push_back(pair.us());
  }
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  check(cuGraphDestroy(graph), "cuGraphDestroy");
  return median(pairs_us);
}

// The timer steps by up to a microsecond: a mean is finer than its values.
double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

using Shape = std::function<Subject(const SpinGraphs&, std::size_t, KernelTimes*)>;

// The pair less the empty pair exceeds the kernel's own time by what its start and end take, the
// same for every length.
void node_times(const char* name, const Shape& shape, const SpinGraphs& spins, double empty_us,
                Answers& answers) {
  Note note;
  std::string excesses;
  double first_excess_us = 0;
  bool is_so = true;
  for (std::size_t length = 0; length < kSpinLengths; ++length) {
    note.expect(length_us(length));
    const Subject subject = shape(spins, length, note.times());
    const Replays replays = replay(spins, subject, note);
    check(cuGraphDestroy(subject.graph), "cuGraphDestroy");
    const double pair_us = median(replays.pair_us);
    const double inner_us = mean(replays.inner_us);
    const double excess_us = pair_us - empty_us - inner_us;
    if (length == 0) first_excess_us = excess_us;
    is_so = is_so && pair_us >= inner_us - kEventResolutionUs &&
            std::abs(excess_us - first_excess_us) <= kEventResolutionUs + 0.01 * inner_us;
    excesses += text_of("%s %g us %+.2f", length == 0 ? "" : ",", length_us(length), excess_us);
  }
  answers.expect(is_so,
                 text_of("48: a node in a %s reads its kernel's length and the same excess (us, "
                         "less the empty pair):%s",
                         name, excesses.c_str()));
}

// The two event nodes cost what they take themselves, and nothing at the other nodes.
void rest_of_graph(const char* name, const Subject& subject, const SpinGraphs& spins,
                   double empty_us, Answers& answers) {
  const Note unused;
  const Replays replays = replay(spins, subject, unused);
  const double whole_us = median(replays.whole_us);
  const double timed_us = median(replays.timed_whole_us);
  constexpr double kAllowedUs = 5;  // at each of 400 nodes, 0.0125 us
  answers.expect(timed_us - whole_us <= empty_us + kAllowedUs,
                 text_of("26: %s takes %.2f us, with two event nodes %.2f us (%+.2f)", name,
                         whole_us, timed_us, timed_us - whole_us));
}

bool is_recorded(const EventPair& pair, double* us) {
  float ms = 0;
  const CUresult result = cuEventElapsedTime(&ms, pair.start, pair.stop);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_HANDLE) {
    check(result, "cuEventElapsedTime");
  }
  *us = static_cast<double>(ms) * 1e3;
  return result == CUDA_SUCCESS;
}

// A launch that waits on the stream keeps the events that it was launched with.
void other_events(const SpinGraphs& spins, Answers& answers) {
  const EventPair first;
  const EventPair second;
  const Subject subject = in_chain(spins, kShort, nullptr);
  CUgraph clone = cloned(subject.graph);
  const TimedClone timed = put_events_around(clone, subject.node, first);
  CUgraphExec exec = instantiated(clone);
  for (int i = 0; i < 5; ++i)
    spins.hold(kLongHold);
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
  check(cuGraphExecEventRecordNodeSetEvent(exec, timed.start_node, second.start), "set event");
  check(cuGraphExecEventRecordNodeSetEvent(exec, timed.stop_node, second.stop), "set event");
  const bool was_waiting = cuStreamQuery(spins.stream()) == CUDA_ERROR_NOT_READY;
  check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
  double first_us = 0;
  double first_again_us = 0;
  double second_us = 0;
  const bool first_has_first = is_recorded(first, &first_us);
  const bool second_has_first = is_recorded(second, &second_us);
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch");
  check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
  const bool second_has_second = is_recorded(second, &second_us);
  const bool is_kept = is_recorded(first, &first_again_us) && first_again_us == first_us;
  answers.expect(
      was_waiting && first_has_first && !second_has_first && second_has_second && is_kept,
      text_of("49: other events for an exec hold from the next launch on: changed while a launch "
              "waited %d, that launch recorded the old ones %d and the new ones %d, the next one "
              "the new ones %d and left the old ones %d",
              was_waiting, first_has_first, second_has_first, second_has_second, is_kept));
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
}

}  // namespace

int main() {
  skip_without_gpu();
  const SpinGraphs spins;
  Answers answers;
  const double empty_us = empty_pair_us(spins);
  answers.figure(text_of("26, 48: empty pair of event nodes %.2f us", empty_us));
  node_times("chain", in_chain, spins, empty_us, answers);
  node_times("branch", in_branch, spins, empty_us, answers);

  Subject long_chain;
  check(cuGraphCreate(&long_chain.graph, 0), "cuGraphCreate");
  long_chain.node = spins.add_chain(long_chain.graph, {}, kShort, 400)[200];
  rest_of_graph("a chain of 400 nodes", long_chain, spins, empty_us, answers);
  rest_of_graph("a graph whose other branch is the longer", in_branch(spins, kShort, nullptr),
                spins, empty_us, answers);
  other_events(spins, answers);
  return answers.exit_status();
}
