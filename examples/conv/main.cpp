// Trains a block of convolutions and says whether the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "block.hpp"
#include "gpu.hpp"
#include "options.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

namespace {

// Reports of a run.  Few, because each waits for the GPU.
constexpr int kReports = 10;

// Below this the first steps still weigh in the means that are compared.
constexpr int kIterationsForCheck = 100;

// Trains, and gives the mean loss of each part of the run.
std::vector<double> train(conv::Block& block, int iterations, bool has_losses) {
  std::vector<double> losses;
  int done = 0;
  for (int report = 1; report <= kReports; ++report) {
    const int end = static_cast<int>(static_cast<long>(iterations) * report / kReports);
    if (end == done) continue;
    for (; done < end; ++done)
      block.train_step();
    losses.push_back(block.take_mean_loss());
    if (has_losses) std::printf("iteration %6d  loss %.5f\n", done, losses.back());
  }
  return losses;
}

// Says PASS or FAIL, or why neither.  Returns the exit status.
int check(const std::vector<double>& losses, int iterations) {
  if (!std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); })) {
    std::printf("FAIL: the loss is not a number\n");
    return 1;
  }
  if (iterations < kIterationsForCheck) {
    std::printf("loss not checked: that takes %d iterations\n", kIterationsForCheck);
    return 0;
  }
  const bool has_learnt = losses.back() < 0.9 * losses.front();
  std::printf("%s: loss %.5f -> %.5f\n", has_learnt ? "PASS" : "FAIL", losses.front(),
              losses.back());
  return has_learnt ? 0 : 1;
}

int run(const conv::Options& options) {
  const conv::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  conv::Block block(gpu, options.shape(), options.learning_rate, options.seed);

  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> losses = train(block, options.iterations, !gpu.is_simulated());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d iterations of %d images in %.2f s\n", options.iterations, options.batch,
              seconds.count());

  if (gpu.is_simulated()) {
    std::printf("simulated GPU: values are not computed, loss not checked\n");
    return 0;
  }
  return check(losses, options.iterations);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    conv::Options options;
    const std::optional<int> status = conv::parse_options(argc, argv, options);
    return status ? *status : run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conv: %s\n", error.what());
    return 1;
  }
}
