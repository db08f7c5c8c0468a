#include "model/occupancy.hpp"
#include "model/published/models.hpp"
#include "model/published/seer/evaluation.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model {
namespace {

// Sizes above this are no layer, but bytes or a table of another kind.
constexpr double kMostSize = 1e9;

constexpr Column size(std::string_view name, std::string_view meaning, double least = 1) {
  return {.name = name,
          .unit = "",
          .kind = ColumnKind::kInteger,
          .least = least,
          .most = kMostSize,
          .is_required = false,
          .meaning = meaning,
          .nan_is_missing = true};
}
constexpr Column milliseconds(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .unit = "ms",
          .kind = ColumnKind::kNumber,
          .is_required = false,
          .meaning = meaning,
          .nan_is_missing = true};
}
constexpr Column word(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .unit = "",
          .kind = ColumnKind::kText,
          .is_required = false,
          .meaning = meaning};
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
    word("op", "an operator that is no convolution, such as maxpool"),
    milliseconds("forward_ms", "time of the forward pass, for its gradients"),
    milliseconds("c1", "the same, as SEER's tables of gradients call it"),
};

consteval std::size_t at(std::string_view name) {
  return place_of(kInputs, name);
}
constexpr std::size_t kPickInputs = at("algo");  // how many seer_pick reads

constexpr std::array<std::string_view, 17> kParts = {
    "variant",     "block_max",       "block_launch",  "waves",          "tail_eps",  "type_algo",
    "inst_fp_blk", "dram_read_ratio", "dram_read_blk", "dram_write_blk", "t_compute", "t_dram",
    "t_resource",  "t_main",          "t_pre",         "num_tiles",      "t_algo"};
constexpr std::array<std::string_view, 10> kPickParts = {"algo", "type_algo", "t0", "t1", "t2",
                                                         "t3",   "t4",        "t5", "t6", "t7"};

std::string_view bound_of(seer::KernelType type) {
  switch (type) {
    case seer::KernelType::kCompute:
      return "compute";
    case seer::KernelType::kDram:
      return "memory";
    case seer::KernelType::kUnderUtilised:
      return "latency";
    case seer::KernelType::kUnknown:
      break;
  }
  return "";
}

Part part(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Part(*value) : Part();
}

// Shared by both models: the parameters, the GPU, and the layer of a row.
class SeerTable : public Model {
 public:
  explicit SeerTable(const ModelOptions& options)
      : parameters_(seer::read_seer_parameters(options.params)),
        rules_(options.edition == Edition::kPublished ? seer::kPublishedRules
                                                      : seer::kCorrectedRules),
        gpu_(seer::gpu_of(options)),
        compute_capability_(seer::compute_capability_of(options)),
        input_name_(options.input_name),
        predictor_(parameters_, rules_, gpu_) {}

 protected:
  [[nodiscard]] read::SeerLayer layer_of(const Row& row, bool needs_output) const {
    const std::size_t batch = row.has(at("batch")) ? at("batch") : at("batch_size");
    const auto value = [&](std::size_t input, bool is_needed) -> std::int64_t {
      if (row.has(input)) return std::llround(row.number(input));
      if (!is_needed) return 0;
      throw read::InputError(fmt::format("{}: a row without {}", input_name_, kInputs[input].name));
    };
    return {.batch = value(batch, true),
            .in_channels = value(at("in_chan"), true),
            .in_width = value(at("in_wid"), true),
            .out_channels = value(at("out_chan"), needs_output),
            .out_width = value(at("out_wid"), needs_output),
            .filter_width = value(at("ker_wid"), needs_output),
            .stride = value(at("stride"), needs_output),
            .padding = value(at("padding"), needs_output)};
  }

