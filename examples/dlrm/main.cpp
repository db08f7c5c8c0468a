// Trains a small DLRM and says whether the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "gpu.hpp"
#include "model.hpp"
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

// Below this the noise of a batch hides what was learnt.
constexpr int kIterationsForCheck = 500;

// Trains, and gives the mean loss of each part of the run.
std::vector<double> train(dlrm::Model& model, int iterations, bool has_losses) {
  std::vector<double> losses;
  int done = 0;
  for (int report = 1; report <= kReports; ++report) {
    const int end = static_cast<int>(static_cast<long>(iterations) * report / kReports);
    if (end == done) continue;
    for (; done < end; ++done)
      model.train_step();
    losses.push_back(model.take_mean_loss());
    if (has_losses) std::printf("iteration %6d  loss %.4f\n", done, losses.back());
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
  // A rule without any knowledge of the sample has a loss of ln 2.
  const bool has_learnt = losses.back() < losses.front() && losses.back() < 0.95 * std::log(2.0);
  std::printf("%s: loss %.4f -> %.4f\n", has_learnt ? "PASS" : "FAIL", losses.front(),
              losses.back());
  return has_learnt ? 0 : 1;
}

int run(const dlrm::Options& options) {
  const dlrm::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  dlrm::Model model(gpu, options.shape(), options.learning_rate, options.seed);

  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> losses = train(model, options.iterations, !gpu.is_simulated());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d iterations of %d samples in %.2f s\n", options.iterations, options.batch,
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
    dlrm::Options options;
    const std::optional<int> status = dlrm::parse_options(argc, argv, options);
    return status ? *status : run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlrm: %s\n", error.what());
    return 1;
  }
}
