#include "options.hpp"

#include "base/command_line.hpp"
#include "interaction.hpp"

namespace dlrm {
namespace {

// A block may have this much without asking for more, on every GPU (CUDA C++ Programming
// Guide 13.0, table of technical specifications).
constexpr std::size_t kSharedBytesPerBlock = 49152;

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  using namespace inline_prof::cli;
  return parse(
      {.name = "dlrm",
       .description =
           "Trains a DLRM on synthetic clicks, with every layer named for the profiler."},
      argc, argv, [&options](Command& app) {
        app.add_option("--batch", options.batch, "Samples per iteration")
            .check(between(1, 1 << 16))
            .shows_default();
        app.add_option("--iterations", options.iterations, "Training steps")
            .check(between(1, 1 << 30))
            .shows_default();
        app.add_option("--tables", options.tables, "Embedding tables")
            .check(between(1, 128))
            .shows_default();
        app.add_option("--rows", options.rows, "Rows of each table")
            .check(between(1, 1 << 26))
            .shows_default();
        app.add_option("--bag", options.bag, "Rows that a sample takes from each table")
            .check(between(1, 1024))
            .shows_default();
        app.add_option("--dim", options.dim, "Elements of an embedding vector, a multiple of 8")
            .check(between(8, 1024))
            .shows_default();
        app.add_option("--device", options.device, "CUDA device")
            .check(not_negative())
            .shows_default();
        app.add_option("--seed", options.seed, "Of the data and of the initial parameters")
            .shows_default();
        app.add_option("--learning-rate", options.learning_rate, "Of plain SGD")
            .check(positive_number())
            .shows_default();
        app.on_parsed([&options] {
          if (options.dim % 8 != 0) throw UsageError("--dim: must be a multiple of 8");
          if (Interaction::shared_bytes(options.shape()) > kSharedBytesPerBlock)
            throw UsageError("--tables, --dim: the vectors of one sample must fit into 48 KiB");
        });
      });
}

}  // namespace dlrm
