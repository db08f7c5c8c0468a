// prof-analyze: prof.json in, measured times beside predicted ones out.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate failed,
// 4 a gate could not be decided.
#include "base/command_line.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/commands.hpp"

#include <malloc.h>

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
    "  prof-analyze scaling one_gpu/ eight_gpus/           runs beside each other\n"
    "  prof-analyze ranks results/                         which ranks are late, and who waits\n"
    "  prof-analyze dataset results/ -o tables/            for DuckDB, Spark and other engines\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate\n"
    "failed, 4 a gate could not be decided.";

// The text of a file is taken and given back a thousand times where there are a thousand files: the
// kernel need not clear it each time.
void keep_memory() noexcept {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 16 << 20);  // NOLINT(concurrency-mt-unsafe): before any thread
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // NOLINT(concurrency-mt-unsafe)
#endif
}

void declare(Command& program, int& status) {
  program.require_subcommand(0, 1);
  declare_report(program);
  declare_compare(program, status);
  declare_check(program, status);
  declare_scaling(program);
  declare_ranks(program);
  declare_dataset(program, status);
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  using namespace inline_prof::cli;
  keep_memory();
  int status = 0;
  return parse({.name = "prof-analyze",
                .description =
                    "Joins the kernel times in prof.json with performance models: what each layer "
                    "took, and what it should take.",
                .footer = kExamples,
                .version = "prof-analyze " INLINE_PROF_VERSION},
               argc, argv,
               [&](Command& program) {
                 set_arguments(argc, argv);
                 declare(program, status);
               })
      .value_or(status);
}
