#include "model/occupancy.hpp"
#include "model/published/seer/predictor.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

namespace inline_prof::model {
namespace {

// Sizes above this are no layer, but bytes or a table of another kind.
constexpr double kMostSize = 1e9;

constexpr Column size(std::string_view name, std::string_view meaning, double least = 1) {
  Column column = optional(size_column(name, meaning, kMostSize, least));
  column.nan_is_missing = true;
  return column;
}
constexpr Column milliseconds(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .unit = "ms",
          .kind = ColumnKind::kNumber,
          .is_required = false,
          .meaning = meaning,
          .nan_is_missing = true};
}

// None is required of every row: a change of layout has an input only, and the batch has two names.
constexpr std::array kInputs = {
    size("batch", "images, N"),
    size("batch_size", "the same, as SEER's own tables call it"),
    size("in_chan", "channels of the input, C"),
    size("in_wid", "width and height of the input, Wi"),
    size("out_chan", "channels of the output, K"),
    size("out_wid", "width and height of the output, Wo"),
    size("ker_wid", "width and height of the filter, k"),
    size("stride", "s"),
    size("padding", "p", 0),
    size("threads_per_block", "of the kernel, where it is known: gives the blocks an SM holds"),
    size("registers_per_thread", "of the kernel; beside threads_per_block", 0),
    size("shared_bytes_per_block", "of the kernel; beside threads_per_block", 0),
    Column{.name = "algo",
           .unit = "",
           .kind = ColumnKind::kInteger,
           .least = 0,
           .most = 7,
           .is_required = false,
           .meaning = "cuDNN's number of the algorithm; else the one in the file's name"},
    word_column("op", "an operator that is no convolution, such as maxpool"),
    milliseconds("forward_ms",
                 "time of the forward pass, for its gradients; else of the algorithm to pick"),
    milliseconds("c1", "the same, as SEER's tables of gradients call it"),
};
constexpr auto kPickInputs = std::span(kInputs).first<place_of(kInputs, "algo")>();

constexpr std::array<std::string_view, 17> kParts = {
    "variant",     "block_max",       "block_launch",  "waves",          "tail_eps",  "type_algo",
    "inst_fp_blk", "dram_read_ratio", "dram_read_blk", "dram_write_blk", "t_compute", "t_dram",
    "t_resource",  "t_main",          "t_pre",         "num_tiles",      "t_algo"};
constexpr std::array<std::string_view, 10> kPickParts = {"algo", "type_algo", "t0", "t1", "t2",
                                                         "t3",   "t4",        "t5", "t6", "t7"};

std::string_view bound_of(seer::KernelType type) {
  constexpr std::array<std::string_view, 4> bounds{"", "compute", "memory", "latency"};
  return bounds[static_cast<std::size_t>(type) + 1];
}

Part part(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Part(*value) : Part();
}

// The algorithm in the name of a file: 4 for "seer_algo4.csv".
std::optional<seer::Algorithm> algorithm_of_file(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view word = "algo";
  for (std::size_t place = name.find(word); place != std::string::npos;
       place = name.find(word, place + 1)) {
    const std::size_t digit = place + word.size();
    if (digit < name.size() && name[digit] >= '0' && name[digit] <= '7')
      return static_cast<seer::Algorithm>(name[digit] - '0');
  }
  return std::nullopt;
}

// The parameters, the GPU, and the layers of a table.
class SeerTable {
 public:
  explicit SeerTable(const ModelOptions& options)
      : parameters_(seer::read_seer_parameters(options.params)),
        edition_(options.edition),
        gpu_(seer::gpu_of(options)),
        compute_capability_(options.machine ? options.machine->compute_capability : "6.1"),
        input_name_(options.input_name) {}

  [[nodiscard]] RowPrediction predict(const Row& row) const {
    if (row.has("op")) return predict_operator(row);
    const auto algorithm = row.has("algo") ? static_cast<seer::Algorithm>(row.whole("algo"))
                                           : algorithm_of_file(input_name_);
    if (!algorithm) {
      throw read::InputError(fmt::format(
          "{}: a row without algo, and no algo0 to algo7 in the file's name either", input_name_));
    }
    return from(predictor_of(row).predict(*algorithm, layer_of(row, true)));
  }

  [[nodiscard]] RowPrediction pick(const Row& row) const {
    const seer::Pick pick = predictor_of(row).pick(layer_of(row, true));
    if (!pick.best) throw NoAnswer{"", "no algorithm can compute this layer"};
    const seer::AlgorithmPrediction& best = pick.algorithms[*pick.best];
    RowPrediction prediction = time_of(*best.time_ms, bound_of(best.type));
    prediction.parts = {static_cast<double>(*pick.best), static_cast<double>(best.type)};
    for (const seer::AlgorithmPrediction& each : pick.algorithms)
      prediction.parts.push_back(part(each.time_ms));
    return prediction;
  }

