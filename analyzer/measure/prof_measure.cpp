// prof-measure: times shapes alone on a GPU.  prof-model measure starts it, so that prof-model
// itself needs no CUDA.
//
// Exit status: 0 done, 1 the input cannot be used or the GPU failed, 2 the command line is wrong,
// 3 nothing could be measured here (no GPU, too little memory, libraries absent), 4 the time was up
// before all was measured: --resume goes on.
#include "base/command_line.hpp"
#include "base/random.hpp"
#include "measure/case.hpp"
#include "measure/gpu.hpp"
#include "measure/pacing.hpp"
#include "measure/result_table.hpp"
#include "measure/stopwatch.hpp"
#include "measure/suites.hpp"
#include "measure/tasks.hpp"
#include "read/read_profile.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::measure {
namespace {

// Times cases one after the other, until all are done or the time is up.
struct RunOptions {
  int device = 0;
  double memory_gb = 16;  // that may be taken on the GPU
  double budget_s = 480;
  double load_s = 1;    // of back-to-back work before a sustained case
  double case_s = 0.2;  // for the repeats of one case, once there are enough of them to count
  RepeatLimits repeats;
  std::uint64_t seed = 1;  // of the order
};

struct RunOutcome {
  std::size_t measured = 0;
  std::size_t left_over = 0;                   // the time was up
  std::map<std::string, std::size_t> skipped;  // by reason
};

using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetweenSaves = 5;
constexpr double kMostClockChange = 0.03;  // in one case; above it is measured once more
constexpr int kMostTries = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string micro(double time_us) {
  return fmt::format("{:.3f}", time_us);
}

template <typename Value>
std::string cell(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// The fastest streams that are too long for the L2, and the fastest that fit into it easily.
class Bandwidths {
 public:
  explicit Bandwidths(std::int64_t l2_bytes) : l2_bytes_(static_cast<double>(l2_bytes)) {}

  void add(const Case& one, double time_us) {
    if (one.op.kind != "bandwidth" || time_us <= 0) return;
    const double bytes = number_or(one.op, "read_bytes", 0) + number_or(one.op, "write_bytes", 0);
    const double gb_per_s = bytes / time_us * 1e-3;
    if (bytes >= 16 * l2_bytes_) dram_ = std::max(dram_, gb_per_s);
    if (bytes <= 0.4 * l2_bytes_) l2_ = std::max(l2_, gb_per_s);
  }
  void say() const {
    if (dram_ > 0 || l2_ > 0)
      std::fprintf(stderr, "fastest streams: DRAM %.0f GB/s, L2 %.0f GB/s\n", dram_, l2_);
  }

 private:
  double l2_bytes_;
  double dram_ = 0;
  double l2_ = 0;
};

class Runner {
 public:
  explicit Runner(const RunOptions& options)
      : options_(options),
        gpu_(options.device, static_cast<std::size_t>(options.memory_gb * 1e9)),
        stopwatch_(gpu_),
        bandwidths_(gpu_.facts().l2_bytes) {
    std::fprintf(stderr, "%s, %s, %zu MiB taken\n", gpu_.name().c_str(),
                 gpu_.driver_version().c_str(), gpu_.memory_bytes() >> 20);
    try {
      state_.emplace(options.device);
    } catch (const Skipped& reason) {
      std::fprintf(stderr, "clocks, power and temperature are not known: %s\n", reason.what());
    }
    floor_us_ = stopwatch_.measure_floor_us();
  }

  Cells measure(const Case& one) {
    gpu_.give_back();
    const Work work = prepare(one.op);
    work.run(gpu_.stream());
    check(cudaGetLastError(), "first launch");
    check(cudaStreamSynchronize(gpu_.stream()), "first run");
    std::vector<LaunchedKernel> kernels;
    if (one.op.kind != op_kind_name(OpKind::kCollective) || gpu_.facts().device_count == 1)
      kernels = launched_kernels(work, gpu_);
    std::vector<double> times;
    GpuState state;
    const std::size_t runs_in_front =
        one.load == Load::kSustained ? stopwatch_.load(work, options_.load_s) : 0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      const GpuState before = state_ ? state_->read() : GpuState{};
      times = stopwatch_.times_us(work, one.l2, options_.repeats, options_.case_s, runs_in_front);
      state = state_ ? state_->read() : GpuState{};
      if (!before.sm_clock_mhz || !state.sm_clock_mhz) break;
      const double was_mhz = *before.sm_clock_mhz, is_mhz = *state.sm_clock_mhz;
      if (std::abs(is_mhz - was_mhz) <= kMostClockChange * was_mhz) break;
    }
    Cells cells = cells_of(times, kernels, state);
    cells["library"] = work.library;
    cells["load"] = one.load == Load::kSustained ? "sustained" : "";
    if (work.stand_in) cells["stand_in"] = "true";
    if (work.algorithm >= 0) cells["algorithm"] = fmt::format("{}", work.algorithm);
    bandwidths_.add(one, std::stod(cells["time_us"]));
    return cells;
  }

  // Prints the floor again: if it has moved, early and late rows are not comparable.
  void finish() {
    const double now_us = stopwatch_.measure_floor_us();
    std::fprintf(stderr, "empty pair: %.3f us at the start, %.3f us at the end\n", floor_us_,
                 now_us);
    bandwidths_.say();
  }

 private:
  Work prepare(const read::Op& op) {
    if (op.kind == "bandwidth") return memory_work(op, gpu_);
    switch (op_kind_from_name(op.kind).value_or(OpKind::kRegion)) {
      case OpKind::kGemm:
        return gemm_work(op, gpu_);
#ifdef INLINE_PROF_HAS_CUDNN
      case OpKind::kAttention:
        return attention_work(op, gpu_);
      case OpKind::kConv:
        return convolution_work(op, gpu_);
#else
      case OpKind::kAttention:
      case OpKind::kConv:
        throw Skipped("built without cudnn.h");
#endif
      case OpKind::kCollective:
#ifdef INLINE_PROF_HAS_NCCL
        return collective_work(op, gpu_);
#else
        throw Skipped("built without nccl.h");
#endif
      case OpKind::kMemory:
        return memory_work(op, gpu_);
      case OpKind::kNorm:
      case OpKind::kSoftmax:
        return rows_work(op, gpu_);
      default:
        throw Skipped(fmt::format("{} is not measured", op.kind));
    }
  }

  [[nodiscard]] Cells cells_of(const std::vector<double>& times,
                               const std::vector<LaunchedKernel>& kernels,
                               const GpuState& state) const {
    const MedianOfRepeats found = median_of(times);
    const double floor_us = floor_us_;
    if (found.median <= floor_us) {
      throw Skipped("takes no longer than an event pair with nothing between its events");
    }
    Cells cells{{"samples", fmt::format("{}", times.size())},
                {"raw_us", micro(found.median)},
                {"floor_us", micro(floor_us)},
                {"time_lower_us", micro(std::max(0.0, found.lower - floor_us))},
                {"time_upper_us", micro(found.upper - floor_us)},
                {"time_us", micro(found.median - floor_us)},
                {"device_name", gpu_.name()},
                {"driver_version", gpu_.driver_version()},
                {"sm_clock_mhz", cell(state.sm_clock_mhz)},
                {"memory_clock_mhz", cell(state.memory_clock_mhz)},
                {"power_w", cell(state.power_w)},
                {"temperature_c", cell(state.temperature_c)}};
    if (const LaunchedKernel* kernel = main_kernel(kernels)) {
      cells["kernel_name"] = kernel->name;
      cells["blocks"] = fmt::format("{}", kernel->blocks);
      cells["kernels"] = fmt::format("{}", kernels.size());
    }
    return cells;
  }

  const RunOptions& options_;
  Gpu gpu_;
  Stopwatch stopwatch_;
  std::optional<GpuStateReader> state_;
  Bandwidths bandwidths_;
  double floor_us_ = 0;
};

void save_all(std::map<std::string, ResultTable>& tables) {
  for (auto& [name, table] : tables)
    table.save();
}

// Measures the cases that no table has yet.  Saves tables every few seconds and at the end, also
// when an error ends the run.  Throws Skipped if nothing can be measured at all, and GpuError.
RunOutcome run_cases(std::vector<Case> cases, std::map<std::string, ResultTable>& tables,
                     const RunOptions& options) {
  std::erase_if(cases, [&](const Case& one) { return tables.at(one.table).has(one.op); });
  RunOutcome outcome;
  std::erase_if(cases, [&](const Case& one) {
    if (!tables.at(one.table).has_stopped_gpu(one.op)) return false;
    ++outcome.skipped[fmt::format("{}: stopped the GPU in an earlier run", one.table)];
    return true;
  });
  if (cases.empty()) return outcome;
  base::shuffle_by_twister(std::span(cases), options.seed);
  Runner runner(options);
  const auto start = Clock::now();
  auto last_save = start;
  const std::size_t count = cases.size();
  Turns turns(std::move(cases));
  while (turns.left() > 0) {
    if (seconds_since(start) > options.budget_s) {
      outcome.left_over = turns.left();
      break;
    }
    const Case one = *turns.next();
    const auto case_start = Clock::now();
    try {
      tables.at(one.table).add(one.op, runner.measure(one));
      ++outcome.measured;
    } catch (const Skipped& reason) {
      static_cast<void>(cudaGetLastError());  // what the library met is not ours to stumble over
      ++outcome.skipped[fmt::format("{}: {}", one.table, reason.what())];
    } catch (const GpuError&) {
      save_all(tables);
      std::fprintf(stderr, "stopped at %s of table %s; --resume goes on without it\n",
                   read::op_text(one.op).c_str(), one.table.c_str());
      tables.at(one.table).add_stopped_gpu(one.op);
      throw;
    }
    turns.add_time(one.table, seconds_since(case_start));
    if (seconds_since(last_save) > kSecondsBetweenSaves) {
      save_all(tables);
      last_save = Clock::now();
      std::fprintf(stderr, "%zu of %zu cases, %.0f of %.0f s\n", count - turns.left(), count,
                   seconds_since(start), options.budget_s);
    }
  }
  save_all(tables);
  runner.finish();
  return outcome;
}

namespace fs = std::filesystem;

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-model measure -o measured/                  every suite, 8 minutes at most\n"
    "  prof-model measure gemm -o gemm.csv              one suite, L2 warm\n"
    "  prof-model measure conv --grid layers.csv -o conv.csv\n"
    "  prof-model measure --from prof.json -o alone.csv what a run met, alone on the GPU\n"
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
