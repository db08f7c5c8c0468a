// Trains a block of convolutions and says whether the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "block.hpp"
#include "device.hpp"
#include "gpu.hpp"
#include "options.hpp"
#include "training.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

namespace {

// Below this the first steps still weigh in the means that are compared.
constexpr int kIterationsForCheck = 100;

bool has_learnt(double first, double last) {
  return last < 0.9 * first;
}

int run(const conv::Options& options) {
  const conv::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  conv::Block block(gpu, options.shape(), options.learning_rate, options.seed);
  const bool is_simulated = example::is_simulated();

  const std::vector<double> losses =
      example::train({.iterations = options.iterations,
                      .has_losses = !is_simulated,
                      .train_step = [&] { block.train_step(); },
                      .take_mean_loss = [&] { return block.take_mean_loss(); }},
                     options.batch, "images");
  if (is_simulated) {
    std::printf("simulated GPU: values are not computed, loss not checked\n");
    return 0;
  }
  return example::check_losses(losses, options.iterations, kIterationsForCheck, has_learnt);
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
