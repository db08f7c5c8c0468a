#include "model/published/dlrm/lookup.hpp"

#include <algorithm>
#include <cmath>

namespace inline_prof::model {
namespace {

using std::int64_t;

// GB/s and GFLOP/s are 1e3 a microsecond.
constexpr double kPerMicrosecond = 1000.0;

constexpr int64_t kTableOffsetBytes = 32;
constexpr int64_t kOffsetBytes = 32;

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

  const auto batch = static_cast<double>(shape.batch);
  const auto tables = static_cast<double>(shape.tables);
  const auto dim = static_cast<double>(shape.dim);
  const auto cached_bytes = static_cast<double>(result.cached_bytes);
  const double threads = std::max(dim / 4.0, 1024.0 / static_cast<double>(shape.rows_per_block));
  const double index_reads_from_l2 =
      std::floor(dim / (4.0 * threads)) * static_cast<double>(index_bytes_in_l2);
  const int64_t row_bytes = in_sectors(4 * shape.dim);
  const double reread_bytes = batch * static_cast<double>(shape.bag * row_bytes) - cached_bytes;

  result.l2_bytes = tables * (batch * (kTableOffsetBytes + kOffsetBytes + index_reads_from_l2) +
                              result.hit_rate * reread_bytes);
  result.dram_bytes = tables * (batch * static_cast<double>(index_bytes + row_bytes) +
                                (1.0 - result.hit_rate) * reread_bytes + cached_bytes);
  result.dram_us = result.dram_bytes / machine.dram_gb_per_s / kPerMicrosecond;
  result.l2_us = result.l2_bytes / machine.l2_gb_per_s / kPerMicrosecond;
  return result;
}

LookupBackward lookup_backward_sgd(const LookupShape& shape, const LookupMachine& machine) {
  const int64_t row_bytes = in_sectors(4 * shape.dim);
  // Without shared memory every row of the bag reads its index and its gradient again.
  const bool shared = shape.keeps_indices_in_shared_memory;
  const int64_t index_bytes = shared ? in_sectors(4 * shape.bag) : 32 * shape.bag;
  const int64_t gradient_bytes = shared ? row_bytes : 2 * shape.bag * row_bytes;
  const int64_t warp_bytes =
      kTableOffsetBytes + kOffsetBytes + index_bytes + 2 * shape.bag * row_bytes + gradient_bytes;
  const auto warps = static_cast<double>(shape.batch * shape.tables);
  const int64_t whole_vectors = shape.dim / 4;  // of 4 elements; what is left is not counted
  const double multiply_adds = warps * static_cast<double>(shape.bag * 4 * whole_vectors);
  return {.memory_us =
              warps * static_cast<double>(warp_bytes) / machine.dram_gb_per_s / kPerMicrosecond,
          .compute_us = multiply_adds / machine.throughput_gflops / kPerMicrosecond};
}

double lookup_backward_rowwise_adagrad_us(const LookupShape& shape, const LookupMachine& machine) {
  const int64_t row_bytes = in_sectors(4 * shape.dim);
  const int64_t warp_bytes = kTableOffsetBytes + kOffsetBytes + 2 * in_sectors(4 * shape.bag) +
                             shape.bag * row_bytes + (shape.bag + 1) * row_bytes +
                             shape.bag * row_bytes;
  return static_cast<double>(shape.batch * shape.tables) * static_cast<double>(warp_bytes) /
         machine.dram_gb_per_s / kPerMicrosecond;
}

}  // namespace inline_prof::model