 private:
  [[nodiscard]] read::SeerLayer layer_of(const Row& row, bool needs_output) const {
    constexpr std::array<std::string_view, 7> sizes{"in_chan", "in_wid", "out_chan", "out_wid",
                                                    "ker_wid", "stride", "padding"};
    std::vector<std::string_view> needed{row.first_of({"batch", "batch_size"})};
    needed.insert(needed.end(), sizes.begin(), needs_output ? sizes.end() : sizes.begin() + 2);
    for (const std::string_view size : needed) {
      if (!row.has(size))
        throw read::InputError(fmt::format("{}: a row without {}", input_name_, size));
    }
    return seer::layer_of(row);
  }

  // With the resident blocks of the row's kernel, if the row says what its blocks need.
  [[nodiscard]] seer::Predictor predictor_of(const Row& row) const {
    seer::GpuChoice gpu = gpu_;
    if (row.has("threads_per_block")) {
      const auto sm = sm_limits(compute_capability_);
      if (!sm) throw std::invalid_argument("the limits of this machine's SMs are not known");
      const Occupancy occupancy =
          resident_blocks({.threads = row.whole("threads_per_block"),
                           .registers_per_thread = row.whole("registers_per_thread"),
                           .shared_bytes = row.whole("shared_bytes_per_block")},
                          *sm);
      if (occupancy.blocks_per_sm == 0) {
        throw std::invalid_argument(
            fmt::format("no block fits into an SM: {}", occupancy_limit_name(occupancy.limit)));
      }
      gpu.blocks_per_sm = occupancy.blocks_per_sm;
    }
    return {parameters_, edition_, gpu};
  }

  // A fit may well extrapolate to a time below 0, which no kernel takes.
  [[nodiscard]] RowPrediction time_of(double time_ms, std::string_view bound) const {
    if (!std::isfinite(time_ms) || (edition_ == Edition::kCalibrated && !(time_ms > 0)))
      return RowPrediction::none("", fmt::format("it would take {:g} ms", time_ms));
    return with_time(time_ms * 1e3, bound);
  }

  [[nodiscard]] RowPrediction predict_operator(const Row& row) const {
    const seer::OperatorEntry* entry = seer::find_operator(row.text("op"));
    if (entry == nullptr) {
      std::vector<std::string_view> names;
      names.reserve(seer::kOperators.size());
      for (const seer::OperatorEntry& known : seer::kOperators)
        names.push_back(known.name);
      throw read::InputError(fmt::format("{}: unknown op {}: expected one of {}", input_name_,
                                         row.text("op"), fmt::join(names, ", ")));
    }
    const read::SeerLayer layer = layer_of(row, entry->name != "data_layout");
    const std::string_view forward = row.first_of({"forward_ms", "c1"});
    std::optional<double> forward_ms;
    if (row.has(forward)) forward_ms = row.number(forward);
    if (!forward_ms && entry->coefficient_count == 0) {
      const seer::Pick pick = predictor_of(row).pick(layer);
      if (pick.best) forward_ms = pick.algorithms[*pick.best].time_ms;
    }
    return time_of(seer::predict_operator(parameters_, *entry, layer, forward_ms), "");
  }

  [[nodiscard]] RowPrediction from(const seer::AlgorithmPrediction& p) const {
    RowPrediction prediction =
        p.time_ms ? time_of(*p.time_ms, bound_of(p.type)) : RowPrediction::none("", p.reason);
    const bool has_variant = p.variant != seer::kNoVariant;
    const seer::BlockPrediction main = p.main.value_or(seer::BlockPrediction{});
    const auto of_main = [&](double value) { return p.main ? part(value) : Part(); };
    prediction.parts = {
        has_variant ? Part(std::string(seer::kVariants[p.variant].name)) : Part(),
        of_main(main.resident_blocks),
        of_main(main.blocks),
        of_main(main.waves),
        of_main(main.tail),
        static_cast<double>(p.type),
        of_main(main.instructions),
        of_main(main.read_ratio),
        of_main(main.reads),
        of_main(main.writes),
        part(main.compute_ms),
        part(main.dram_ms),
        part(main.resource_ms),
        of_main(main.main_ms),
        of_main(p.helpers_ms),
        p.tiles > 0 ? part(p.tiles) : Part(),
        part(p.time_ms),
    };
    return prediction;
  }

