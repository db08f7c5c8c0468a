// prof-model: performance models on tables of shapes.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.
#include "base/command_line.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"

namespace inline_prof::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-model list                                  the models there are\n"
    "  prof-model list embedding_forward                what one of them reads and gives\n"
    "  prof-model list --machines                       the GPUs that --machine takes\n"
    "  prof-model predict --model embedding_forward shapes.csv -o predicted.csv\n"
    "  prof-model evaluate --model fc --params measured.csv test.csv\n"
    "  prof-model iteration --params measured.csv trace.json\n"
    "  prof-model convert --to collective nccl_tests.log -o measured.csv\n"
    "  prof-model measure -o measured/\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.";

void declare(Command& program) {
  program.require_subcommand(1, 1);
  declare_list(program);
  declare_predict(program);
  declare_fit(program);
  declare_evaluate(program);
  declare_iteration(program);
  declare_convert(program);
  declare_measure(program);
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  using namespace inline_prof::cli;
  return parse({.name = "prof-model",
                .description = "Predicts how long operations take on a GPU, and says how good the "
                               "prediction is.",
                .footer = kExamples,
                .version = "prof-model " INLINE_PROF_VERSION},
               argc, argv,
               [&](Command& program) {
                 set_arguments(argc, argv);
                 declare(program);
               })
      .value_or(0);
}
