#include "model/published/dlrm/embedding.hpp"
#include "model/published/dlrm/lookup_v2.hpp"
#include "model/published/dlrm/shape_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>

namespace inline_prof::model {
namespace {

enum Input : std::size_t { kGpu, kBatch, kRows, kTables, kBag, kDim, kRowsPerBlock };

constexpr Column kGpuColumn{"gpu",
                            "",
                            ColumnKind::kText,
                            0,
                            0,
                            true,
                            "A100, V100, GV100, Xp or P100: whose published limits to use"};

constexpr std::array kInputs{
    kGpuColumn,
    columns::kBatch,
    columns::kRows,
    columns::kTables,
    columns::kBag,
    columns::kDim,
    columns::optional(columns::kRowsPerBlock)};  // empty: FBGEMM's kernels, which choose it

constexpr std::array<std::string_view, 8> kParts{
    "cached_rows",   "p_row_unused",      "fwd_hitrate_us",     "fwd_error",
    "fwd_simple_us", "bwd_sgd_simple_us", "bwd_sgd_hitrate_us", "bwd_error"};

std::string gpu_names() {
  std::string names;
  for (const LookupGpu& gpu : lookup_gpus())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", gpu.name);
  return names;
}

class EmbeddingV2 : public Model {
 public:
  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const LookupGpu* gpu = find_lookup_gpu(row.text(kGpu));
    if (gpu == nullptr) {
      return RowPrediction::none("KeyError",
                                 fmt::format("gpu {}: known are {}", row.text(kGpu), gpu_names()));
    }
    if (whole(row, kBag) == 0) {
      return RowPrediction::none(kDivisionByZero, "nothing is looked up: bag_size is 0");
    }
    const LookupV2 result = lookup_v2({.batch = whole(row, kBatch),
                                       .rows = whole(row, kRows),
                                       .tables = whole(row, kTables),
                                       .bag = whole(row, kBag),
                                       .dim = whole(row, kDim),
                                       .rows_per_block = whole(row, kRowsPerBlock)},
                                      *gpu);
    RowPrediction prediction = with_time(result.forward_us, result.forward_by_l2 ? "l2" : "memory");
    if (!prediction.time_us) return prediction;
    prediction.parts = {static_cast<double>(result.cached_rows),
                        result.unused_row,
                        result.forward_us,
                        std::string(),
                        result.forward_simple_us,
                        result.backward_sgd_simple_us,
                        result.backward_sgd_us ? Part(*result.backward_sgd_us) : Part(),
                        std::string(result.backward_sgd_us ? "" : kDivisionByZero)};
    return prediction;
  }
};

std::unique_ptr<Model> make(const ModelOptions&) {
  return std::make_unique<EmbeddingV2>();
}

}  // namespace

ModelEntry embedding_v2_entry() {
  return {
      .name = "embedding_v2",
      .summary = "embedding of DLRM (2022-2024), forward by hit rate; simple forms, SGD as parts",
      .modes = {Mode::kCompat},
      .inputs = kInputs,
      .make = make};
}

}  // namespace inline_prof::model
