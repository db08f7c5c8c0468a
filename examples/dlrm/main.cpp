// Trains a small DLRM and says whether the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "device.hpp"
#include "gpu.hpp"
#include "model.hpp"
#include "options.hpp"
#include "training.hpp"

#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

namespace {

// Below this the noise of a batch hides what was learnt.
constexpr int kIterationsForCheck = 500;

bool has_learnt(double first, double last) {
  // A rule without any knowledge of the sample has a loss of ln 2.
  return last < first && last < 0.95 * std::log(2.0);
}

int run(const dlrm::Options& options) {
  const dlrm::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  dlrm::Model model(gpu, options.shape(), options.learning_rate, options.seed);
  const bool is_simulated = example::is_simulated();

  const std::vector<double> losses =
      example::train({.iterations = options.iterations,
                      .has_losses = !is_simulated,
                      .train_step = [&] { model.train_step(); },
                      .take_mean_loss = [&] { return model.take_mean_loss(); }},
                     options.batch, "samples");
  if (is_simulated) {
    std::printf("simulated GPU: values are not computed, loss not checked\n");
    return 0;
  }
  return example::check_losses(losses, options.iterations, kIterationsForCheck, has_learnt);
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
