// What the tables of the DLRM models have in common: columns, and how results leave a model.
#pragma once

#include "model/model.hpp"
#include "model/published/dlrm/lookup.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

namespace inline_prof::model::columns {

// 100 TB/s and 100 PFLOP/s: what is more is in bytes/s, MB/s or FLOP/s; what is below 1 in TB/s.
inline constexpr Column kDram{"peak_dram_bw_gbps",       "GB/s", ColumnKind::kNumber, 1, 1e5, true,
                              "DRAM bandwidth, measured"};
inline constexpr Column kL2{"peak_l2_bw_gbps",       "GB/s", ColumnKind::kNumber, 1, 1e5, true,
                            "L2 bandwidth, measured"};
inline constexpr Column kThroughput{
    "peak_throughput_gflops",
    "GFLOP/s",
    ColumnKind::kNumber,
    1,
    1e8,
    true,
    "single-precision throughput; the originals count a multiply-add as one operation"};
inline constexpr Column kL2Bytes{"l2_size_bytes", "bytes", ColumnKind::kInteger, 1024, 1e12, true,
                                 "size of the L2"};
inline constexpr Column kSmCount{"num_sm", "",   ColumnKind::kInteger, 1,
                                 1e4,      true, "multiprocessors"};

// Beyond these a product of them would leave 64-bit integers, or a hit rate take seconds.
inline constexpr Column kBatch{"batch_size", "", ColumnKind::kInteger, 1, 1e8, true, "samples"};
inline constexpr Column kRows{"num_embeddings", "", ColumnKind::kInteger, 1, 1e12, true,
                              "rows of a table"};
inline constexpr Column kTables{"num_tables", "", ColumnKind::kInteger, 1, 1e6, true, "tables"};
inline constexpr Column kBag{
    "bag_size", "", ColumnKind::kInteger, 0, 1e6, true, "rows that a sample reads of a table"};
inline constexpr Column kDim{
    "embedding_dim", "", ColumnKind::kInteger, 1, 65536, true, "elements of a row, 4 bytes each"};
inline constexpr Column kRowsPerBlock{"rows_per_block",
                                      "",
                                      ColumnKind::kInteger,
                                      1,
                                      1024,
                                      true,
                                      "samples that a thread block works on"};
inline constexpr Column kShared{
    "shmem", "", ColumnKind::kFlag, 0, 1, true, "indices are kept in shared memory"};

[[nodiscard]] constexpr Column optional(Column column) {
  column.is_required = false;
  return column;
}

}  // namespace inline_prof::model::columns

namespace inline_prof::model {

// The names by which the originals, which are Python, end.
inline constexpr std::string_view kDivisionByZero = "ZeroDivisionError";
inline constexpr std::string_view kNoElement = "IndexError";

[[nodiscard]] inline std::int64_t whole(const Row& row, std::size_t input) {
  return static_cast<std::int64_t>(row.number_or(input, 0.0));
}

// Sizes far outside of what can exist may give any number.
[[nodiscard]] inline RowPrediction with_time(double time_us, std::string_view bound) {
  if (!std::isfinite(time_us)) {
    return RowPrediction::none("", fmt::format("the time would be {}", time_us));
  }
  RowPrediction prediction;
  prediction.time_us = time_us;
  prediction.bound = bound;
  return prediction;
}

}  // namespace inline_prof::model
