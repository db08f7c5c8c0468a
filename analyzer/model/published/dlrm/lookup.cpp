#include "model/published/dlrm/lookup.hpp"

#include "model/published/collective/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace inline_prof::model {
namespace {

using std::int64_t;

// GB/s and GFLOP/s are 1e3 a microsecond.
constexpr double kPerMicrosecond = 1000.0;

constexpr int64_t kOffsetBytes = 64;  // of a table and of a sample
constexpr double kOffsetBytesV2 = 96;

constexpr int64_t kMib = 1048576;
constexpr int64_t kKib = 1024;

// ml_perf_model, analysis/inference.py at 5b2522a.
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
        multiply_adds(batch * tables * static_cast<double>(shape.bag * 4 * (shape.dim / 4))) {}

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

void add_forward(const LookupShape& shape, const LookupGpu& gpu, LookupV2& result) {
  const Sizes sizes(shape);
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
  result.forward_us = short_row_factor(shape.dim) * std::max(dram_us, l2_us);
  result.forward_by_l2 = l2_us > dram_us;
  result.forward_simple_us = dram.time_us(sizes.bytes(1));
}

void add_backward(const LookupShape& shape, const LookupGpu& gpu, LookupV2& result) {
  const Sizes sizes(shape);
  const double compute_us = sizes.multiply_adds / gpu.throughput_gflops / kPerMicrosecond;
  result.backward_sgd_simple_us =
      std::max(collective::memory_curve(gpu.name).time_us(sizes.bytes(2)), compute_us);

  if (shape.rows < shape.bag) return;
  const int64_t tables_at_once = ceil_div(gpu.sm_count * backward_warps(shape, gpu), shape.batch);
  const int64_t cached_bytes = std::min(gpu.l2_bytes / tables_at_once, shape.rows * shape.dim * 4);
  const double hit_rate = all_cached(cached_bytes / 4 / shape.dim, shape.rows, shape.bag);
  const auto cached = static_cast<double>(cached_bytes);
  const auto [l2_bytes, dram_bytes] = sizes.l2_and_dram(
      kOffsetBytesV2, sizes.batch * (2 * sizes.bag_bytes) - cached, hit_rate, cached);
  result.backward_sgd_us = std::max({dram_bytes / gpu.dram_gb_per_s / kPerMicrosecond,
                                     l2_bytes / gpu.l2_gb_per_s / kPerMicrosecond, compute_us});
}

}  // namespace

// The original multiplies all the terms; most products are 0 after a few of them.
double all_cached(int64_t cached, int64_t rows, int64_t terms) {
  if (cached == rows) return 1.0;  // every factor is exactly 1
  double product = 1.0;
  for (int64_t i = 0; i < terms && product != 0.0; ++i) {
    product *= static_cast<double>(cached - i) / static_cast<double>(rows - i);
  }
  return product;
}

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

const LookupGpu* find_lookup_gpu(std::string_view name) {
  const auto* const it = std::ranges::find(kGpus, name, &LookupGpu::name);
  return it == kGpus.end() ? nullptr : it;
}

std::string lookup_gpu_names() {
  std::string names;
  for (const LookupGpu& gpu : kGpus)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", gpu.name);
  return names;
}

LookupV2 lookup_v2(const LookupShape& shape, const LookupGpu& gpu) {
  LookupV2 result;
  add_forward(shape, gpu, result);
  add_backward(shape, gpu, result);
  return result;
}

}  // namespace inline_prof::model
