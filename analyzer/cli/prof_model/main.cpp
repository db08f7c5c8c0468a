// prof-model: performance models on tables of shapes.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.
#include "cli/common/program.hpp"
#include "cli/prof_model/commands.hpp"

namespace inline_prof::cli {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"list", "Names the models, what one of them reads, or the machines",
     "prof-model list                                  the models there are\n"
     "prof-model list embedding_forward                what one of them reads and gives\n"
     "prof-model list --machines                       the GPUs that --machine takes",
     declare_list},
    {"predict", "Predicts every row of a table",
     "prof-model predict --model embedding_forward shapes.csv -o predicted.csv", declare_predict},
    {"fit", "Makes parameters of a model from measured tables",
     "prof-model fit --model gemm --machine h200-sxm-141gb measured.csv -o mine.json", declare_fit},
    {"evaluate", "Compares predictions with measured times",
     "prof-model evaluate --model fc --params measured.csv test.csv", declare_evaluate},
    {"iteration", "Says what an iteration takes from end to end",
     "prof-model iteration --params measured.csv trace.json", declare_iteration},
    {"convert", "Makes tables to fit out of logs and of tables that others have published",
     "prof-model convert --to collective nccl_tests.log -o measured.csv", declare_convert},
    {"measure", "Times shapes alone on a GPU, as tables to fit (--help tells how)",
     "prof-model measure -o measured/", declare_measure}};

constexpr ProgramTexts kTexts{
    .name = "prof-model",
    .description =
        "Predicts how long operations take on a GPU, and says how good the prediction "
        "is.",
    .examples = "",
    .end = "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong."};

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  using namespace inline_prof::cli;
  return run_program(kTexts, kSubcommands, argc, argv,
                     [](Command& program) { program.require_subcommand(1, 1); });
}
