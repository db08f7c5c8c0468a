#include "options.hpp"

#include "base/command_line.hpp"

namespace allreduce {

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  using namespace inline_prof::cli;
  return parse(
      {.name = "allreduce",
       .description =
           "Trains fully connected layers on several ranks, whose gradients NCCL adds up while the "
           "backward pass goes on.\n"
           "Started by itself it is all ranks: it forks before any CUDA call.  Started with RANK "
           "and "
           "WORLD_SIZE in the environment, as torchrun does, it is that rank."},
      argc, argv, [&options](Command& app) {
        app.add_option("--ranks", options.ranks, "Ranks to fork; not with RANK in the environment")
            .check(between(1, 64))
            .shows_default();
        app.add_option("--layers", options.layers, "Fully connected layers")
            .check(between(1, 1024))
            .shows_default();
        app.add_option("--width", options.width,
                       "Inputs and outputs of each layer, a multiple of 8")
            .check(between(8, 1 << 16))
            .shows_default();
        app.add_option("--batch", options.batch, "Samples of each rank in an iteration")
            .check(between(1, 1 << 20))
            .shows_default();
        app.add_option("--imbalance", options.imbalance,
                       "Percent that the last rank's batch is larger by: the others wait for it")
            .check(between(0, 1000))
            .shows_default();
        app.add_option("--iterations", options.iterations, "Training steps")
            .check(between(1, 1 << 30))
            .shows_default();
        app.add_option("--learning-rate", options.learning_rate, "Step of SGD").shows_default();
        app.add_option(
            "--id-file", options.id_file,
            "With RANK in the environment: a file that all ranks see and that does not exist "
            "yet; rank 0 puts NCCL's id there");
        app.on_parsed([&options] {
          if (options.width % 8 != 0) throw UsageError("--width: not a multiple of 8");
        });
      });
}

}  // namespace allreduce
