// prof-measure: times shapes alone on a GPU.  prof-model measure starts it, so that prof-model
// itself needs no CUDA.
//
// Exit status: 0 done, 1 the input cannot be used or the GPU failed, 2 the command line is wrong,
// 3 nothing could be measured here (no GPU, too little memory, libraries absent), 4 the time was up
// before all was measured: --resume goes on.
#include "base/command_line.hpp"
#include "measure/gpu.hpp"
#include "measure/result_table.hpp"
#include "measure/run_cases.hpp"
#include "measure/suites.hpp"
#include "read/read_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-model measure -o measured/                  every suite, 8 minutes at most\n"
    "  prof-model measure gemm -o gemm.csv              one suite, L2 warm\n"
    "  prof-model measure conv --grid layers.csv -o conv.csv\n"
    "  prof-model measure --from prof.json -o alone.csv what a run met, alone on the GPU\n"
    "  prof-model measure --suggest PARAMS -o grid.csv  which products would tell most; needs no "
    "GPU\n"
    "  prof-model fit --model gemm --machine h200-sxm-141gb --set a_type=bf16 measured/gemm.csv\n"
    "\n"
    "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong, 3 nothing could "
    "be measured here,\n4 the time was up (--resume goes on).";

enum class L2Choice { kDefault, kWarm, kCold, kBoth };
enum class LoadChoice { kBurst, kSustained, kBoth };

constexpr std::string_view kLoadColumn = "load";

struct Arguments {
  std::vector<std::string> suites;
  std::string grid;
  std::string from;
  std::string output;
  L2Choice l2 = L2Choice::kDefault;
  LoadChoice load = LoadChoice::kBurst;
  std::optional<std::size_t> points;
  bool force = false;
  bool resume = false;
  bool list = false;
  RunOptions run;
};

void list_suites() {
  for (const Suite& suite : all_suites()) {
    std::printf("%-16s %4zu cases  %s\n", std::string(suite.name).c_str(),
                suite.ops(GpuFacts{}).size(), std::string(suite.meaning).c_str());
  }
}

// The cases to measure, and their tables.
class Plan {
 public:
  explicit Plan(const Arguments& arguments) : arguments_(arguments) {
    is_folder_ = arguments.output.ends_with('/') || fs::is_directory(arguments.output);
  }

  void add(const std::string& table, const std::vector<std::string_view>& columns,
           const std::vector<read::Op>& ops, L2State l2, Load load = Load::kBurst) {
    const std::size_t count = std::min(ops.size(), arguments_.points.value_or(ops.size()));
    // Lists are sorted by kind: takes cases spread over the whole list.
    for (std::size_t i = 0; i < count; ++i)
      cases_.push_back({.table = table, .op = ops[i * ops.size() / count], .l2 = l2, .load = load});
    tables_to_make_.push_back({table, columns, load});
  }

  void add_suite(const Suite& suite, const GpuFacts& gpu, L2Choice l2) {
    const auto ops = arguments_.grid.empty() ? suite.ops(gpu) : ops_of_grid(arguments_.grid, suite);
    const std::string name(suite.name);
    if (arguments_.load != LoadChoice::kBurst)
      add(name + ".sustained", suite.columns, ops, L2State::kWarm, Load::kSustained);
    if (arguments_.load == LoadChoice::kSustained) return;
    if (l2 != L2Choice::kCold || !suite.has_cold_cases)
      add(name, suite.columns, ops, L2State::kWarm);
    if (l2 != L2Choice::kWarm && suite.has_cold_cases)
      add(name + ".cold", suite.columns, ops, L2State::kCold);
  }

  std::map<std::string, ResultTable> open_tables() {
    if (tables_to_make_.size() > 1 && !is_folder_) {
      throw cli::UsageError(
          fmt::format("-o {}: {} tables are made, so expected a folder: its name ends with /",
                      arguments_.output, tables_to_make_.size()));
    }
    if (is_folder_) fs::create_directories(arguments_.output);
    const IfThere if_there = arguments_.resume  ? IfThere::kResume
                             : arguments_.force ? IfThere::kReplace
                                                : IfThere::kRefuse;
    std::map<std::string, ResultTable> tables;
    for (const auto& [name, columns, load] : tables_to_make_) {
      std::vector<std::string_view> more;
      if (load == Load::kSustained) more.push_back(kLoadColumn);
      const fs::path file =
          is_folder_ ? fs::path(arguments_.output) / (name + ".csv") : fs::path(arguments_.output);
      tables.try_emplace(name, file, columns, if_there, more);
    }
    return tables;
  }

