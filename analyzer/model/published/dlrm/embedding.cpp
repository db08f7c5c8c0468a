// The embedding models of DLRM: formulas, symbols and sources in embedding.md beside this file.
#include "model/published/dlrm/embedding.hpp"

#include "model/published/collective/curve.hpp"
#include "model/published/models.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace inline_prof::model {
namespace {

using std::int64_t;

// Returns x / y, rounded up; both are positive.
constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}
// Returns x / y, rounded down also for negative x, as Python's // does; C++ rounds towards 0.
constexpr std::int64_t floor_div(std::int64_t x, std::int64_t y) {
  return x / y - (x % y < 0 ? 1 : 0);
}
// Returns `bytes` rounded up to sectors of 32 bytes, which DRAM and L2 move.
constexpr std::int64_t in_sectors(std::int64_t bytes) {
  return 32 * ceil_div(bytes, 32);
}

// GB/s and GFLOP/s are 1e3 a microsecond.
constexpr double kPerMicrosecond = 1000.0;

constexpr int64_t kOffsetBytes = 64;  // of a table and of a sample
constexpr double kOffsetBytesV2 = 96;

constexpr int64_t kMib = 1048576;
constexpr int64_t kKib = 1024;

// The GPUs that the authors of the models of 2022 to 2024 measured, as published (ml_perf_model,
// analysis/inference.py at 5b2522a).  L2 bandwidth by size is known of the V100 only and used for
// all.
struct LookupGpu {
  std::string_view name;
  double throughput_gflops, dram_gb_per_s, l2_gb_per_s;
  int64_t sm_count, l2_bytes, shared_bytes_per_sm;
};
constexpr std::array kGpus{
    LookupGpu{"A100", 15026.615, 1391.103, 2270.919, 108, 40 * kMib, 160 * kKib},
    LookupGpu{"V100", 15441.524, 816.953, 2847.457, 80, 6 * kMib, 64 * kKib},
    LookupGpu{"GV100", 13035.91, 601.045, 2466.657, 80, 6 * kMib, 64 * kKib},
    LookupGpu{"Xp", 10768.622, 438.699, 1406.454, 30, 3 * kMib, 48 * kKib},
    LookupGpu{"P100", 9343.711, 543.406, 1591.259, 56, 4 * kMib, 64 * kKib},
};

// The last published one, fitted on a V100; removed upstream in 2023-05.
constexpr collective::Curve kL2Curve{1,       0, 40,
                                     2289.23, 1, {0.80007547, 25.35998915, 0.72015376, 2.56152161}};

constexpr double kUsableL2 = 0.9;
constexpr int64_t kFbgemmForwardWarps = 45;  // 64 warps at an occupancy of 0.71

// FBGEMM's backward kernel halves its rows a block until their gradients fit into two thirds of the
// shared memory.
int64_t backward_warps(const LookupShape& shape, const LookupGpu& gpu) {
  if (shape.rows_per_block > 0) return shape.rows_per_block;
  const double two_thirds = 2.0 / 3.0 * static_cast<double>(gpu.shared_bytes_per_sm);
  const double limit = std::floor(two_thirds / 16.0) * 16.0;
  const auto warp_bytes = static_cast<double>(512 * ceil_div(shape.dim, 128));
  int64_t warps = 32;
  while (warps > 1 && static_cast<double>(warps) * warp_bytes >= limit)
    warps /= 2;
  return warps;
}

// Without a reason: fitted to the kernels' times by their authors.
double short_row_factor(int64_t dim) {
  if (dim > 64) return 1.0;
  return dim > 32 ? 1.1 : 1.55;
}

// The sizes of one look-up, in the words of the formulas.
struct Sizes {
  explicit Sizes(const LookupShape& shape)
      : tables(static_cast<double>(shape.tables)),
        batch(static_cast<double>(shape.batch)),
        row_bytes(static_cast<double>(in_sectors(4 * shape.dim))),
        index_bytes(static_cast<double>(in_sectors(4 * shape.bag))),
        bag_bytes(static_cast<double>(shape.bag) * row_bytes),
        // Whole vectors of 4 elements; what is left is not counted.
        multiply_adds(batch * tables *
                      static_cast<double>(shape.bag * (shape.dim - shape.dim % 4))) {}

