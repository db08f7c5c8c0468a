// Replays two CUDA graphs an iteration, on two streams: a training step of the DLRM of
// examples/dlrm, and a transformer block.
//
// Exit status: 0 done, 1 a result is not finite or a call failed, 2 the command line is wrong.
#include "base/command_line.hpp"
#include "device.hpp"
#include "model.hpp"
#include "training.hpp"
#include "transformer.hpp"

#include <inline_prof/profile.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

struct Options {
  int batch = 1024;
  int iterations = 30000;
  int device = 0;
};

// Work of one stream, recorded once and replayed.
class Replayed {
 public:
  template <typename Work>
  Replayed(const dlrm::Gpu& gpu, const Work& work) : gpu_(gpu) {
    // cuBLAS prepares itself at its first calls, which a capture may not contain.
    work();
    EXAMPLE_CHECK(cudaStreamSynchronize(gpu.stream()));
    cudaGraph_t graph = nullptr;
    EXAMPLE_CHECK(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal));
    work();
    EXAMPLE_CHECK(cudaStreamEndCapture(gpu.stream(), &graph));
    EXAMPLE_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes_));
    EXAMPLE_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    EXAMPLE_CHECK(cudaGraphDestroy(graph));
  }
  ~Replayed() { static_cast<void>(cudaGraphExecDestroy(exec_)); }
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

  void replay() const { EXAMPLE_CHECK(cudaGraphLaunch(exec_, gpu_.stream())); }
  std::size_t nodes() const { return nodes_; }

 private:
  const dlrm::Gpu& gpu_;
  cudaGraphExec_t exec_ = nullptr;
  std::size_t nodes_ = 0;
};

// The application stays this far ahead of the GPU.
constexpr int kIterationsAhead = 50;

bool is_finite(const dlrm::Gpu& gpu, const graph_example::Halves& values) {
  std::vector<__half> copy(values.count());
  example::copy_on(gpu.stream(), values.data(), copy.data(), values.bytes());
  for (const __half value : copy) {
    if (!std::isfinite(__half2float(value))) return false;
  }
  return true;
}

int run(const Options& options) {
  const dlrm::Gpu gpu(options.device);
  const dlrm::Gpu second(options.device);  // the same device, another stream
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  dlrm::Model model(gpu, {options.batch, 26, 4096, 1, 128}, 0.1F, 1);
  graph_example::TransformerBlock block(second, {}, 7);

  const Replayed step(gpu, [&] { model.train_step(); });
  const Replayed forward(second, [&] {
    PROFILE_SCOPE("block1", second.stream());
    block.forward();
  });
  std::printf("graphs of %zu and %zu nodes\n", step.nodes(), forward.nodes());

  const auto start = std::chrono::steady_clock::now();
  for (int iteration = 1; iteration <= options.iterations; ++iteration) {
    PROFILE_ITERATION();
    step.replay();
    forward.replay();
    if (iteration % kIterationsAhead == 0) EXAMPLE_CHECK(cudaDeviceSynchronize());
  }
  EXAMPLE_CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d iterations in %.2f s\n", options.iterations, seconds.count());

  if (example::is_simulated()) {
    std::printf("simulated GPU: values are not computed, results not checked\n");
    return 0;
  }
  const bool is_good = std::isfinite(model.take_mean_loss()) && is_finite(second, block.values());
  std::printf("%s: results are %sfinite\n", is_good ? "PASS" : "FAIL", is_good ? "" : "not ");
  return is_good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  using namespace inline_prof::cli;
  const auto status =
      parse({.name = "graph",
             .description = "Replays a DLRM training step and a transformer block as CUDA graphs."},
            argc, argv, [&options](Command& app) {
              app.add_option("--batch", options.batch, "Samples per iteration of the DLRM")
                  .check(between(1, 1 << 16))
                  .shows_default();
              app.add_option("--iterations", options.iterations, "Replays of each graph")
                  .check(between(1, 1 << 30))
                  .shows_default();
              app.add_option("--device", options.device, "CUDA device")
                  .check(not_negative())
                  .shows_default();
            });
  return status ? *status : example::run_program("graph", [&] { return run(options); });
}