  std::vector<Case> take_cases() { return std::move(cases_); }

 private:
  struct TableToMake {
    std::string name;
    std::vector<std::string_view> columns;
    Load load;
  };

  const Arguments& arguments_;
  bool is_folder_ = false;
  std::vector<Case> cases_;
  std::vector<TableToMake> tables_to_make_;
};

// Returns the facts of the GPU; without one those of an H200, since opening it says later why.
GpuFacts facts_of(int device) {
  GpuFacts facts;
  int count = 0;
  int value = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return facts;
  facts.device_count = count;
  if (cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
    facts.sm_count = value;
  if (cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, device) == cudaSuccess)
    facts.l2_bytes = value;
  return facts;
}

void plan_suites(Plan& plan, const Arguments& arguments) {
  const GpuFacts gpu = facts_of(arguments.run.device);
  std::vector<const Suite*> suites;
  for (const std::string& name : arguments.suites) {
    try {
      suites.push_back(&find_suite(name));
    } catch (const std::invalid_argument& error) {
      throw cli::UsageError(error.what());
    }
  }
  if (suites.empty()) {
    for (const Suite& suite : all_suites())
      suites.push_back(&suite);
  }
  // A single suite has one table; several have warm and cold ones.
  const L2Choice usual = suites.size() == 1 ? L2Choice::kWarm : L2Choice::kBoth;
  for (const Suite* suite : suites)
    plan.add_suite(*suite, gpu, arguments.l2 == L2Choice::kDefault ? usual : arguments.l2);
}

void plan_profile(Plan& plan, const Arguments& arguments) {
  const ProfileOps found = ops_of_profile(read::read_profile(fs::path(arguments.from)));
  for (const auto& [reason, count] : found.skipped)
    std::fprintf(stderr, "skipped %zu events: %s\n", count, reason.c_str());
  if (found.ops.empty()) {
    throw Skipped(fmt::format("{}: no event says what it computes", arguments.from));
  }
  plan.add("isolated", {"operation"}, found.ops,
           arguments.l2 == L2Choice::kCold ? L2State::kCold : L2State::kWarm,
           arguments.load == LoadChoice::kSustained ? Load::kSustained : Load::kBurst);
}

void check_arguments(const Arguments& arguments) {
  if (arguments.output.empty()) throw cli::UsageError("-o FILE or FOLDER/ is required");
  if (arguments.force && arguments.resume) {
    throw cli::UsageError("--force and --resume exclude each other");
  }
  if (!arguments.from.empty() && (!arguments.suites.empty() || !arguments.grid.empty())) {
    throw cli::UsageError("--from says what is measured: no suite and no --grid beside it");
  }
  if (!arguments.from.empty() && arguments.l2 == L2Choice::kBoth) {
    throw cli::UsageError("--from with --l2 both: expected warm or cold");
  }
  if (!arguments.from.empty() && arguments.load == LoadChoice::kBoth) {
    throw cli::UsageError("--from with --load both: expected burst or sustained");
  }
  if (arguments.load == LoadChoice::kSustained &&
      (arguments.l2 == L2Choice::kCold || arguments.l2 == L2Choice::kBoth)) {
    throw cli::UsageError("--load sustained: the L2 is warm, since the same work runs before");
  }
  if (!arguments.grid.empty() && arguments.suites.size() != 1) {
    throw cli::UsageError("--grid needs one suite, which its columns belong to");
  }
}