  // Returns the bytes that the L2 and the DRAM move, of which `reread` hit with this chance.
  // `read_in_l2`: of a sample beside its rows.
  [[nodiscard]] std::pair<double, double> l2_and_dram(double read_in_l2, double reread,
                                                      double hit_rate, double cached) const {
    return {tables * (batch * read_in_l2 + hit_rate * reread),
            tables * (batch * (index_bytes + row_bytes) + (1.0 - hit_rate) * reread + cached)};
  }
  // Everything that the second version reads and writes, where `bags` times a bag is.
  [[nodiscard]] double bytes(double bags) const {
    return batch * tables * (kOffsetBytesV2 + index_bytes + bags * bag_bytes + row_bytes);
  }

  double tables, batch, row_bytes, index_bytes, bag_bytes, multiply_adds;
};

// Returns prod over i < terms of (cached - i) / (rows - i): how likely `terms` different rows are
// all among the cached ones.  Needs terms <= rows.  The original multiplies all the terms; most
// products are 0 after a few of them.
double all_cached(int64_t cached, int64_t rows, int64_t terms) {
  if (cached == rows) return 1.0;  // every factor is exactly 1
  double product = 1.0;
  for (int64_t i = 0; i < terms && product != 0.0; ++i) {
    product *= static_cast<double>(cached - i) / static_cast<double>(rows - i);
  }
  return product;
}

}  // namespace

std::optional<LookupForward> lookup_forward(const LookupShape& shape,
                                            const LookupMachine& machine) {
  // The chance of a hit has a term for each sample, where one for each row of the bag was meant.
  if (shape.rows < shape.batch) return std::nullopt;

  LookupForward result;
  result.tables_at_once = ceil_div(machine.sm_count * shape.rows_per_block, shape.batch);
  result.cached_bytes =
      std::min(machine.l2_bytes / result.tables_at_once, shape.rows * shape.dim * 4);
  const int64_t index_bytes = in_sectors(4 * shape.bag);
  const int64_t index_bytes_in_l2 = shape.keeps_indices_in_shared_memory ? 0 : index_bytes;
  result.cached_rows = floor_div(floor_div(result.cached_bytes - index_bytes_in_l2, 4), shape.dim);
  result.hit_rate = all_cached(result.cached_rows, shape.rows, shape.batch);

  const Sizes sizes(shape);
  const auto dim = static_cast<double>(shape.dim);
  const auto cached = static_cast<double>(result.cached_bytes);
  const double threads = std::max(dim / 4.0, 1024.0 / static_cast<double>(shape.rows_per_block));
  const double index_reads_from_l2 =
      std::floor(dim / (4.0 * threads)) * static_cast<double>(index_bytes_in_l2);
  std::tie(result.l2_bytes, result.dram_bytes) =
      sizes.l2_and_dram(static_cast<double>(kOffsetBytes) + index_reads_from_l2,
                        sizes.batch * sizes.bag_bytes - cached, result.hit_rate, cached);
  result.dram_us = result.dram_bytes / machine.dram_gb_per_s / kPerMicrosecond;
  result.l2_us = result.l2_bytes / machine.l2_gb_per_s / kPerMicrosecond;
  return result;
}

LookupBackward lookup_backward_sgd(const LookupShape& shape, const LookupMachine& machine) {
  const Sizes sizes(shape);
  const auto bag = static_cast<double>(shape.bag);
  // Without shared memory every row of the bag reads its index and its gradient again.
  const bool shared = shape.keeps_indices_in_shared_memory;
  const double index_bytes = shared ? sizes.index_bytes : 32 * bag;
  const double gradient_bytes = shared ? sizes.row_bytes : 2 * sizes.bag_bytes;
  const double warp_bytes = kOffsetBytes + index_bytes + 2 * sizes.bag_bytes + gradient_bytes;
  return {.memory_us =
              sizes.batch * sizes.tables * warp_bytes / machine.dram_gb_per_s / kPerMicrosecond,
          .compute_us = sizes.multiply_adds / machine.throughput_gflops / kPerMicrosecond};
}

double lookup_backward_rowwise_adagrad_us(const LookupShape& shape, const LookupMachine& machine) {
  const Sizes sizes(shape);
  const double warp_bytes =
      kOffsetBytes + 2 * sizes.index_bytes + 3 * sizes.bag_bytes + sizes.row_bytes;
  return sizes.batch * sizes.tables * warp_bytes / machine.dram_gb_per_s / kPerMicrosecond;
}

