#include "model/published/dlrm/embedding.hpp"
#include "model/published/dlrm/lookup.hpp"
#include "model/published/dlrm/shape_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace inline_prof::model {
namespace {

enum Input : std::size_t {
  kDram,
  kL2,
  kL2Bytes,
  kSmCount,
  kBatch,
  kRows,
  kTables,
  kBag,
  kDim,
  kRowsPerBlock,
  kShared
};

constexpr std::array kInputs{columns::kDram,         columns::kL2,    columns::kL2Bytes,
                             columns::kSmCount,      columns::kBatch, columns::kRows,
                             columns::kTables,       columns::kBag,   columns::kDim,
                             columns::kRowsPerBlock, columns::kShared};

constexpr std::array<std::string_view, 6> kParts{"num_tables_simul",       "avg_table_size_bytes",
                                                 "avg_num_rows_per_table", "hit_rate",
                                                 "dram_traffic_bytes",     "l2_traffic_bytes"};

LookupShape shape_of(const Row& row) {
  return {.batch = whole(row, kBatch),
          .rows = whole(row, kRows),
          .tables = whole(row, kTables),
          .bag = whole(row, kBag),
          .dim = whole(row, kDim),
          .rows_per_block = whole(row, kRowsPerBlock),
          .keeps_indices_in_shared_memory = row.flag(kShared)};
}

LookupMachine machine_of(const Row& row) {
  return {.dram_gb_per_s = row.number(kDram),
          .l2_gb_per_s = row.number(kL2),
          .throughput_gflops = 0.0,
          .l2_bytes = whole(row, kL2Bytes),
          .sm_count = whole(row, kSmCount)};
}

class EmbeddingForward : public Model {
 public:
  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const auto result = lookup_forward(shape_of(row), machine_of(row));
    if (!result) {
      return RowPrediction::none(
          kDivisionByZero,
          fmt::format("a table of {} rows has no {} different ones: the hit rate divides by 0",
                      whole(row, kRows), whole(row, kBatch)));
    }
    RowPrediction prediction = with_time(std::max(result->dram_us, result->l2_us),
                                         result->dram_us >= result->l2_us ? "memory" : "l2");
    if (!prediction.time_us) return prediction;
    prediction.parts = {static_cast<double>(result->tables_at_once),
                        static_cast<double>(result->cached_bytes),
                        static_cast<double>(result->cached_rows),
                        result->hit_rate,
                        result->dram_bytes,
                        result->l2_bytes};
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    const LookupMachine machine = machine_of(row);
    const auto result = lookup_forward(shape_of(row), machine);
    if (!result) return Model::explain(row);
    return fmt::format(
        "  cached rows of a table: {} of {} ({} bytes, {} tables at once)\n"
        "  hit rate = {}\n"
        "  DRAM: {} bytes / {} GB/s = {} us\n"
        "  L2: {} bytes / {} GB/s = {} us\n"
        "  time = max(DRAM, L2) = {} us",
        result->cached_rows, whole(row, kRows), result->cached_bytes, result->tables_at_once,
        result->hit_rate, result->dram_bytes, machine.dram_gb_per_s, result->dram_us,
        result->l2_bytes, machine.l2_gb_per_s, result->l2_us,
        std::max(result->dram_us, result->l2_us));
  }
};

std::unique_ptr<Model> make(const ModelOptions&) {
  return std::make_unique<EmbeddingForward>();
}

}  // namespace

ModelEntry embedding_forward_entry() {
  return {.name = "embedding_forward",
          .summary = "embedding look-up of DLRM (2021): DRAM or L2, by the chance of a hit",
          .modes = {Mode::kCompat},
          .inputs = kInputs,
          .make = make};
}

}  // namespace inline_prof::model
