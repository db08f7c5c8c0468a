#include "options.hpp"

#include "interaction.hpp"

#include <CLI/CLI.hpp>

namespace dlrm {
namespace {

// A block may have this much without asking for more, on every GPU (CUDA C++ Programming
// Guide 13.0, table of technical specifications).
constexpr std::size_t kSharedBytesPerBlock = 49152;

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Trains a DLRM on synthetic clicks, with every layer named for the profiler.");
  app.add_option("--batch", options.batch, "Samples per iteration")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Training steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--tables", options.tables, "Embedding tables")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  app.add_option("--rows", options.rows, "Rows of each table")
      ->check(CLI::Range(1, 1 << 26))
      ->capture_default_str();
  app.add_option("--bag", options.bag, "Rows that a sample takes from each table")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--dim", options.dim, "Elements of an embedding vector, a multiple of 8")
      ->check(CLI::Range(8, 1024))
      ->capture_default_str();
  app.add_option("--device", options.device, "CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the data and of the initial parameters")
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate, "Of plain SGD")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (options.dim % 8 != 0) throw CLI::ValidationError("--dim", "must be a multiple of 8");
    if (Interaction::shared_bytes(options.shape()) > kSharedBytesPerBlock) {
      throw CLI::ValidationError("--tables, --dim",
                                 "the vectors of one sample must fit into 48 KiB");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace dlrm