namespace {

// The chance of a hit gives the forward time, which is the model's answer.
struct ForwardV2 {
  int64_t cached_rows;
  double unused_row;  // probability that a row of a table is never read
  double hitrate_us, simple_us;
  bool is_by_l2;
};

ForwardV2 forward_v2(const LookupShape& shape, const LookupGpu& gpu) {
  const Sizes sizes(shape);
  ForwardV2 result{};
  const int64_t lookups = shape.batch * shape.bag;
  const int64_t warps = shape.rows_per_block > 0 ? shape.rows_per_block : kFbgemmForwardWarps;
  const auto tables_at_once = static_cast<double>(ceil_div(gpu.sm_count * warps, shape.batch));
  const double rows_in_l2 = std::floor(kUsableL2 * static_cast<double>(gpu.l2_bytes) /
                                       tables_at_once / 4.0 / static_cast<double>(shape.dim));
  result.cached_rows = std::min({static_cast<int64_t>(rows_in_l2), shape.rows, lookups});

  const auto rows = static_cast<double>(shape.rows);
  const auto all = static_cast<double>(lookups);
  const auto cached = static_cast<double>(result.cached_rows);
  result.unused_row = std::exp(all * std::log1p(-1.0 / rows));
  const double distinct = rows - result.unused_row * rows;
  const double misses =
      distinct > cached ? cached + (all - cached) * (rows - cached) / rows : distinct;
  const double hit_rate = 1.0 - misses / all;

  const collective::Curve& dram = collective::memory_curve(gpu.name);
  const double l2_bytes = sizes.tables * sizes.batch * hit_rate * sizes.bag_bytes;
  const double dram_bytes =
      sizes.tables * (sizes.batch * (sizes.index_bytes + kOffsetBytesV2 + sizes.row_bytes) +
                      sizes.batch * (1.0 - hit_rate) * sizes.bag_bytes);
  const double dram_us = dram.time_us(dram_bytes);
  const double l2_us =
      l2_bytes > 0 ? l2_bytes / kL2Curve.bus_gb_per_s(l2_bytes) / kPerMicrosecond : 0.0;
  result.hitrate_us = short_row_factor(shape.dim) * std::max(dram_us, l2_us);
  result.is_by_l2 = l2_us > dram_us;
  result.simple_us = dram.time_us(sizes.bytes(1));
  return result;
}

// Needs as many rows as the bag has.
double backward_hitrate_us(const LookupShape& shape, const Sizes& sizes, const LookupGpu& gpu,
                           double compute_us) {
  const int64_t tables_at_once = ceil_div(gpu.sm_count * backward_warps(shape, gpu), shape.batch);
  const int64_t cached_bytes = std::min(gpu.l2_bytes / tables_at_once, shape.rows * shape.dim * 4);
  const double hit_rate = all_cached(cached_bytes / 4 / shape.dim, shape.rows, shape.bag);
  const auto cached = static_cast<double>(cached_bytes);
  const auto [l2_bytes, dram_bytes] = sizes.l2_and_dram(
      kOffsetBytesV2, sizes.batch * (2 * sizes.bag_bytes) - cached, hit_rate, cached);
  return std::max({dram_bytes / gpu.dram_gb_per_s / kPerMicrosecond,
                   l2_bytes / gpu.l2_gb_per_s / kPerMicrosecond, compute_us});
}

constexpr Column kGpuColumn =
    word_column("gpu", "A100, V100, GV100, Xp or P100: whose published limits to use", true);
constexpr Column kL2{"peak_l2_bw_gbps",       "GB/s", ColumnKind::kNumber, 1, 1e5, true,
                     "L2 bandwidth, measured"};
constexpr Column kL2Bytes{"l2_size_bytes", "bytes", ColumnKind::kInteger, 1024, 1e12, true,
                          "size of the L2"};
constexpr Column kSmCount = size_column("num_sm", "multiprocessors", 1e4);

constexpr auto kBatch = kLookupColumns[0], kRows = kLookupColumns[1], kTables = kLookupColumns[2],
               kBag = kLookupColumns[3], kDim = kLookupColumns[4],
               kRowsPerBlock = kLookupColumns[5], kShared = kLookupColumns[6];

constexpr std::array kForwardInputs{columns::kDram, kL2,  kL2Bytes, kSmCount,      kBatch, kRows,
                                    kTables,        kBag, kDim,     kRowsPerBlock, kShared};
// Rows of a table and of a block are accepted, as by the original, and change nothing.
constexpr std::array kSgdInputs{columns::kDram,      kBatch, kTables, kBag, kDim, kShared,
                                columns::kThroughput};
constexpr std::array kAdagradInputs{columns::kDram, kBatch, kTables, kBag, kDim, optional(kShared)};
// Without rows of a block it is FBGEMM's kernels, which choose them.
constexpr std::array kV2Inputs{
    kGpuColumn, kBatch, kRows, kTables, kBag, kDim, optional(kRowsPerBlock)};

constexpr std::array<std::string_view, 6> kForwardParts{
    "num_tables_simul", "avg_table_size_bytes", "avg_num_rows_per_table",
    "hit_rate",         "dram_traffic_bytes",   "l2_traffic_bytes"};
constexpr std::array<std::string_view, 2> kSgdParts{"memory_us", "compute_us"};
constexpr std::array<std::string_view, 0> kAdagradParts{};
constexpr std::array<std::string_view, 8> kV2Parts{
    "cached_rows",   "p_row_unused",      "fwd_hitrate_us",     "fwd_error",
    "fwd_simple_us", "bwd_sgd_simple_us", "bwd_sgd_hitrate_us", "bwd_error"};

LookupShape shape_of(const Row& row) {
  return {.batch = row.whole(kBatch.name),
          .rows = row.whole(kRows.name),
          .tables = row.whole(kTables.name),
          .bag = row.whole(kBag.name),
          .dim = row.whole(kDim.name),
          .rows_per_block = row.whole(kRowsPerBlock.name),
          .keeps_indices_in_shared_memory = row.flag(kShared.name)};
}

LookupMachine machine_of(const Row& row) {
  return {.dram_gb_per_s = row.number("peak_dram_bw_gbps"),
          .l2_gb_per_s = row.number("peak_l2_bw_gbps"),
          .throughput_gflops = row.number("peak_throughput_gflops"),
          .l2_bytes = row.whole("l2_size_bytes"),
          .sm_count = row.whole("num_sm")};
}

RowPrediction predict_forward(const Row& row) {
  const LookupShape shape = shape_of(row);
  const auto result = lookup_forward(shape, machine_of(row));
  if (!result) {
    throw NoAnswer{kDivisionByZero,
                   fmt::format("a table of {} rows has no {} different ones: the hit rate divides "
                               "by 0",
                               shape.rows, shape.batch)};
  }
  return with_time(
      std::max(result->dram_us, result->l2_us), result->dram_us >= result->l2_us ? "memory" : "l2",
      {static_cast<double>(result->tables_at_once), static_cast<double>(result->cached_bytes),
       static_cast<double>(result->cached_rows), result->hit_rate, result->dram_bytes,
       result->l2_bytes});
}

RowPrediction predict_backward_sgd(const Row& row) {
  const auto [memory_us, compute_us] = lookup_backward_sgd(shape_of(row), machine_of(row));
  return with_time(std::max(memory_us, compute_us), memory_us >= compute_us ? "memory" : "compute",
                   {memory_us, compute_us});
}

RowPrediction predict_backward_adagrad(const Row& row) {
  return with_time(lookup_backward_rowwise_adagrad_us(shape_of(row), machine_of(row)), "memory");
}

RowPrediction predict_v2(const Row& row) {
  const auto* const gpu = std::ranges::find(kGpus, row.text("gpu"), &LookupGpu::name);
  if (gpu == kGpus.end()) {
    std::vector<std::string_view> names;
    names.reserve(kGpus.size());
    for (const LookupGpu& known : kGpus)
      names.push_back(known.name);
    throw NoAnswer{"KeyError",
                   fmt::format("gpu {}: known are {}", row.text("gpu"), fmt::join(names, ", "))};
  }
  const LookupShape shape = shape_of(row);
  if (shape.bag == 0) throw NoAnswer{kDivisionByZero, "nothing is looked up: bag_size is 0"};
  const Sizes sizes(shape);
  const ForwardV2 forward = forward_v2(shape, *gpu);
  const double compute_us = sizes.multiply_adds / gpu->throughput_gflops / kPerMicrosecond;
  const bool has_rows = shape.rows >= shape.bag;
  return with_time(
      forward.hitrate_us, forward.is_by_l2 ? "l2" : "memory",
      {static_cast<double>(forward.cached_rows), forward.unused_row, forward.hitrate_us,
       std::string(), forward.simple_us,
       std::max(collective::memory_curve(gpu->name).time_us(sizes.bytes(2)), compute_us),
       has_rows ? Part(backward_hitrate_us(shape, sizes, *gpu, compute_us)) : Part(),
       std::string(has_rows ? "" : kDivisionByZero)});
}

// The look-up in the columns of its shape; `pass` is the one that the model is of.
OperationInputs lookup_inputs(const Operation& operation, std::string_view pass) {
  OperationInputs inputs;
  const read::Op& op = operation.op;
  if (op.get<std::string>("pass").value_or("forward") != pass) {
    inputs.reason = fmt::format("the model is of the pass {}", pass);
    inputs.is_another = true;
  }
  constexpr std::array<std::string_view, kLookupColumns.size()> attributes{
      "batch", "rows", "tables", "bag", "dim", "rows_per_block", "shmem"};
  // FBGEMM's blocks are as wide as a warp, and a bag high for each bag; the indices are all that
  // they keep in shared memory.
  if (const auto* launch = operation.kernel.launch; launch != nullptr && launch->block[1] > 1) {
    inputs.add("rows_per_block", static_cast<double>(launch->block[1]));
    inputs.add("shmem", launch->static_shared_bytes + launch->dynamic_shared_bytes > 0 ? 1.0 : 0.0);
  }
  for (std::size_t i = 0; i < attributes.size(); ++i)
    inputs.add_size(kLookupColumns[i].name, op, attributes[i]);
  add_machine(inputs, operation.machine);
  return inputs;
}

// The name by which the authors know the machine; its own where they do not.
OperationInputs v2_inputs(const Operation& operation) {
  const bool is_forward = operation.op.get<std::string>("pass").value_or("forward") == "forward";
  OperationInputs inputs = lookup_inputs(operation, is_forward ? "forward" : "backward_sgd");
  if (!is_forward) inputs.part = "bwd_sgd_hitrate_us";
  std::string gpu = operation.machine.id;
  const std::pair<std::string_view, const char*> names[]{
      {"a100", "A100"}, {"v100", "V100"}, {"titan-xp", "Xp"}};
  for (const auto& [start, name] : names) {
    if (operation.machine.id.starts_with(start)) gpu = name;
  }
  inputs.add("gpu", std::move(gpu));
  return inputs;
}

template <const auto& kInputs, const auto& kParts, RowPrediction (*kPredict)(const Row&)>
ModelEntry entry_of(std::string_view name, std::string_view summary,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .make =
              [](const ModelOptions&) {
                return Model{kInputs, kParts, kPredict};
              },
          .operations = {OpKind::kEmbedding},
          .inputs_of = inputs_of};
}

}  // namespace