  // Calls `predict(predictor)` with the resident blocks of the row's kernel, if the row says what
  // its blocks need.
  template <typename Predict>
  [[nodiscard]] RowPrediction with_predictor(const Row& row, Predict&& predict) const {
    try {
      if (!row.has(at("threads_per_block"))) return predict(predictor_);
      const auto sm = sm_limits(compute_capability_);
      if (!sm) return RowPrediction::none("", "the limits of this machine's SMs are not known");
      const Occupancy occupancy = resident_blocks(
          {.threads = std::llround(row.number(at("threads_per_block"))),
           .registers_per_thread = std::llround(row.number_or(at("registers_per_thread"), 0)),
           .shared_bytes = std::llround(row.number_or(at("shared_bytes_per_block"), 0))},
          *sm);
      if (occupancy.blocks_per_sm == 0) {
        return RowPrediction::none(
            "", fmt::format("no block fits into an SM: {}", occupancy_limit_name(occupancy.limit)));
      }
      seer::GpuChoice gpu = gpu_;
      gpu.blocks_per_sm = occupancy.blocks_per_sm;
      return predict(seer::Predictor(parameters_, rules_, gpu));
    } catch (const std::invalid_argument& error) {
      return RowPrediction::none("", error.what());
    }
  }

  // A fit may well extrapolate to a time below 0, which no kernel takes.
  [[nodiscard]] RowPrediction with_time(double time_ms, std::string_view bound) const {
    if (!std::isfinite(time_ms) || (!rules_.sentinel_times && !(time_ms > 0))) {
      return RowPrediction::none("", fmt::format("it would take {:g} ms", time_ms));
    }
    RowPrediction prediction;
    prediction.time_us = time_ms * 1e3;
    prediction.bound = bound;
    return prediction;
  }

  [[nodiscard]] const seer::Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const std::string& input_name() const { return input_name_; }

 private:
  seer::Parameters parameters_;
  seer::Rules rules_;
  seer::GpuChoice gpu_;
  std::string compute_capability_;
  std::string input_name_;
  seer::Predictor predictor_;
};

class SeerModel : public SeerTable {
 public:
  explicit SeerModel(const ModelOptions& options)
      : SeerTable(options), file_algorithm_(seer::algorithm_of_file(options.input_name)) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    if (row.has(at("op"))) return predict_operator(row);
    const auto algorithm = algorithm_of(row);
    const read::SeerLayer layer = layer_of(row, true);
    return with_predictor(row, [&](const seer::Predictor& predictor) {
      return from(predictor.predict(algorithm, layer));
    });
  }

 private:
  [[nodiscard]] seer::Algorithm algorithm_of(const Row& row) const {
    if (row.has(at("algo"))) {
      return static_cast<seer::Algorithm>(std::lround(row.number(at("algo"))));
    }
    if (file_algorithm_) return *file_algorithm_;
    throw read::InputError(fmt::format(
        "{}: a row without algo, and no algo0 to algo7 in the file's name either", input_name()));
  }

  [[nodiscard]] RowPrediction predict_operator(const Row& row) const {
    const seer::OperatorEntry* entry = seer::find_operator(row.text(at("op")));
    if (entry == nullptr) {
      std::string names;
      for (const seer::OperatorEntry& known : seer::kOperators) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
      }
      throw read::InputError(fmt::format("{}: unknown op {}: expected one of {}", input_name(),
                                         row.text(at("op")), names));
    }
    const bool is_layout = entry->name == "data_layout";
    const std::size_t forward = row.has(at("forward_ms")) ? at("forward_ms") : at("c1");
    const std::optional<double> forward_ms =
        row.has(forward) ? std::optional(row.number(forward)) : std::nullopt;
    try {
      return with_time(
          seer::predict_operator(parameters(), *entry, layer_of(row, !is_layout), forward_ms), "");
    } catch (const std::invalid_argument& error) {
      return RowPrediction::none("", error.what());
    }
  }

  [[nodiscard]] RowPrediction from(const seer::AlgorithmPrediction& p) const {
    RowPrediction prediction =
        p.time_ms ? with_time(*p.time_ms, bound_of(p.type)) : RowPrediction::none("", p.reason);
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

  std::optional<seer::Algorithm> file_algorithm_;
};

class SeerPick : public SeerTable {
 public:
  using SeerTable::SeerTable;

