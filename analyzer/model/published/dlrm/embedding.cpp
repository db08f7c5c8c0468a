// The embedding models of DLRM as models of tables.
#include "model/published/dlrm/lookup.hpp"
#include "model/published/models.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace inline_prof::model {
namespace {

constexpr Column kGpuColumn{"gpu",
                            "",
                            ColumnKind::kText,
                            0,
                            0,
                            true,
                            "A100, V100, GV100, Xp or P100: whose published limits to use"};
constexpr Column kL2{"peak_l2_bw_gbps",       "GB/s", ColumnKind::kNumber, 1, 1e5, true,
                     "L2 bandwidth, measured"};
constexpr Column kL2Bytes{"l2_size_bytes", "bytes", ColumnKind::kInteger, 1024, 1e12, true,
                          "size of the L2"};
constexpr Column kSmCount{"num_sm", "", ColumnKind::kInteger, 1, 1e4, true, "multiprocessors"};

constexpr auto kBatch = kLookupColumns[0], kRows = kLookupColumns[1], kTables = kLookupColumns[2],
               kBag = kLookupColumns[3], kDim = kLookupColumns[4],
               kRowsPerBlock = kLookupColumns[5], kShared = kLookupColumns[6];

constexpr std::array kForwardInputs{columns::kDram, kL2,  kL2Bytes, kSmCount,      kBatch, kRows,
                                    kTables,        kBag, kDim,     kRowsPerBlock, kShared};
// Rows of a table and of a block are accepted, as by the original, and change nothing.
constexpr std::array kSgdInputs{columns::kDram,      kBatch, kTables, kBag, kDim, kShared,
                                columns::kThroughput};
constexpr std::array kAdagradInputs{columns::kDram, kBatch, kTables,
                                    kBag,           kDim,   columns::optional(kShared)};
constexpr std::array kV2Inputs{
    kGpuColumn,
    kBatch,
    kRows,
    kTables,
    kBag,
    kDim,
    columns::optional(kRowsPerBlock)};  // empty: FBGEMM's kernels, which choose it

constexpr std::array<std::string_view, 6> kForwardParts{
    "num_tables_simul", "avg_table_size_bytes", "avg_num_rows_per_table",
    "hit_rate",         "dram_traffic_bytes",   "l2_traffic_bytes"};
constexpr std::array<std::string_view, 2> kSgdParts{"memory_us", "compute_us"};
constexpr std::array<std::string_view, 8> kV2Parts{
    "cached_rows",   "p_row_unused",      "fwd_hitrate_us",     "fwd_error",
    "fwd_simple_us", "bwd_sgd_simple_us", "bwd_sgd_hitrate_us", "bwd_error"};

RowPrediction predict_forward(const Row& row) {
  constexpr auto at = [](std::string_view name) consteval {
    return place_of(kForwardInputs, name);
  };
  const auto result = lookup_forward({.batch = row.whole(at("batch_size")),
                                      .rows = row.whole(at("num_embeddings")),
                                      .tables = row.whole(at("num_tables")),
                                      .bag = row.whole(at("bag_size")),
                                      .dim = row.whole(at("embedding_dim")),
                                      .rows_per_block = row.whole(at("rows_per_block")),
                                      .keeps_indices_in_shared_memory = row.flag(at("shmem"))},
                                     {.dram_gb_per_s = row.number(at("peak_dram_bw_gbps")),
                                      .l2_gb_per_s = row.number(at("peak_l2_bw_gbps")),
                                      .l2_bytes = row.whole(at("l2_size_bytes")),
                                      .sm_count = row.whole(at("num_sm"))});
  if (!result) {
    return RowPrediction::none(
        kDivisionByZero,
        fmt::format("a table of {} rows has no {} different ones: the hit rate divides by 0",
                    row.whole(at("num_embeddings")), row.whole(at("batch_size"))));
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

// The two backward models begin with the same columns.
LookupShape backward_shape(const Row& row) {
  constexpr auto at = [](std::string_view name) consteval {
    return place_of(kAdagradInputs, name);
  };
  return {.batch = row.whole(at("batch_size")),
          .tables = row.whole(at("num_tables")),
          .bag = row.whole(at("bag_size")),
          .dim = row.whole(at("embedding_dim")),
          .keeps_indices_in_shared_memory = row.flag(at("shmem"))};
}

RowPrediction predict_backward_sgd(const Row& row) {
  const LookupBackward result = lookup_backward_sgd(
      backward_shape(row),
      {.dram_gb_per_s = row.number(place_of(kSgdInputs, "peak_dram_bw_gbps")),
       .throughput_gflops = row.number(place_of(kSgdInputs, "peak_throughput_gflops"))});
  RowPrediction prediction =
      with_time(std::max(result.memory_us, result.compute_us),
                result.memory_us >= result.compute_us ? "memory" : "compute");
  if (prediction.time_us) prediction.parts = {result.memory_us, result.compute_us};
  return prediction;
}

RowPrediction predict_backward_adagrad(const Row& row) {
  return with_time(
      lookup_backward_rowwise_adagrad_us(
          backward_shape(row),
          {.dram_gb_per_s = row.number(place_of(kAdagradInputs, "peak_dram_bw_gbps"))}),
      "memory");
}

RowPrediction predict_v2(const Row& row) {
  constexpr auto at = [](std::string_view name) consteval {
    return place_of(kV2Inputs, name);
  };
  const LookupGpu* gpu = find_lookup_gpu(row.text(at("gpu")));
  if (gpu == nullptr) {
    return RowPrediction::none(
        "KeyError", fmt::format("gpu {}: known are {}", row.text(at("gpu")), lookup_gpu_names()));
  }
  if (row.whole(at("bag_size")) == 0) {
    return RowPrediction::none(kDivisionByZero, "nothing is looked up: bag_size is 0");
  }
  const LookupV2 result = lookup_v2({.batch = row.whole(at("batch_size")),
                                     .rows = row.whole(at("num_embeddings")),
                                     .tables = row.whole(at("num_tables")),
                                     .bag = row.whole(at("bag_size")),
                                     .dim = row.whole(at("embedding_dim")),
                                     .rows_per_block = row.whole(at("rows_per_block"))},
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

// A model without parameters: a function of its row.
struct RowFunction {
  std::span<const Column> inputs;
  std::span<const std::string_view> parts;
  RowPrediction (*predict)(const Row& row);
};

template <const RowFunction& kFunction>
class FunctionModel : public Model {
 public:
  [[nodiscard]] std::span<const Column> inputs() const override { return kFunction.inputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kFunction.parts; }
  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    return kFunction.predict(row);
  }
};

constexpr RowFunction kForward{kForwardInputs, kForwardParts, predict_forward};
constexpr RowFunction kSgd{kSgdInputs, kSgdParts, predict_backward_sgd};
constexpr RowFunction kAdagrad{kAdagradInputs, {}, predict_backward_adagrad};
constexpr RowFunction kV2{kV2Inputs, kV2Parts, predict_v2};

// The look-up in the columns of its shape; `pass` is the one that the model is of.
OperationInputs lookup_inputs(const Operation& operation, std::string_view pass) {
  OperationInputs inputs;
  const read::Op& op = operation.op;
  if (op.get<std::string>("pass").value_or("forward") != pass) {
    inputs.reason = fmt::format("the model is of the pass {}", pass);
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
  const std::string& id = operation.machine.id;
  std::string gpu = id;
  const std::pair<std::string_view, const char*> names[]{
      {"a100", "A100"}, {"v100", "V100"}, {"titan-xp", "Xp"}};
  for (const auto& [start, name] : names) {
    if (id.starts_with(start)) gpu = name;
  }
  inputs.add("gpu", std::move(gpu));
  return inputs;
}

template <const RowFunction& kFunction>
ModelEntry entry_of(std::string_view name, std::string_view summary,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = kFunction.inputs,
          .make = [](const ModelOptions&) -> std::unique_ptr<Model> {
            return std::make_unique<FunctionModel<kFunction>>();
          },
          .operations = {OpKind::kEmbedding},
          .inputs_of = inputs_of};
}

}  // namespace

ModelEntry embedding_forward_entry() {
  return entry_of<kForward>("embedding_forward",
                            "embedding look-up of DLRM (2021): DRAM or L2, by the chance of a hit",
                            [](const Operation& op) { return lookup_inputs(op, "forward"); });
}

ModelEntry embedding_backward_sgd_entry() {
  return entry_of<kSgd>("embedding_backward_sgd",
                        "embedding gradient and SGD update of DLRM (2021): DRAM or arithmetic",
                        [](const Operation& op) { return lookup_inputs(op, "backward_sgd"); });
}

ModelEntry embedding_backward_rowwise_adagrad_entry() {
  return entry_of<kAdagrad>(
      "embedding_backward_rowwise_adagrad",
      "embedding gradient and row-wise AdaGrad update of DLRM (2021): DRAM",
      [](const Operation& op) { return lookup_inputs(op, "backward_rowwise_adagrad"); });
}

ModelEntry embedding_v2_entry() {
  return entry_of<kV2>(
      "embedding_v2",
      "embedding of DLRM (2022-2024), forward by hit rate; simple forms, SGD as parts", v2_inputs);
}

}  // namespace inline_prof::model
