// prof-analyze: prof.json in, measured times beside predicted ones out.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate failed,
// 4 a gate could not be decided.
#include "cli/common/program.hpp"
#include "cli/prof_analyze/commands.hpp"

#include <malloc.h>

namespace inline_prof::cli {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"compare", "Compares two runs of a program, layer by layer, with 95 % intervals",
     "prof-analyze compare before.prof.json after.prof.json --fail-on 5", declare_compare},
    {"check", "Checks that a run meets conditions",
     "prof-analyze check prof.json --gate 'ratio<1.3' --gate 'iteration_ms<12'", declare_check},
    {"scaling",
     "Sets runs beside each other: the iteration, and the layers' mean and slowest device",
     "prof-analyze scaling one_gpu/ eight_gpus/           runs beside each other", declare_scaling},
    {"ranks", "Compares the ranks of a run: slow devices, stragglers, who waits in collectives",
     "prof-analyze ranks results/                         which ranks are late, and who waits",
     declare_ranks},
    {"history", "Shows what a watched run took over time: layers, ranks, changes and what recurs",
     "prof-analyze history results/ --format html -o history.html   weeks at a glance",
     declare_history},
    {"dataset", "Writes runs as tables for DuckDB, Spark and what else reads Parquet or CSV",
     "prof-analyze dataset results/ -o tables/            for DuckDB, Spark and other engines",
     declare_dataset}};

constexpr ProgramTexts kTexts{
    .name = "prof-analyze",
    .description =
        "Joins the kernel times in prof.json with performance models: what each layer "
        "took, and what it should take.",
    .examples =
        "prof-analyze prof.json                              where the iteration goes, row by row\n"
        "prof-analyze prof.json --top 10                     the ten largest rows\n"
        "prof-analyze results/                               all ranks of a run, devices merged\n"
        "prof-analyze old.prof.json --machine a100-sxm4-40gb --layers dlrm.layers.json\n"
        "prof-analyze prof.json --format html -o report.html one page: timeline, layers, roofline\n"
        "prof-analyze prof.json --format json -o report.json",
    .end =
        "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 a gate\n"
        "failed, 4 a gate could not be decided."};

// The text of a file is taken and given back a thousand times where there are a thousand files: the
// kernel need not clear it each time.
void keep_memory() noexcept {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 16 << 20);  // NOLINT(concurrency-mt-unsafe): before any thread
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // NOLINT(concurrency-mt-unsafe)
#endif
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  using namespace inline_prof::cli;
  keep_memory();
  return run_program(kTexts, kSubcommands, argc, argv, [](Command& program) {
    program.require_subcommand(0, 1);
    declare_report(program);
  });
}
