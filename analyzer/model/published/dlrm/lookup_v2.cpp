#include "model/published/dlrm/lookup_v2.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace inline_prof::model {
namespace {

using std::int64_t;

constexpr int64_t kMib = 1048576;
constexpr int64_t kKib = 1024;

// ml_perf_model, analysis/inference.py at 5b2522a.  For Xp and P100 the upper end of the DRAM curve
// stands there for one that was not measured.
constexpr std::array<LookupGpu, 5> kGpus{{
    {"A100",
     15026.615,
     1391.103,
     2270.919,
     108,
     40 * kMib,
     160 * kKib,
     {1, 14, 29, 1391.103638, 6.450239, {2.20955621, 20.35203082, 0.62528837, 0.93242722}}},
    {"V100",
     15441.524,
     816.953,
     2847.457,
     80,
     6 * kMib,
     64 * kKib,
     {1, 16, 30, 816.953003, 4.83328223, {1.9472268, 19.81699009, 0.55556443, 0.95523816}}},
    {"GV100",
     13035.91,
     601.045,
     2466.657,
     80,
     6 * kMib,
     64 * kKib,
     {1, 15, 28, 601.045715, 6.963206, {2.56635526, 18.54562595, 0.4196576, 0.27275451}}},
    {"Xp",
     10768.622,
     438.699,
     1406.454,
     30,
     3 * kMib,
     48 * kKib,
     {1, 16, 27, 816.953003, 4.83328223, {6.53478964, 11.78536754, 0.19557855, -3.4045424}}},
    {"P100",
     9343.711,
     543.406,
     1591.259,
     56,
     4 * kMib,
     64 * kKib,
     {1, 16, 27, 816.953003, 4.83328223, {6.53478964, 11.78536754, 0.19557855, -3.4045424}}},
}};

// The last published one, fitted on a V100; removed upstream in 2023-05.
constexpr collective::Curve kL2Curve{1,       0, 40,
                                     2289.23, 1, {0.80007547, 25.35998915, 0.72015376, 2.56152161}};

constexpr double kUsableL2 = 0.9;
constexpr int64_t kFbgemmForwardWarps = 45;  // 64 warps at an occupancy of 0.71
constexpr int64_t kTableOffsetBytes = 32;
constexpr int64_t kOffsetBytes = 64;

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

void add_forward(const LookupShape& shape, const LookupGpu& gpu, LookupV2& result) {
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

  const auto tables = static_cast<double>(shape.tables);
  const auto batch = static_cast<double>(shape.batch);
  const auto row_bytes = static_cast<double>(in_sectors(4 * shape.dim));
  const auto index_bytes = static_cast<double>(in_sectors(4 * shape.bag));
  const double bag_bytes = static_cast<double>(shape.bag) * row_bytes;
  const double offset_bytes = kTableOffsetBytes + kOffsetBytes;
  const double l2_bytes = tables * batch * hit_rate * bag_bytes;
  const double dram_bytes = tables * (batch * (index_bytes + offset_bytes + row_bytes) +
                                      batch * (1.0 - hit_rate) * bag_bytes);
  const double dram_us = gpu.dram.time_us(dram_bytes);
  const double l2_us = l2_bytes > 0 ? l2_bytes / kL2Curve.bus_gb_per_s(l2_bytes) / 1000.0 : 0.0;
  result.forward_us = short_row_factor(shape.dim) * std::max(dram_us, l2_us);
  result.forward_by_l2 = l2_us > dram_us;
  result.forward_simple_us =
      gpu.dram.time_us(batch * tables * (offset_bytes + index_bytes + bag_bytes + row_bytes));
}

void add_backward(const LookupShape& shape, const LookupGpu& gpu, LookupV2& result) {
  const auto tables = static_cast<double>(shape.tables);
  const auto batch = static_cast<double>(shape.batch);
  const auto row_bytes = static_cast<double>(in_sectors(4 * shape.dim));
  const auto index_bytes = static_cast<double>(in_sectors(4 * shape.bag));
  const double bag_bytes = 2.0 * static_cast<double>(shape.bag) * row_bytes;
  const double offset_bytes = kTableOffsetBytes + kOffsetBytes;
  const int64_t whole_vectors = shape.dim / 4;  // of 4 elements; what is left is not counted
  const double multiply_adds = batch * tables * static_cast<double>(shape.bag * 4 * whole_vectors);
  const double compute_us = multiply_adds / gpu.throughput_gflops / 1000.0;
  result.backward_sgd_simple_us = std::max(
      gpu.dram.time_us(batch * tables * (offset_bytes + index_bytes + bag_bytes + row_bytes)),
      compute_us);

  if (shape.rows < shape.bag) return;
  const int64_t tables_at_once = ceil_div(gpu.sm_count * backward_warps(shape, gpu), shape.batch);
  const int64_t cached_bytes = std::min(gpu.l2_bytes / tables_at_once, shape.rows * shape.dim * 4);
  const double hit_rate = all_cached(cached_bytes / 4 / shape.dim, shape.rows, shape.bag);
  const double reread_bytes = batch * bag_bytes - static_cast<double>(cached_bytes);
  const double l2_bytes = tables * (batch * offset_bytes + hit_rate * reread_bytes);
  const double dram_bytes =
      tables * (batch * (index_bytes + row_bytes) + (1.0 - hit_rate) * reread_bytes +
                static_cast<double>(cached_bytes));
  result.backward_sgd_us = std::max(
      {dram_bytes / gpu.dram_gb_per_s / 1000.0, l2_bytes / gpu.l2_gb_per_s / 1000.0, compute_us});
}

}  // namespace

std::span<const LookupGpu> lookup_gpus() {
  return kGpus;
}

const LookupGpu* find_lookup_gpu(std::string_view name) {
  const auto it = std::find_if(kGpus.begin(), kGpus.end(),
                               [&](const LookupGpu& gpu) { return gpu.name == name; });
  return it == kGpus.end() ? nullptr : &*it;
}

LookupV2 lookup_v2(const LookupShape& shape, const LookupGpu& gpu) {
  LookupV2 result;
  add_forward(shape, gpu, result);
  add_backward(shape, gpu, result);
  return result;
}

}  // namespace inline_prof::model
