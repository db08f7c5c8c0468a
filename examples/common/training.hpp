// A training run whose progress is seen in its loss.
#pragma once

#include <functional>
#include <vector>

namespace example {

struct TrainingRun {
  int iterations = 0;
  bool has_losses = true;                  // false: values are not computed
  std::function<void()> train_step;        // queues one iteration
  std::function<double()> take_mean_loss;  // since the last call; waits for the GPU
};

// Trains, prints the mean loss of each part of the run and how long all took; gives those losses.
// `unit`: what `batch` counts, as in "samples".
std::vector<double> train(const TrainingRun& run, int batch, const char* unit);

// Says PASS or FAIL, or why neither; returns the exit status.  Below `enough_iterations` what was
// learnt cannot be told from noise.  `has_learnt(first, last)` compares the losses of two parts.
int check_losses(const std::vector<double>& losses, int iterations, int enough_iterations,
                 const std::function<bool(double first, double last)>& has_learnt);

}  // namespace example
