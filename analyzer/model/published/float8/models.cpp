// torchao's roofline as models of tables: the three products of a layer, the casts of a tensor, and
// a whole layer in bf16 and in a lower precision.
#include "model/published/models.hpp"

#include "model/published/float8/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace inline_prof::model {
namespace {

using namespace float8;

constexpr Column kGpu{"gpu", "", ColumnKind::kText, 0, 0, true, "name of the GPU"};
constexpr Column kFloat8{"float8_recipe",           "", ColumnKind::kText, 0, 0, false,
                         "tensorwise, rowwise, ..."};
constexpr Column kMx{"mx_recipe", "", ColumnKind::kText, 0, 0, false, "mxfp8_cublas, ..."};

constexpr Column size_column(std::string_view name, std::string_view meaning) {
  // 1e9: beyond it a size is in another unit.
  return {name, "", ColumnKind::kInteger, 1, 1e9, true, meaning};
}
constexpr Column kM = size_column("M", "rows of the input");
constexpr Column kK = size_column("K", "columns of the input");
constexpr Column kN = size_column("N", "columns of the weight");

RowPrediction timed(Seconds time, std::string_view bound) {
  RowPrediction prediction;
  prediction.time_us = in_microseconds(time);
  prediction.bound = bound;
  return prediction;
}

const GemmTime& longest(const std::vector<GemmTime>& products) {
  return *std::ranges::max_element(products, {}, &GemmTime::time);
}

// A line for each kernel, each with a line break before it.
std::string explain_casts(std::span<const NamedCast> casts, const Gpu& gpu) {
  std::string text;
  for (const NamedCast& cast : casts) {
    for (const CastKernel& kernel : cast.kernels)
      text += fmt::format("\n  cast of {} = {}", cast.tensor, explain(kernel, gpu));
  }
  return text;
}

// Rows name their GPU, and the edition of the constants says what it can do.
class Float8Model : public Model {
 public:
  explicit Float8Model(ConstantSet constants) : constants_(constants) {}

  [[nodiscard]] RowPrediction predict(const Row& row) const final {
    try {
      return time_of(row);
    } catch (const Refusal& refusal) {
      return RowPrediction::none(refusal.error, refusal.reason);
    }
  }
  [[nodiscard]] std::string explain(const Row& row) const final {
    try {
      return formula(row);
    } catch (const Refusal& refusal) {
      if (refusal.error.empty()) return refusal.reason;
      return fmt::format("{}: {}", refusal.error, refusal.reason);
    }
  }

 protected:
  // Both throw Refusal.
  [[nodiscard]] virtual RowPrediction time_of(const Row& row) const = 0;
  [[nodiscard]] virtual std::string formula(const Row& row) const = 0;

  [[nodiscard]] ConstantSet constants() const { return constants_; }
  [[nodiscard]] bool is_main() const { return constants_ == ConstantSet::kMain; }

 private:
  ConstantSet constants_;
};

class RooflineGemm : public Float8Model {
 public:
  using Float8Model::Float8Model;

  static constexpr std::array kInputs{
      kGpu,
      kM,
      kK,
      kN,
      Column{"dtype", "", ColumnKind::kText, 0, 0, true, "bfloat16, float8_e4m3fn, ..."},
      kFloat8,
      kMx};
  static constexpr std::array<std::string_view, 3> kParts{"gemm_output_s", "gemm_grad_input_s",
                                                          "gemm_grad_weight_s"};
  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

 private:
  static consteval std::size_t at(std::string_view name) { return place_of(kInputs, name); }

  [[nodiscard]] RowPrediction time_of(const Row& row) const override {
    const auto products = products_of(row, gpu_of(row));
    RowPrediction prediction = timed(total(products), longest(products).bound());
    for (const GemmTime& product : products)
      prediction.parts.emplace_back(product.time.value);
    return prediction;
  }

  [[nodiscard]] std::string formula(const Row& row) const override {
    const Gpu& gpu = gpu_of(row);
    const auto products = products_of(row, gpu);
    std::string text = describe(gpu);
    for (std::size_t i = 0; const char* name : {"output", "grad_input", "grad_weight"})
      text += fmt::format("\n  {} = {}", name, float8::explain(products[i++], gpu));
    return text + fmt::format("\n  sum = {:g} us", in_microseconds(total(products)));
  }

  [[nodiscard]] Precision precision_of(const Row& row) const {
    const std::string& type = row.text(at("dtype"));
    if (type == "bfloat16") return Precision::kBf16;
    if (type == "float8_e4m3fn" || type == "float8_e5m2") return Precision::kFp8;
    if (type == "float4_e2m1fn_x2" && is_main()) return Precision::kFp4;
    throw Refusal{"AssertionError", fmt::format("no product of dtype {}", type)};
  }

