#include "options.hpp"

#include "base/command_line.hpp"

namespace conv {

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  using namespace inline_prof::cli;
  return parse(
      {.name = "conv",
       .description =
           "Trains two cuDNN convolution layers, with every layer named for the profiler."},
      argc, argv, [&options](Command& app) {
        app.add_option("--batch", options.batch, "Images per iteration")
            .check(between(1, 4096))
            .shows_default();
        app.add_option("--channels", options.channels, "Channels of the images and of both layers")
            .check(between(1, 4096))
            .shows_default();
        app.add_option("--extent", options.extent, "Height and width of the images")
            .check(between(3, 1024))
            .shows_default();
        app.add_option("--iterations", options.iterations, "Training steps")
            .check(between(1, 1 << 30))
            .shows_default();
        app.add_option("--device", options.device, "CUDA device")
            .check(not_negative())
            .shows_default();
        app.add_option("--seed", options.seed, "Of the images and of the initial parameters")
            .shows_default();
        app.add_option("--learning-rate", options.learning_rate, "Of plain SGD")
            .check(positive_number())
            .shows_default();
      });
}

}  // namespace conv
