#include "measure/run_cases.hpp"

#include "base/random.hpp"
#include "measure/gpu.hpp"
#include "measure/pacing.hpp"
#include "measure/stopwatch.hpp"
#include "measure/tasks.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>

namespace inline_prof::measure {
namespace {

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
        cublas_(gpu_),
        cudnn_(gpu_),
        nccl_(gpu_),
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
    if (op.kind == "bandwidth") return bandwidth_work(op, gpu_);
    switch (op_kind_from_name(op.kind).value_or(OpKind::kRegion)) {
      case OpKind::kGemm:
        return cublas_.gemm(op);
      case OpKind::kAttention:
        return cudnn_.attention(op);
      case OpKind::kConv:
        return cudnn_.convolution(op);
      case OpKind::kCollective:
        return nccl_.collective(op);
      case OpKind::kMemory:
        return memory_work(op, gpu_);
      case OpKind::kEmbedding:
        return embedding_work(op, gpu_);
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
  CublasTasks cublas_;
  CudnnTasks cudnn_;
  NcclTasks nccl_;
  std::optional<GpuStateReader> state_;
  Bandwidths bandwidths_;
  double floor_us_ = 0;
};

void save_all(std::map<std::string, ResultTable>& tables) {
  for (auto& [name, table] : tables)
    table.save();
}

}  // namespace

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

}  // namespace inline_prof::measure