  // Checks the two recipes, which say the third product's type, and the scales.
  void check_recipes(const Row& row, Precision precision) const {
    const std::string &float8 = row.text(at("float8_recipe")), &mx = row.text(at("mx_recipe"));
    if (mx.empty()) {
      static_cast<void>(choose_training(float8, "", constants()));
    } else if (precision == Precision::kBf16) {
      throw Refusal{"AssertionError", fmt::format("{} does not go with bfloat16", mx)};
    } else if (!is_main()) {
      static_cast<void>(choose_training(float8, mx, constants()));
    } else if (scale_block(mx) == 0) {
      throw Refusal{"AssertionError", fmt::format("mx_recipe {} is none of mx..., nv...", mx)};
    } else if (float8 == kGradWeightInBf16) {
      throw Refusal{"AssertionError", fmt::format("{} does not go with an mx_recipe", float8)};
    }
  }

  [[nodiscard]] const Gpu& gpu_of(const Row& row) const {
    const Precision precision = precision_of(row);
    check_recipes(row, precision);
    return look_up_gpu(row.text(at("gpu")), precision, constants());
  }

  [[nodiscard]] std::vector<GemmTime> products_of(const Row& row, const Gpu& gpu) const {
    const Precision precision = precision_of(row);
    const bool is_last_in_bf16 = row.text(at("float8_recipe")) == kGradWeightInBf16;
    return training_products(gpu, {row.number(at("M")), row.number(at("K")), row.number(at("N"))},
                             precision, scale_block(row.text(at("mx_recipe"))),
                             is_last_in_bf16 ? Precision::kBf16 : precision);
  }
};

class RooflineCast : public Float8Model {
 public:
  using Float8Model::Float8Model;

  static constexpr std::array kInputs{
      kGpu,
      size_column("dim0", "rows of the tensor"),
      size_column("dim1", "columns of the tensor"),
      Column{"tensor_role", "", ColumnKind::kText, 0, 0, true, "input, weight or grad_output"},
      kFloat8,
      kMx,
      Column{"fuse_with_prev", "", ColumnKind::kFlag, 0, 1, false,
             "the operation before has read the tensor already"}};
  static constexpr std::array<std::string_view, 2> kParts{"n_kernels", "kernel_s"};
  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

 private:
  static consteval std::size_t at(std::string_view name) { return place_of(kInputs, name); }

  [[nodiscard]] RowPrediction time_of(const Row& row) const override {
    const auto [gpu, kernels] = cast_of(row);
    const bool all_at_floor = std::ranges::all_of(
        kernels, [](const CastKernel& kernel) { return kernel.time <= kLaunchFloor; });
    RowPrediction prediction = timed(total(std::span(kernels)), all_at_floor ? "launch" : "memory");
    std::string times;
    for (const CastKernel& kernel : kernels)
      times += fmt::format("{}{}", times.empty() ? "" : " ", kernel.time.value);
    prediction.parts = {static_cast<double>(kernels.size()), std::move(times)};
    return prediction;
  }

  [[nodiscard]] std::string formula(const Row& row) const override {
    const auto [gpu, kernels] = cast_of(row);
    return describe(*gpu) +
           explain_casts(std::array{NamedCast{row.text(at("tensor_role")), kernels}}, *gpu) +
           fmt::format("\n  sum = {:g} us", in_microseconds(total(std::span(kernels))));
  }

  [[nodiscard]] std::pair<const Gpu*, std::vector<CastKernel>> cast_of(const Row& row) const {
    const std::string& role = row.text(at("tensor_role"));
    const bool is_weight = role == "weight";
    if (!is_weight && role != "input" && role != "grad_output") {
      throw Refusal{"AssertionError",
                    fmt::format("tensor_role {} is none of input, weight, grad_output", role)};
    }
    // torchao asks for the float8 recipe first and then never looks at the other one.
    const std::string& float8 = row.text(at("float8_recipe"));
    const TrainingRecipe* recipe =
        choose_training(float8, float8.empty() ? row.text(at("mx_recipe")) : "", constants())
            .first();
    if (recipe == nullptr) {
      throw Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
    }
    const Gpu& gpu = look_up_gpu(row.text(at("gpu")), Precision::kBf16, constants());
    return {&gpu, training_cast(gpu, is_weight ? recipe->weight : recipe->activation,
                                row.number(at("dim0")) * row.number(at("dim1")),
                                row.flag(at("fuse_with_prev")))};
  }
};

// One layer in bf16 and in a lower precision.
struct Layer {
  const Gpu* gpu = nullptr;
  std::vector<GemmTime> bf16 = {};
  std::vector<GemmTime> low = {};
  std::vector<NamedCast> casts = {};
  // Inference only: reading and writing the input in bf16, which fusing the cast into it saves.
  std::optional<Seconds> bf16_activation = {};
};

class RooflineLinear : public Float8Model {
 public:
  using Float8Model::Float8Model;

