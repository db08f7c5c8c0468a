#include "training.hpp"

#include "device.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace example {
namespace {

constexpr int kReports = 10;  // few, because each waits for the GPU

std::vector<double> train(const TrainingRun& run, bool has_losses) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> losses;
  int done = 0;
  for (int report = 1; report <= kReports; ++report) {
    const int end = static_cast<int>(static_cast<long>(run.iterations) * report / kReports);
    if (end == done) continue;
    for (; done < end; ++done)
      run.train_step();
    losses.push_back(run.take_mean_loss());
    if (has_losses) std::printf("iteration %6d  loss %.5f\n", done, losses.back());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d iterations of %d %s in %.2f s\n", run.iterations, run.batch, run.unit,
              seconds.count());
  return losses;
}

}  // namespace

int train_and_check(const TrainingRun& run) {
  const bool has_losses = !is_simulated();
  const std::vector<double> losses = train(run, has_losses);
  if (!has_losses) {
    std::printf("simulated GPU: values are not computed, loss not checked\n");
    return 0;
  }
  if (!std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); })) {
    std::printf("FAIL: the loss is not a number\n");
    return 1;
  }
  if (run.iterations < run.enough_iterations) {
    std::printf("loss not checked: that takes %d iterations\n", run.enough_iterations);
    return 0;
  }
  const bool good = run.has_learnt(losses.front(), losses.back());
  std::printf("%s: loss %.5f -> %.5f\n", good ? "PASS" : "FAIL", losses.front(), losses.back());
  return good ? 0 : 1;
}

int run_program(const char* name, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace example
