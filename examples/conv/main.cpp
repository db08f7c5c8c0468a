// Trains a block of convolutions and checks that the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "block.hpp"
#include "gpu.hpp"
#include "options.hpp"
#include "training.hpp"

#include <cstdio>

namespace {

int run(const conv::Options& options) {
  const conv::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  conv::Block block(gpu, options.shape(), options.learning_rate, options.seed);
  return example::train_and_check(
      {.iterations = options.iterations,
       .batch = options.batch,
       .unit = "images",
       .train_step = [&] { block.train_step(); },
       .take_mean_loss = [&] { return block.take_mean_loss(); },
       // With fewer the first steps still weigh in the means that are compared.
       .enough_iterations = 100,
       .has_learnt = [](double first, double last) { return last < 0.9 * first; }});
}

}  // namespace

int main(int argc, char** argv) {
  return example::run_program("conv", [&] {
    conv::Options options;
    const auto status = conv::parse_options(argc, argv, options);
    return status ? *status : run(options);
  });
}
