#include "training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace example {
namespace {

// Reports of a run.  Few, because each waits for the GPU.
constexpr int kReports = 10;

}  // namespace

std::vector<double> train(const TrainingRun& run, int batch, const char* unit) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> losses;
  int done = 0;
  for (int report = 1; report <= kReports; ++report) {
    const int end = static_cast<int>(static_cast<long>(run.iterations) * report / kReports);
    if (end == done) continue;
    for (; done < end; ++done)
      run.train_step();
    losses.push_back(run.take_mean_loss());
    if (run.has_losses) std::printf("iteration %6d  loss %.5f\n", done, losses.back());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d iterations of %d %s in %.2f s\n", run.iterations, batch, unit, seconds.count());
  return losses;
}

int check_losses(const std::vector<double>& losses, int iterations, int enough_iterations,
                 const std::function<bool(double first, double last)>& has_learnt) {
  if (!std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); })) {
    std::printf("FAIL: the loss is not a number\n");
    return 1;
  }
  if (iterations < enough_iterations) {
    std::printf("loss not checked: that takes %d iterations\n", enough_iterations);
    return 0;
  }
  const bool good = has_learnt(losses.front(), losses.back());
  std::printf("%s: loss %.5f -> %.5f\n", good ? "PASS" : "FAIL", losses.front(), losses.back());
  return good ? 0 : 1;
}

}  // namespace example
