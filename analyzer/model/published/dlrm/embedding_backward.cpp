#include "model/published/dlrm/embedding.hpp"
#include "model/published/dlrm/lookup.hpp"
#include "model/published/dlrm/shape_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace inline_prof::model {
namespace {

// The columns of the AdaGrad model come first, in the same order, in those of the SGD model.  Rows
// of a table and of a block are accepted, as by the original, and change nothing.
enum Input : std::size_t { kDram, kBatch, kTables, kBag, kDim, kShared, kThroughput };

constexpr std::array kAdagradInputs{columns::kDram,   columns::kBatch,
                                    columns::kTables, columns::kBag,
                                    columns::kDim,    columns::optional(columns::kShared)};
constexpr std::array kSgdInputs{columns::kDram,      columns::kBatch, columns::kTables,
                                columns::kBag,       columns::kDim,   columns::kShared,
                                columns::kThroughput};

constexpr std::array<std::string_view, 2> kSgdParts{"memory_us", "compute_us"};

LookupShape shape_of(const Row& row) {
  return {.batch = whole(row, kBatch),
          .rows = 0,
          .tables = whole(row, kTables),
          .bag = whole(row, kBag),
          .dim = whole(row, kDim),
          .rows_per_block = 0,
          .keeps_indices_in_shared_memory = row.flag(kShared)};
}

class EmbeddingBackwardSgd : public Model {
 public:
  [[nodiscard]] std::span<const Column> inputs() const override { return kSgdInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kSgdParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const LookupBackward result = backward(row);
    RowPrediction prediction =
        with_time(std::max(result.memory_us, result.compute_us),
                  result.memory_us >= result.compute_us ? "memory" : "compute");
    if (prediction.time_us) prediction.parts = {result.memory_us, result.compute_us};
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    const LookupBackward result = backward(row);
    return fmt::format(
        "  memory: {} bytes / {} GB/s = {} us\n"
        "  compute: {} multiply-adds / {} GFLOP/s = {} us\n"
        "  time = max(memory, compute) = {} us",
        result.memory_us * row.number(kDram) * 1e3, row.number(kDram), result.memory_us,
        result.compute_us * row.number(kThroughput) * 1e3, row.number(kThroughput),
        result.compute_us, std::max(result.memory_us, result.compute_us));
  }

 private:
  static LookupBackward backward(const Row& row) {
    return lookup_backward_sgd(shape_of(row), {.dram_gb_per_s = row.number(kDram),
                                               .l2_gb_per_s = 0.0,
                                               .throughput_gflops = row.number(kThroughput),
                                               .l2_bytes = 0,
                                               .sm_count = 0});
  }
};

class EmbeddingBackwardAdagrad : public Model {
 public:
  [[nodiscard]] std::span<const Column> inputs() const override { return kAdagradInputs; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    return with_time(time_us(row), "memory");
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    return fmt::format("  time = {} bytes / {} GB/s = {} us",
                       time_us(row) * row.number(kDram) * 1e3, row.number(kDram), time_us(row));
  }

 private:
  static double time_us(const Row& row) {
    return lookup_backward_rowwise_adagrad_us(shape_of(row), {.dram_gb_per_s = row.number(kDram),
                                                              .l2_gb_per_s = 0.0,
                                                              .throughput_gflops = 0.0,
                                                              .l2_bytes = 0,
                                                              .sm_count = 0});
  }
};

std::unique_ptr<Model> make_sgd(const ModelOptions&) {
  return std::make_unique<EmbeddingBackwardSgd>();
}

std::unique_ptr<Model> make_adagrad(const ModelOptions&) {
  return std::make_unique<EmbeddingBackwardAdagrad>();
}

}  // namespace

ModelEntry embedding_backward_sgd_entry() {
  return {.name = "embedding_backward_sgd",
          .summary = "embedding gradient and SGD update of DLRM (2021): DRAM or arithmetic",
          .modes = {Mode::kCompat},
          .inputs = kSgdInputs,
          .make = make_sgd};
}

ModelEntry embedding_backward_rowwise_adagrad_entry() {
  return {.name = "embedding_backward_rowwise_adagrad",
          .summary = "embedding gradient and row-wise AdaGrad update of DLRM (2021): DRAM",
          .modes = {Mode::kCompat},
          .inputs = kAdagradInputs,
          .make = make_adagrad};
}

}  // namespace inline_prof::model
