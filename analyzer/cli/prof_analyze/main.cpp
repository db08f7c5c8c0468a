// prof-analyze: prof.json in, measured times beside predicted ones out.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate failed,
// 4 a gate could not be decided.
#include "cli/common/result_file.hpp"
#include "cli/common/usage_error.hpp"
#include "cli/prof_analyze/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <malloc.h>
#include <string>

namespace inline_prof::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-analyze prof.json                              where the iteration goes, row by row\n"
    "  prof-analyze prof.json --top 10                     the ten largest rows\n"
    "  prof-analyze results/                               all ranks of a run, devices merged\n"
    "  prof-analyze old.prof.json --machine a100-sxm4-40gb --layers dlrm.layers.json\n"
    "  prof-analyze prof.json --format html -o report.html one page: timeline, layers, roofline\n"
    "  prof-analyze prof.json --format json -o report.json\n"
    "  prof-analyze compare before.prof.json after.prof.json --fail-on 5\n"
    "  prof-analyze check prof.json --gate 'ratio<1.3' --gate 'iteration_ms<12'\n"
    "  prof-analyze timeline prof.json -o timeline.svg\n"
    "  prof-analyze scaling one_gpu/ eight_gpus/ -o scaling.html\n"
    "  prof-analyze ranks results/                         which ranks are late, and who waits\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate\n"
    "failed, 4 a gate could not be decided.";

// Says what went wrong; std::fprintf, because nothing may be thrown from here.
int fail(int status, const char* what) noexcept {
  std::fprintf(stderr, "prof-analyze: %s\n%s", what,
               status == 2 ? "Try prof-analyze --help.\n" : "");
  return status;
}

// The text of a file is taken and given back a thousand times where there are a thousand files: the
// kernel need not clear it each time.
void keep_memory() noexcept {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 16 << 20);  // NOLINT(concurrency-mt-unsafe): before any thread
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // NOLINT(concurrency-mt-unsafe)
#endif
}

int run_main(int argc, char** argv) noexcept {
  keep_memory();
  try {
    CLI::App app(
        "Joins the kernel times in prof.json with performance models: what each layer took, "
        "and what it should take.",
        "prof-analyze");
    app.footer(kExamples);
    app.set_version_flag("--version", std::string("prof-analyze ") + INLINE_PROF_VERSION);
    app.require_subcommand(0, 1);
    int status = 0;
    declare_report(app);
    declare_compare(app, status);
    declare_check(app, status);
    declare_pictures(app);
    declare_ranks(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help and --version
      return app.exit(request);
    }
    return status;
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
