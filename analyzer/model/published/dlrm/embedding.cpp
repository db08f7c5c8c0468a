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

LookupShape shape_of(const NamedRow& row) {
  return {.batch = row.whole(kBatch.name),
          .rows = row.whole(kRows.name),
          .tables = row.whole(kTables.name),
          .bag = row.whole(kBag.name),
          .dim = row.whole(kDim.name),
          .rows_per_block = row.whole(kRowsPerBlock.name),
          .keeps_indices_in_shared_memory = row.flag(kShared.name)};
}

LookupMachine machine_of(const NamedRow& row) {
  return {.dram_gb_per_s = row.number("peak_dram_bw_gbps"),
          .l2_gb_per_s = row.number("peak_l2_bw_gbps"),
          .throughput_gflops = row.number("peak_throughput_gflops"),
          .l2_bytes = row.whole("l2_size_bytes"),
          .sm_count = row.whole("num_sm")};
}

RowPrediction with_parts(RowPrediction prediction, std::vector<Part> parts) {
  if (prediction.time_us) prediction.parts = std::move(parts);
  return prediction;
}

RowPrediction predict_forward(const NamedRow& row) {
  const LookupShape shape = shape_of(row);
  const auto result = lookup_forward(shape, machine_of(row));
  if (!result) {
    return RowPrediction::none(
        kDivisionByZero,
        fmt::format("a table of {} rows has no {} different ones: the hit rate divides by 0",
                    shape.rows, shape.batch));
  }
  return with_parts(
      with_time(std::max(result->dram_us, result->l2_us),
                result->dram_us >= result->l2_us ? "memory" : "l2"),
      {static_cast<double>(result->tables_at_once), static_cast<double>(result->cached_bytes),
       static_cast<double>(result->cached_rows), result->hit_rate, result->dram_bytes,
       result->l2_bytes});
}

RowPrediction predict_backward_sgd(const NamedRow& row) {
  const auto [memory_us, compute_us] = lookup_backward_sgd(shape_of(row), machine_of(row));
  return with_parts(
      with_time(std::max(memory_us, compute_us), memory_us >= compute_us ? "memory" : "compute"),
      {memory_us, compute_us});
}

RowPrediction predict_backward_adagrad(const NamedRow& row) {
  return with_time(lookup_backward_rowwise_adagrad_us(shape_of(row), machine_of(row)), "memory");
}

RowPrediction predict_v2(const NamedRow& row) {
  const LookupGpu* gpu = find_lookup_gpu(row.text("gpu"));
  if (gpu == nullptr) {
    return RowPrediction::none(
        "KeyError", fmt::format("gpu {}: known are {}", row.text("gpu"), lookup_gpu_names()));
  }
  const LookupShape shape = shape_of(row);
  if (shape.bag == 0)
    return RowPrediction::none(kDivisionByZero, "nothing is looked up: bag_size is 0");
  const LookupV2 result = lookup_v2(shape, *gpu);
  return with_parts(with_time(result.forward_us, result.forward_by_l2 ? "l2" : "memory"),
                    {static_cast<double>(result.cached_rows), result.unused_row, result.forward_us,
                     std::string(), result.forward_simple_us, result.backward_sgd_simple_us,
                     result.backward_sgd_us ? Part(*result.backward_sgd_us) : Part(),
                     std::string(result.backward_sgd_us ? "" : kDivisionByZero)});
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

template <const auto& kInputs, const auto& kParts, RowPrediction (*kPredict)(const NamedRow&)>
ModelEntry entry_of(std::string_view name, std::string_view summary,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .make =
              [](const ModelOptions&) {
                return as_model({kInputs, kParts, kPredict});
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
