#include "options.hpp"

#include <CLI/CLI.hpp>

namespace conv {

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Trains two cuDNN convolution layers, with every layer named for the profiler.");
  app.add_option("--batch", options.batch, "Images per iteration")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--channels", options.channels, "Channels of the images and of both layers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--extent", options.extent, "Height and width of the images")
      ->check(CLI::Range(3, 1024))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Training steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--device", options.device, "CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the images and of the initial parameters")
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate, "Of plain SGD")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace conv
