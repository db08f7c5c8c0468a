// Iterations that do not always launch the same, on the driver API:
//
//   host_phases [--marks] [--asks] [--kill] [--times=N] STAGE...
//
// A stage is NAME:KERNELS:ITERATIONS, with further words behind it, each after a colon:
//   graph    its iterations replay a graph, which is captured as the stage begins for the first
//            time; its kernels have layers, the last two a label
//   grid=N   thread blocks of its kernels
//   one=N    the same of the first of them alone
//   pause=N  microseconds that the program sleeps after an iteration
//   random   an iteration launches kernels drawn from 200
//   empty    an iteration launches nothing
//   marked   an iteration begins with PROFILE_ITERATION
// An iteration launches first_, the stage's kernels NAME_0_ ... and last_, and waits.  With
// `--marks` it begins with PROFILE_ITERATION; with `--asks` the program asks as our Python package
// does.  The stages run N times one after the other.  Prints "host ok" if the program has no
// children, or with `--kill` ends by SIGKILL.
#include "host.hpp"

#include <sstream>

namespace {

constexpr int kRandomKernels = 200;

volatile std::sig_atomic_t child_signals = 0;

struct Stage {
  std::string name;
  int kernels = 0;
  int iterations = 0;
  bool is_graph = false;
  bool is_random = false;
  bool is_empty = false;
  bool is_marked = false;
  unsigned grid = 0;
  unsigned first_grid = 0;
  unsigned pause_us = 0;
};

Stage stage_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> parts;
  for (std::string word; std::getline(words, word, ':');)
    parts.push_back(word);
  host::Arguments more({parts.begin() + 3, parts.end()});
  Stage stage;
  stage.name = parts[0];
  stage.kernels = std::stoi(parts[1]);
  stage.iterations = std::stoi(parts[2]);
  stage.is_graph = more.has("graph");
  stage.is_random = more.has("random");
  stage.is_empty = more.has("empty");
  stage.is_marked = more.has("marked");
  stage.grid = static_cast<unsigned>(more.number("grid", 16));
  stage.first_grid = static_cast<unsigned>(more.number("one", static_cast<int>(stage.grid)));
  stage.pause_us = static_cast<unsigned>(more.number("pause", 0));
  more.expect_none_left();
  return stage;
}

class Program {
 public:
  Program() : stream_(host::open_stream()), ends_(host::load_kernels({"first_", "last_"})) {}

  void run(const Stage& stage, bool marks) {
    const auto& kernels = kernels_of(stage);
    if (stage.is_graph && !graphs_.contains(stage.name)) graphs_[stage.name] = capture(kernels);
    for (int i = 0; i < stage.iterations; ++i) {
      if (marks || stage.is_marked) PROFILE_ITERATION();
      if (stage.is_empty) continue;
      if (stage.is_graph) {
        CHECK(cuGraphLaunch(graphs_[stage.name], stream_));
      } else {
        launch(ends_[0], stage.grid);
        for (int k = 0; k < stage.kernels; ++k)
          launch(kernels[stage.is_random ? draw() : static_cast<std::size_t>(k)],
                 k == 0 ? stage.first_grid : stage.grid);
        launch(ends_[1], stage.grid);
      }
      CHECK(cuStreamSynchronize(stream_));
      if (stage.pause_us > 0) usleep(stage.pause_us);
    }
  }

 private:
  void launch(CUfunction kernel, unsigned grid) { host::launch(kernel, stream_, grid, 128); }

  std::size_t draw() {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(random_ >> 33U) % kRandomKernels;
  }

  const std::vector<CUfunction>& kernels_of(const Stage& stage) {
    auto& kernels = kernels_[stage.name];
    if (!kernels.empty()) return kernels;
    const int count = stage.is_random ? kRandomKernels : stage.kernels;
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      names.push_back(stage.name + "_" + std::to_string(i) + "_");
    return kernels = host::load_kernels(names);
  }

  CUgraphExec capture(const std::vector<CUfunction>& kernels) {
    CUgraph graph = host::captured(stream_, [&] {
      for (std::size_t i = 0; i + 2 < kernels.size(); ++i) {
        const std::string block = "block" + std::to_string(i / 4);
        PROFILE_SCOPE(block.c_str(), stream_);
        launch(kernels[i], 16);
      }
      PROFILE_RECORD("loss.start", stream_);
      launch(kernels[kernels.size() - 2], 16);
      launch(kernels[kernels.size() - 1], 16);
      PROFILE_RECORD("loss.stop", stream_);
    });
    CUgraphExec exec = host::instantiated(graph);
    CHECK(cuGraphDestroy(graph));
    return exec;
  }

  CUstream stream_;
  std::vector<CUfunction> ends_;
  std::map<std::string, std::vector<CUfunction>> kernels_;
  std::map<std::string, CUgraphExec> graphs_;
  std::uint64_t random_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  host::Arguments arguments(argc, argv);
  const bool marks = arguments.has("--marks");
  if (arguments.has("--asks")) static_cast<void>(inline_prof_table()->wants());
  const bool is_killed = arguments.has("--kill");
  const int times = arguments.number("--times", 1);
  std::vector<Stage> stages;
  for (const std::string& stage : arguments.left())
    stages.push_back(stage_of(stage));
  std::signal(SIGCHLD, [](int) { child_signals = child_signals + 1; });
  host::open_context();
  Program program;
  for (int i = 0; i < times; ++i) {
    for (const Stage& stage : stages)
      program.run(stage, marks);
  }
  if (is_killed) std::raise(SIGKILL);
  if (child_signals > 0) host::fail("SIGCHLD", child_signals);
  if (waitpid(-1, nullptr, WNOHANG | __WALL) != -1) host::fail("a child", 1);
  return host::finish();
}
