// The frame of an example: its training loop, and its exit status.
#pragma once

#include <functional>

namespace example {

struct TrainingRun {
  int iterations = 0;
  int batch = 0;
  const char* unit = "samples";            // of the batch
  std::function<void()> train_step;        // queues one iteration
  std::function<double()> take_mean_loss;  // since the last call; waits for the GPU
  int enough_iterations = 0;               // with fewer, noise hides the progress
  std::function<bool(double first, double last)> has_learnt;  // compares losses of two parts
};

// Trains, prints the mean loss of each part of the run and the time of all, and checks that the
// loss fell.  Returns the exit status.  On the simulated GPU values are not computed, nor checked.
int train_and_check(const TrainingRun& run);

// Returns the result of `work`; an exception becomes a message on stderr and exit status 1.
int run_program(const char* name, const std::function<int()>& work);

}  // namespace example