ModelEntry embedding_forward_entry() {
  return entry_of<kForwardInputs, kForwardParts, predict_forward>(
      "embedding_forward", "embedding look-up of DLRM (2021): DRAM or L2, by the chance of a hit",
      [](const Operation& op) { return lookup_inputs(op, "forward"); });
}

ModelEntry embedding_backward_sgd_entry() {
  return entry_of<kSgdInputs, kSgdParts, predict_backward_sgd>(
      "embedding_backward_sgd",
      "embedding gradient and SGD update of DLRM (2021): DRAM or arithmetic",
      [](const Operation& op) { return lookup_inputs(op, "backward_sgd"); });
}

ModelEntry embedding_backward_rowwise_adagrad_entry() {
  return entry_of<kAdagradInputs, kAdagradParts, predict_backward_adagrad>(
      "embedding_backward_rowwise_adagrad",
      "embedding gradient and row-wise AdaGrad update of DLRM (2021): DRAM",
      [](const Operation& op) { return lookup_inputs(op, "backward_rowwise_adagrad"); });
}

ModelEntry embedding_v2_entry() {
  return entry_of<kV2Inputs, kV2Parts, predict_v2>(
      "embedding_v2",
      "embedding of DLRM (2022-2024), forward by hit rate; simple forms, SGD as parts", v2_inputs);
}

}  // namespace inline_prof::model
