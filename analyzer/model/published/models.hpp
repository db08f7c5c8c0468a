// The published models: an entry of the registry for each, and what several of them share.
#pragma once

#include "model/model.hpp"

#include <string>
#include <string_view>

namespace inline_prof::model {

// Embedding look-ups of DLRM: dlrm/embedding.md.
[[nodiscard]] ModelEntry embedding_forward_entry();
[[nodiscard]] ModelEntry embedding_backward_sgd_entry();
[[nodiscard]] ModelEntry embedding_backward_rowwise_adagrad_entry();
[[nodiscard]] ModelEntry embedding_v2_entry();
// Fully connected layers of DLRM: dlrm/product_table.md.
[[nodiscard]] ModelEntry fc_entry();
// SEER: the time of a convolution in the algorithm of a row, or of one of its other operators; and
// the time of each algorithm with the one to pick (seer/README.md).
[[nodiscard]] ModelEntry seer_entry();
[[nodiscard]] ModelEntry seer_pick_entry();
// torchao's roofline of low-precision training: float8/README.md.
[[nodiscard]] ModelEntry roofline_gemm_entry();
[[nodiscard]] ModelEntry roofline_cast_entry();
[[nodiscard]] ModelEntry roofline_linear_entry();
// Curves of collectives and of device memory: collective/README.md.
[[nodiscard]] ModelEntry collective_entry();
// NVIDIA's package nvidia-matmul-heuristics, where the user has it (docs/models/nvmmh.md).
[[nodiscard]] ModelEntry nvmmh_entry();

// Columns as most of them are.
[[nodiscard]] constexpr Column size_column(std::string_view name, std::string_view meaning,
                                           double most, double least = 1) {
  return {name, "", ColumnKind::kInteger, least, most, true, meaning};
}
[[nodiscard]] constexpr Column word_column(std::string_view name, std::string_view meaning,
                                           bool is_required = false) {
  return {name, "", ColumnKind::kText, 0, 0, is_required, meaning};
}
[[nodiscard]] constexpr Column flag_column(std::string_view name, std::string_view meaning,
                                           bool is_required = false) {
  return {name, "", ColumnKind::kFlag, 0, 1, is_required, meaning};
}
[[nodiscard]] constexpr Column optional(Column column) {
  column.is_required = false;
  return column;
}

// The names by which the originals, which are Python, end.
inline constexpr std::string_view kDivisionByZero = "ZeroDivisionError";
inline constexpr std::string_view kNoElement = "IndexError";

// A prediction of this time.  None where it is no number: sizes far outside of what can exist may
// give any.
[[nodiscard]] RowPrediction with_time(double time_us, std::string_view bound,
                                      std::vector<Part> parts = {});

// The columns that several models read.
namespace columns {

// 100 TB/s and 100 PFLOP/s: what is more is in bytes/s, MB/s or FLOP/s; what is below 1 in TB/s.
inline constexpr Column kDram{"peak_dram_bw_gbps",       "GB/s", ColumnKind::kNumber, 1, 1e5, true,
                              "DRAM bandwidth, measured"};
inline constexpr Column kThroughput{
    "peak_throughput_gflops",
    "GFLOP/s",
    ColumnKind::kNumber,
    1,
    1e8,
    true,
    "single-precision throughput; the originals count a multiply-add as one operation"};

}  // namespace columns

// The machine in these columns.  `type`: of the numbers that it multiplies.
void add_machine(OperationInputs& inputs, const read::Machine& machine,
                 const std::string& type = "f32");

}  // namespace inline_prof::model