  [[nodiscard]] std::span<const Column> inputs() const override {
    return std::span(kInputs).first(kPickInputs);
  }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kPickParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const read::SeerLayer layer = layer_of(row, true);
    return with_predictor(row, [&](const seer::Predictor& predictor) {
      const seer::Pick pick = predictor.pick(layer);
      if (!pick.best) return RowPrediction::none("", "no algorithm can compute this layer");
      const seer::AlgorithmPrediction& best = pick.algorithms[*pick.best];
      RowPrediction prediction = with_time(*best.time_ms, bound_of(best.type));
      prediction.parts = {static_cast<double>(*pick.best), static_cast<double>(best.type)};
      for (const seer::AlgorithmPrediction& each : pick.algorithms) {
        prediction.parts.push_back(part(each.time_ms));
      }
      return prediction;
    });
  }
};

// A convolution as SEER sees it: square, in one group, without dilation.
OperationInputs inputs_of(const Operation& operation) {
  const read::Op& op = operation.op;
  const auto size = [&](const char* name, std::int64_t otherwise) {
    return op.get<std::int64_t>(name).value_or(otherwise);
  };
  OperationInputs inputs;
  const auto r = size("r", 0), stride = size("stride", 1), pad = size("pad", 0), h = size("h", 0);
  if (h != size("w", h) || r != size("s", r) || size("groups", 1) != 1 ||
      size("dilation", 1) != 1 || op.get<std::vector<std::int64_t>>("stride") ||
      op.get<std::vector<std::int64_t>>("pad")) {
    inputs.reason = "SEER knows square convolutions of one group without dilation only";
  }
  inputs.add_size("batch", op, "n");
  inputs.add_size("in_chan", op, "c");
  inputs.add_size("in_wid", op, "h");
  inputs.add_size("out_chan", op, "k");
  inputs.add_size("ker_wid", op, "r");
  inputs.add("stride", static_cast<double>(stride));
  inputs.add("padding", static_cast<double>(pad));
  if (stride > 0 && h + 2 * pad >= r) {
    inputs.add("out_wid", static_cast<double>(size("p", (h + 2 * pad - r) / stride + 1)));
  }
  inputs.add_size("algo", op, "algo");
  const std::string direction = op.get<std::string>("direction").value_or("forward");
  if (direction == "backward_data") inputs.add("op", "conv_grad_input");
  if (direction == "backward_filter") inputs.add("op", "conv_grad_filter");
  return inputs;
}

OperationInputs pick_inputs_of(const Operation& operation) {
  OperationInputs inputs = inputs_of(operation);
  if (operation.op.get<std::string>("direction").value_or("forward") != "forward") {
    inputs.reason = "the model is of the forward pass";
  }
  return inputs;
}

template <typename OwnModel>
ModelEntry entry_of() {
  ModelEntry entry;
  entry.make = [](const ModelOptions& options) -> std::unique_ptr<Model> {
    return std::make_unique<OwnModel>(options);
  };
  entry.operations = {OpKind::kConv};
  entry.editions = {Edition::kPublished, Edition::kCalibrated};
  entry.machine = Need::kOptional;
  entry.params = Need::kRequired;
  entry.params_meaning =
      "own fit (prof-model fit), or a table of coefficients (seer_coeffs.csv) with its trees "
      "beside it";
  entry.judge = seer::judge_tables;
  entry.operation_needs_inputs = true;
  return entry;
}

}  // namespace

ModelEntry seer_entry() {
  ModelEntry seer = entry_of<SeerModel>();
  seer.name = "seer";
  seer.summary = "SEER: a forward convolution in one of cuDNN's algorithms, and other operators";
  seer.inputs = kInputs;
  seer.inputs_of = inputs_of;
  return seer;
}

ModelEntry seer_pick_entry() {
  ModelEntry pick = entry_of<SeerPick>();
  pick.name = "seer_pick";
  pick.summary = "SEER: the time of each of cuDNN's algorithms, and the one to pick";
  pick.inputs = std::span(kInputs).first(kPickInputs);
  pick.inputs_of = pick_inputs_of;
  return pick;
}

}  // namespace inline_prof::model
