#include "options.hpp"

#include <CLI/CLI.hpp>

namespace allreduce {

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app(
      "Trains fully connected layers on several ranks, whose gradients NCCL adds up while the "
      "backward pass goes on.\n"
      "Started by itself it is all ranks: it forks before any CUDA call.  Started with RANK and "
      "WORLD_SIZE in the environment, as torchrun does, it is that rank.");
  app.add_option("--ranks", options.ranks, "Ranks to fork; not with RANK in the environment")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--layers", options.layers, "Fully connected layers")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--width", options.width, "Inputs and outputs of each layer, a multiple of 8")
      ->check(CLI::Range(8, 1 << 16))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Samples of each rank in an iteration")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--imbalance", options.imbalance,
                 "Percent that the last rank's batch is larger by: the others wait for it")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Training steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate, "Step of SGD")->capture_default_str();
  app.add_option("--id-file", options.id_file,
                 "With RANK in the environment: a file that all ranks see and that does not exist "
                 "yet; rank 0 puts NCCL's id there");
  try {
    app.parse(argc, argv);
    if (options.width % 8 != 0) throw CLI::ValidationError("--width", "not a multiple of 8");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace allreduce