  static constexpr std::array kInputs{
      kGpu,
      kM,
      kK,
      kN,
      kFloat8,
      kMx,
      Column{"enable_fusion", "", ColumnKind::kFlag, 0, 1, false,
             "the operations before have read input and grad_output already"},
      Column{"recipe", "", ColumnKind::kText, 0, 0, false, "of inference: nvfp4, ..."}};
  static constexpr std::array<std::string_view, 7> kParts{
      "bf16_gemm_s", "lowp_gemm_s",     "lowp_ovhd_s",  "lowp_total_s",
      "speedup",     "bf16_act_ovhd_s", "speedup_fused"};
  // Only main knows inference; the last column is its recipe.
  [[nodiscard]] std::span<const Column> inputs() const override {
    return std::span(kInputs).first(kInputs.size() - (is_main() ? 0 : 1));
  }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

 private:
  static consteval std::size_t at(std::string_view name) { return place_of(kInputs, name); }

  [[nodiscard]] RowPrediction time_of(const Row& row) const override {
    const Layer layer = layer_of(row);
    const double bf16 = total(layer.bf16).value;
    const double low = total(layer.low).value;
    const double casts = total(layer.casts).value;
    RowPrediction prediction =
        timed({low + casts}, casts > low ? std::string_view("memory") : longest(layer.low).bound());
    prediction.parts = {bf16, low, casts, low + casts, bf16 / (low + casts)};
    if (layer.bf16_activation) {
      const double activation = layer.bf16_activation->value;
      prediction.parts.back() = {};
      prediction.parts.emplace_back(activation);
      prediction.parts.emplace_back((bf16 + activation) / (low + casts));
    }
    return prediction;
  }

  [[nodiscard]] std::string formula(const Row& row) const override {
    const Layer layer = layer_of(row);
    std::string text = describe(*layer.gpu);
    for (const GemmTime& product : layer.low)
      text += "\n  product = " + float8::explain(product, *layer.gpu);
    text += explain_casts(layer.casts, *layer.gpu);
    const Seconds low = total(layer.low) + total(layer.casts);
    text += fmt::format("\n  products {:g} us + casts {:g} us = {:g} us",
                        in_microseconds(total(layer.low)), in_microseconds(total(layer.casts)),
                        in_microseconds(low));
    for (const GemmTime& product : layer.bf16)
      text += "\n  product in bf16 = " + float8::explain(product, *layer.gpu);
    const Seconds bf16 = total(layer.bf16) + layer.bf16_activation.value_or(Seconds{});
    if (layer.bf16_activation) {
      text += fmt::format("\n  input in bf16 = {:g} us", in_microseconds(*layer.bf16_activation));
    }
    return text + fmt::format("\n  speed-up = {:g} us / {:g} us = {:g}", in_microseconds(bf16),
                              in_microseconds(low), bf16.value / low.value);
  }

  [[nodiscard]] Layer layer_of(const Row& row) const {
    const LinearShape shape{row.number(at("M")), row.number(at("K")), row.number(at("N"))};
    return is_main() && row.has(at("recipe")) ? infer(row, shape) : train(row, shape);
  }

  [[nodiscard]] Layer train(const Row& row, const LinearShape& shape) const {
    const std::string &float8 = row.text(at("float8_recipe")), &mx = row.text(at("mx_recipe"));
    const bool fused = row.flag(at("enable_fusion"));
    if (is_main() && float8 == kBlockwise) {
      const Gpu& gpu = look_up_gpu(row.text(at("gpu")), Precision::kFp8, constants());
      return {&gpu, training_products(gpu, shape, Precision::kBf16, 0, Precision::kBf16),
              blockwise_products(gpu, shape), blockwise_casts(gpu, shape, fused)};
    }
    const TrainingChoice choice = choose_training(float8, mx, constants());
    if (choice.first() == nullptr) {
      throw Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
    }
    const Precision precision = choice.mx != nullptr ? choice.mx->precision : Precision::kFp8;
    const Gpu& gpu = look_up_gpu(row.text(at("gpu")), precision, constants());
    return {&gpu, training_products(gpu, shape, Precision::kBf16, 0, Precision::kBf16),
            training_products(gpu, shape, precision, scale_block(mx),
                              float8 == kGradWeightInBf16 ? Precision::kBf16 : precision),
            training_casts(gpu, shape, *choice.first(), fused)};
  }

