// What the header does not say about clones of graphs (docs/gpu_results.md, section "Graphs"):
//
//   whether they can be made and uploaded while another thread replays, and what that thread
//   notices what they take of the application's and the device's memory whether they keep the user
//   objects of their original
//
// Prints the lines of answers.hpp.
#include "spin_graphs.cuh"

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace {

using namespace inline_prof::gpu_test;
using Clock = std::chrono::steady_clock;

constexpr int kNodes = 2000;
constexpr int kTrainedNodes = 200;
constexpr int kClones = 10;
constexpr std::size_t kShortest = 0;           // place in spin_lengths()
constexpr double kGuessedBytesPerNode = 1024;  // kBytesPerNode of graphs/graph_registry.cpp

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Chain {
  CUgraph graph = nullptr;
  Nodes nodes;  // in order
};

Chain chain_of(const SpinGraphs& spins, int count) {
  Chain chain;
  check(cuGraphCreate(&chain.graph, 0), "cuGraphCreate");
  chain.nodes = spins.add_chain(chain.graph, {}, kShortest, count);
  return chain;
}

// A training loop as small as can be: replays one graph and waits for it, on a thread of its own.
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

  // Of iterations during which nobody or somebody cloned, from start to end; after stop().
  [[nodiscard]] const std::vector<double>& us(bool somebody_clones) const {
    return us_[somebody_clones ? 1 : 0];
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

// Host times of the steps that the injected library takes on its own thread.
struct Steps {
  std::vector<double> clone_us;
  std::vector<double> events_us;
  std::vector<double> instantiate_us;
  std::vector<double> upload_us;  // until it is done
  std::vector<double> destroy_us;
};

// One timed clone of `chain`, from its making to its end; returns the time of the pair inside.
double make_and_replay(const Chain& chain, const SpinGraphs& spins, Steps& steps) {
  const EventPair pair;
  auto start = Clock::now();
  const auto lap = [&](std::vector<double>& times_us) {
    times_us.push_back(us_since(start));
    start = Clock::now();
  };
  CUgraph clone = cloned(chain.graph);
  lap(steps.clone_us);
  put_events_around(clone, chain.nodes[kNodes / 2], pair);
  lap(steps.events_us);
  CUgraphExec exec = instantiated(clone);
  lap(steps.instantiate_us);
  check(cuGraphUpload(exec, spins.stream()), "cuGraphUpload");
  check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
  lap(steps.upload_us);
  check(cuGraphLaunch(exec, spins.stream()), "cuGraphLaunch of a clone");
  check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
  start = Clock::now();
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  check(cuGraphDestroy(clone), "cuGraphDestroy");
  lap(steps.destroy_us);
  return pair.us();
}

void clone_while_training(const SpinGraphs& spins, Answers& answers) {
  const Chain trained = chain_of(spins, kTrainedNodes);
  const Chain chain = chain_of(spins, kNodes);
  Steps first;  // pays for what the driver does once
  static_cast<void>(make_and_replay(chain, spins, first));

  constexpr auto kQuiet = std::chrono::milliseconds(300);
  CUgraphExec exec = instantiated(trained.graph);
  Trainer trainer(exec);
  std::this_thread::sleep_for(kQuiet);
  Steps steps;
  int measured = 0;
  trainer.tell(true);
  for (int i = 0; i < kClones; ++i) {
    if (make_and_replay(chain, spins, steps) > 0) ++measured;
  }
  trainer.tell(false);
  std::this_thread::sleep_for(kQuiet);
  trainer.stop();
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");

  answers.expect(
      measured == kClones,
      text_of("23: %d of %d timed clones of %d nodes were made, uploaded and replayed while "
              "another thread replayed",
              measured, kClones, kNodes));
  answers.figure(
      text_of("23: host time of one: clone %.0f us, event nodes %.0f, instantiate %.0f, "
              "upload %.0f, destroy %.0f",
              median(steps.clone_us), median(steps.events_us), median(steps.instantiate_us),
              median(steps.upload_us), median(steps.destroy_us)));
  const auto& quiet = trainer.us(false);
  const auto& busy = trainer.us(true);
  if (quiet.empty() || busy.empty()) {
    answers.figure(text_of("23: iterations beside cloning: %zu, alone: %zu; nothing to compare",
                           busy.size(), quiet.size()));
    return;
  }
  // The clones are replayed, too: their kernels are part of what the other thread notices.
  answers.figure(
      text_of("23: iteration of the other thread (median, p95, longest): alone %.0f us, "
              "%.0f, %.0f; beside cloning %.0f us, %.0f, %.0f",
              median(quiet), percentile(quiet, 0.95), percentile(quiet, 1), median(busy),
              percentile(busy, 0.95), percentile(busy, 1)));
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

void memory_of_clones(const SpinGraphs& spins, Answers& answers) {
  const Chain chain = chain_of(spins, kNodes);
  const auto tell = [&](const char* what, const Memory& before, const Memory& after) {
    constexpr double kAllNodes = static_cast<double>(kNodes) * kClones;
    answers.figure(
        text_of("24: %s: %.0f bytes of host memory a node, %.0f of device memory (%d of %d "
                "nodes)",
                what, (after.host_bytes - before.host_bytes) / kAllNodes,
                (after.device_bytes - before.device_bytes) / kAllNodes, kClones, kNodes));
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
  check(cuStreamSynchronize(spins.stream()), "cuStreamSynchronize");
  const Memory with_execs = memory_now();
  tell("clone", at_first, with_clones);
  tell("its exec, uploaded", with_clones, with_execs);
  const double both = (with_execs.host_bytes - at_first.host_bytes) / kNodes / kClones;
  answers.figure(text_of(
      "24: clone and exec: %.0f bytes of host memory a node; the injected library reckons with "
      "%.0f",
      both, kGuessedBytesPerNode));
  for (CUgraphExec exec : execs)
    check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  for (CUgraph clone : clones)
    check(cuGraphDestroy(clone), "cuGraphDestroy");
}

void CUDA_CB count_destruction(void* counter) {
  ++*static_cast<std::atomic<int>*>(counter);
}

// Whether an object that a graph retains ends with the graph, its clone, or the clone's exec.
void user_objects(const SpinGraphs& spins, Answers& answers) {
  static std::atomic<int> destroyed{0};
  const Chain chain = chain_of(spins, 3);
  CUuserObject object = nullptr;
  check(cuUserObjectCreate(&object, &destroyed, count_destruction, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate");
  check(cuGraphRetainUserObject(chain.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
        "cuGraphRetainUserObject");
  CUgraph clone = cloned(chain.graph);
  CUgraphExec exec = instantiated(clone);
  const auto destroyed_by_now = [&] {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(100));  // a thread of the driver's does it
    return destroyed.load();
  };
  check(cuGraphDestroy(chain.graph), "cuGraphDestroy");
  const int with_clone = destroyed_by_now();
  check(cuGraphDestroy(clone), "cuGraphDestroy");
  const int with_exec = destroyed_by_now();
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  const int with_none = destroyed_by_now();
  answers.expect(
      with_clone == 0 && with_none == 1,
      text_of("25: a clone keeps the user objects of its original: destroyed %d times while "
              "clone and exec were there, %d with the exec alone, %d after all",
              with_clone, with_exec, with_none));
}

}  // namespace

int main() {
  skip_without_gpu();
  const SpinGraphs spins;
  Answers answers;
  memory_of_clones(spins, answers);  // first: what others gave back would hide growth
  clone_while_training(spins, answers);
  user_objects(spins, answers);
  return answers.exit_status();
}
