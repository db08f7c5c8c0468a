// Trains a small DLRM and checks that the loss fell.
//
// Exit status: 0 done, 1 the loss did not fall or a call failed, 2 the command line is wrong.
#include "gpu.hpp"
#include "model.hpp"
#include "options.hpp"
#include "training.hpp"

#include <cmath>
#include <cstdio>

namespace {

int run(const dlrm::Options& options) {
  const dlrm::Gpu gpu(options.device);
  std::printf("device %d: %s\n", options.device, gpu.name().c_str());
  dlrm::Model model(gpu, options.shape(), options.learning_rate, options.seed);
  return example::train_and_check(
      {.iterations = options.iterations,
       .batch = options.batch,
       .unit = "samples",
       .train_step = [&] { model.train_step(); },
       .take_mean_loss = [&] { return model.take_mean_loss(); },
       // With fewer the noise of a batch hides the progress.
       .enough_iterations = 500,
       // A rule without any knowledge of the sample has a loss of ln 2.
       .has_learnt = [](double first,
                        double last) { return last < first && last < 0.95 * std::log(2.0); }});
}

}  // namespace

int main(int argc, char** argv) {
  return example::run_program("dlrm", [&] {
    dlrm::Options options;
    const auto status = dlrm::parse_options(argc, argv, options);
    return status ? *status : run(options);
  });
}