  [[nodiscard]] Layer infer(const Row& row, const LinearShape& shape) const {
    if (row.has(at("float8_recipe")) || row.has(at("mx_recipe"))) {
      throw Refusal{"", "recipe is for inference, float8_recipe and mx_recipe for training"};
    }
    const std::string& recipe = row.text(at("recipe"));
    const Precision precision = inference_precision(recipe);
    const Gpu& gpu = look_up_gpu(row.text(at("gpu")), precision, constants());
    const auto [m, k, n] = shape;
    return {&gpu,
            {time_gemm(gpu, {m, k, n, Precision::kBf16, 0})},
            {time_gemm(gpu, {m, k, n, precision, scale_block(recipe)})},
            {{"input", inference_cast(gpu, shape, recipe)}},
            cast_kernel(gpu, 4.0, m * k).time};
  }
};

// The name by which torchao knows the machine; the machine's own where it knows none.
std::string gpu_of(const read::Machine& machine) {
  for (const Gpu* gpu : known_gpus(ConstantSet::kMain)) {
    for (const std::string& name : machine.names) {
      if (name.starts_with(gpu->name)) return std::string(gpu->name);
    }
  }
  return machine.id;
}

// torchao's word for a number type; ours where it has none.  Its GPUs multiply f16 as fast as bf16.
std::string dtype_of(const std::string& type) {
  if (type == "bf16" || type == "f16") return "bfloat16";
  if (type == "f8e4m3") return "float8_e4m3fn";
  if (type == "f8e5m2") return "float8_e5m2";
  return type == "f4e2m1" ? "float4_e2m1fn_x2" : type;
}

// Any product is the forward one of a layer.
OperationInputs product_inputs(const Operation& operation) {
  OperationInputs inputs{.part = "gemm_output_s"};
  inputs.add("gpu", gpu_of(operation.machine));
  inputs.add_size("M", operation.op, "m");
  inputs.add_size("K", operation.op, "k");
  inputs.add_size("N", operation.op, "n");
  if (const auto type = operation.op.get<std::string>("a_type")) {
    inputs.add("dtype", dtype_of(*type));
  }
  if (operation.op.get<std::int64_t>("batch").value_or(1) != 1) {
    inputs.reason = "a layer's product has no batch";
  }
  return inputs;
}

OperationInputs cast_inputs(const Operation& operation) {
  OperationInputs inputs;
  inputs.add("gpu", gpu_of(operation.machine));
  inputs.add_size("dim0", operation.op, "rows");
  inputs.add_size("dim1", operation.op, "cols");
  inputs.add_text("tensor_role", operation.op, "role");
  const std::string recipe = operation.op.get<std::string>("recipe").value_or("");
  inputs.add_text(recipe.starts_with("mx") ? "mx_recipe" : "float8_recipe", operation.op, "recipe");
  return inputs;
}

// A whole layer around the product: --set names the recipe that it trains in.
OperationInputs layer_inputs(const Operation& operation) {
  OperationInputs inputs = product_inputs(operation);
  inputs.part = {};
  const std::string recipe = operation.op.get<std::string>("recipe").value_or("");
  inputs.add_text(recipe.starts_with("mx") ? "mx_recipe" : "float8_recipe", operation.op, "recipe");
  return inputs;
}

template <typename OwnModel>
ModelEntry entry_of(std::string_view name, std::string_view summary, OpKind kind,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = OwnModel::kInputs,
          .has_constant_sets = true,
          .make = [](const ModelOptions& options) -> std::unique_ptr<Model> {
            return std::make_unique<OwnModel>(options.constants);
          },
          .operations = {kind},
          .inputs_of = inputs_of};
}

}  // namespace

ModelEntry roofline_gemm_entry() {
  return entry_of<RooflineGemm>(
      "roofline_gemm", "torchao's roofline of a layer's three products, forward and backward",
      OpKind::kGemm, product_inputs);
}

ModelEntry roofline_cast_entry() {
  return entry_of<RooflineCast>("roofline_cast",
                                "torchao's roofline of casting a tensor to fp8 or fp4",
                                OpKind::kCast, cast_inputs);
}

ModelEntry roofline_linear_entry() {
  return entry_of<RooflineLinear>(
      "roofline_linear", "torchao's roofline of a linear layer in fp8 or fp4, with its casts",
      OpKind::kGemm, layer_inputs);
}

}  // namespace inline_prof::model