int measure(const Arguments& arguments) {
  if (arguments.list) {
    list_suites();
    return 0;
  }
  check_arguments(arguments);
  Plan plan(arguments);
  if (arguments.from.empty()) {
    plan_suites(plan, arguments);
  } else {
    plan_profile(plan, arguments);
  }
  auto tables = plan.open_tables();
  const RunOutcome outcome = run_cases(plan.take_cases(), tables, arguments.run);
  for (const auto& [reason, count] : outcome.skipped)
    std::fprintf(stderr, "skipped %zu: %s\n", count, reason.c_str());
  std::size_t rows = 0;
  for (const auto& [name, table] : tables) {
    rows += table.row_count();
    if (table.row_count() > 0)
      std::fprintf(stderr, "%s: %zu rows\n", table.file().c_str(), table.row_count());
  }
  if (outcome.left_over > 0) {
    std::fprintf(stderr, "the time was up: %zu cases are left, --resume goes on\n",
                 outcome.left_over);
    return 4;
  }
  return rows > 0 ? 0 : 3;
}

void declare(cli::Command& app, Arguments& arguments) {
  app.add_option("SUITE", arguments.suites, "What to measure; default: every suite of --list");
  app.add_flag("--list", arguments.list, "Print the suites and leave");
  app.add_option("--grid", arguments.grid,
                 "Shapes to measure in place of the suite's own: a CSV file, or SEER's "
                 "Test-set-II.txt");
  app.add_option("--from", arguments.from,
                 "prof.json: measure the operations of its events; prof-analyze --isolated reads "
                 "the table");
  app.add_option("-o,--output", arguments.output,
                 "Table to write, or for several tables a folder, whose name ends with /");
  app.add_option("--l2", arguments.l2,
                 "What the L2 holds: warm, cold, or both (cold ones in tables of their own); "
                 "default: warm for one suite, both for several",
                 {{"warm", L2Choice::kWarm}, {"cold", L2Choice::kCold}, {"both", L2Choice::kBoth}});
  app.add_option("--load", arguments.load,
                 "What the GPU has done before: burst, nothing that takes much power; sustained, "
                 "the same work back to back; both (sustained ones in tables of their own)",
                 {{"burst", LoadChoice::kBurst},
                  {"sustained", LoadChoice::kSustained},
                  {"both", LoadChoice::kBoth}});
  app.add_option("--load-s", arguments.run.load_s,
                 "Seconds of back-to-back work before a sustained case")
      .check(cli::between(1e-3, 1e4))
      .shows_default();
  app.add_option("--points", arguments.points, "Only so many cases of each table")
      .check(cli::positive_number());
  app.add_option("--budget-s", arguments.run.budget_s, "Seconds for everything")
      .check(cli::between(1.0, 1e6))
      .shows_default();
  app.add_option("--case-s", arguments.run.case_s, "Seconds for the repeats of a case")
      .check(cli::between(1e-3, 1e4))
      .shows_default();
  app.add_option("--precision", arguments.run.repeats.precision,
                 "A case is done when half the interval of its median is this part of it")
      .check(cli::between(1e-4, 1.0))
      .shows_default();
  app.add_option("--memory-gb", arguments.run.memory_gb,
                 "Most memory to take on the GPU, 10^9 bytes")
      .check(cli::between(0.1, 1e4))
      .shows_default();
  app.add_option("--device", arguments.run.device, "Number of the GPU")
      .check(cli::not_negative())
      .shows_default();
  app.add_option("--seed", arguments.run.seed, "Seed of the order").shows_default();
  app.add_flag("--resume", arguments.resume,
               "Keep the rows of tables that exist, measure the rest");
  app.add_flag("--force", arguments.force, "Replace tables that exist");
}

int run_main(int argc, char** argv) noexcept {
  Arguments arguments;
  int status = 0;
  const auto stopped =
      cli::parse({.name = "prof-model measure",
                  .description = "Times shapes alone on a GPU, as tables for prof-model fit.",
                  .footer = kExamples},
                 argc, argv, [&](cli::Command& app) {
                   declare(app, arguments);
                   app.on_run([&] {
                     try {
                       status = measure(arguments);
                     } catch (const Skipped& reason) {
                       std::fprintf(stderr, "prof-model measure: %s\n", reason.what());
                       status = 3;
                     }
                   });
                 });
  return stopped.value_or(status);
}

}  // namespace
}  // namespace inline_prof::measure

int main(int argc, char** argv) {
  return inline_prof::measure::run_main(argc, argv);
}