  seer::Parameters parameters_;
  Edition edition_;
  seer::GpuChoice gpu_;
  std::string compute_capability_;
  std::string input_name_;
};

std::int64_t size_in(const read::Op& op, std::string_view name, std::int64_t otherwise) {
  return op.get<std::int64_t>(name).value_or(otherwise);
}

// The sizes of a convolution or a pooling as SEER sees them: square, in one group, not dilated.
OperationInputs layer_inputs(const read::Op& op) {
  OperationInputs inputs;
  const auto r = size_in(op, "r", 0), stride = size_in(op, "stride", 1),
             pad = size_in(op, "pad", 0), h = size_in(op, "h", 0);
  if (h != size_in(op, "w", h) || r != size_in(op, "s", r) || size_in(op, "groups", 1) != 1 ||
      size_in(op, "dilation", 1) != 1 || op.get<std::vector<std::int64_t>>("stride") ||
      op.get<std::vector<std::int64_t>>("pad")) {
    inputs.reason = "SEER knows square convolutions of one group without dilation only";
  }
  if (op.get<std::string>("type").value_or("f32") != "f32")
    inputs.reason = "SEER is of kernels in f32";
  inputs.add_size("batch", op, "n");
  inputs.add_size("in_chan", op, "c");
  inputs.add_size("in_wid", op, "h");
  inputs.add_size("out_chan", op, op.find("k") == nullptr ? "c" : "k");
  inputs.add_size("ker_wid", op, "r");
  inputs.add("stride", static_cast<double>(stride));
  inputs.add("padding", static_cast<double>(pad));
  if (stride > 0 && h + 2 * pad >= r)
    inputs.add("out_wid", static_cast<double>(size_in(op, "p", (h + 2 * pad - r) / stride + 1)));
  return inputs;
}

// Pooling by its class, a change of layout by its kernel: its elements are all that counts.
OperationInputs memory_inputs(const Operation& operation) {
  const std::string kind = operation.op.get<std::string>("class").value_or("");
  const bool is_gradient = kind == "max_pooling_backward";
  if (is_gradient || kind == "max_pooling") {
    OperationInputs inputs = layer_inputs(operation.op);
    inputs.add("op", is_gradient ? "maxpool_grad" : "maxpool");
    return inputs;
  }
  OperationInputs inputs;
  const std::string_view kernel = operation.kernel.name;
  if (kernel.find("nchwToNhwc") == kernel.npos && kernel.find("nhwcToNchw") == kernel.npos) {
    inputs.reason = "neither pooling nor a change of layout";
    inputs.is_another = true;
  }
  inputs.add("batch", 1.0);
  inputs.add("in_wid", 1.0);
  inputs.add_size("in_chan", operation.op, "elements");
  inputs.add("op", "data_layout");
  return inputs;
}

OperationInputs inputs_of(const Operation& operation) {
  const read::Op& op = operation.op;
  if (op.kind == op_kind_name(OpKind::kMemory)) return memory_inputs(operation);
  OperationInputs inputs = layer_inputs(op);
  inputs.add_size("algo", op, "algo");
  const std::string direction = op.get<std::string>("direction").value_or("forward");
  if (direction == "backward_data") inputs.add("op", "conv_grad_input");
  if (direction == "backward_filter") inputs.add("op", "conv_grad_filter");
  // TensorFlow ran them as products.
  const bool is_product = size_in(op, "r", 0) == 1 && size_in(op, "stride", 1) == 1 &&
                          size_in(op, "pad", 0) == 0 && op.find("algo") == nullptr;
  constexpr std::int64_t narrow = 128;
  if (direction == "forward" && is_product) {
    inputs.add("op", size_in(op, "k", 0) > narrow ? "conv_1x1_larger128" : "conv_1x1_less128");
  }
  return inputs;
}

OperationInputs pick_inputs_of(const Operation& operation) {
  OperationInputs inputs = layer_inputs(operation.op);
  if (operation.op.get<std::string>("direction").value_or("forward") != "forward") {
    inputs.reason = "the model is of the forward pass";
    inputs.is_another = true;
  }
  return inputs;
}

template <const auto& kColumns, const auto& kPartNames,
          RowPrediction (SeerTable::*kPredict)(const Row&) const>
ModelEntry entry_of() {
  return {.editions = {Edition::kPublished, Edition::kCalibrated},
          .inputs = kColumns,
          .machine = Need::kOptional,
          .params = Need::kRequired,
          .params_meaning =
              "own fit (prof-model fit), or a table of coefficients (seer_coeffs.csv) with its "
              "trees beside it",
          .make =
              [](const ModelOptions& options) {
                const auto table = std::make_shared<const SeerTable>(options);
                return Model{kColumns, kPartNames,
                             [table](const Row& row) { return ((*table).*kPredict)(row); }};
              },
          .judge = seer::judge_tables,
          .operations = {OpKind::kConv},
          .operation_needs_inputs = true};
}

}  // namespace

ModelEntry seer_entry() {
  ModelEntry seer = entry_of<kInputs, kParts, &SeerTable::predict>();
  seer.name = "seer";
  seer.summary = "SEER: a forward convolution in one of cuDNN's algorithms, and other operators";
  seer.operations = {OpKind::kConv, OpKind::kMemory};
  seer.inputs_of = inputs_of;
  return seer;
}

ModelEntry seer_pick_entry() {
  ModelEntry pick = entry_of<kPickInputs, kPickParts, &SeerTable::pick>();
  pick.name = "seer_pick";
  pick.summary = "SEER: the time of each of cuDNN's algorithms, and the one to pick";
  pick.shares_params = "seer";
  pick.inputs_of = pick_inputs_of;
  return pick;
}

}  // namespace inline_prof::model
