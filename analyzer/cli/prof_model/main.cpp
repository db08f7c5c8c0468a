// prof-model: performance models on tables of shapes.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.
#include "cli/common/result_file.hpp"
#include "cli/common/usage_error.hpp"
#include "cli/prof_model/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

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
    "  prof-model plot --model collective --params curves.json measured.csv -o curves.svg\n"
    "  prof-model convert --to collective nccl_tests.log -o measured.csv\n"
    "  prof-model measure -o measured/\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.";

// Says what went wrong; std::fprintf, because nothing may be thrown from here.
int fail(int status, const char* what) noexcept {
  std::fprintf(stderr, "prof-model: %s\n%s", what, status == 2 ? "Try prof-model --help.\n" : "");
  return status;
}

int run_main(int argc, char** argv) noexcept {
  try {
    CLI::App app("Predicts how long operations take on a GPU, and says how good the prediction is.",
                 "prof-model");
    app.footer(kExamples);
    app.set_version_flag("--version", std::string("prof-model ") + INLINE_PROF_VERSION);
    app.require_subcommand(1);
    declare_list(app);
    declare_predict(app);
    declare_fit(app);
    declare_evaluate(app);
    declare_iteration(app);
    declare_plot(app);
    declare_convert(app);
    declare_measure(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help and --version
      return app.exit(request);
    }
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(2, error.what());
  } catch (const UsageError& error) {
    return fail(2, error.what());
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  inline_prof::cli::set_arguments(argc, argv);
  return inline_prof::cli::run_main(argc, argv);
}
