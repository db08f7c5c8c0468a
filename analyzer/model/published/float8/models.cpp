// torchao's roofline as models of tables: the three products of a layer, the casts of a tensor, and
// a whole layer in bf16 and in a lower precision.
#include "model/published/models.hpp"

#include "model/published/float8/linear.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace inline_prof::model {
namespace {

using namespace float8;

// 1e9: beyond it a size is in another unit.
constexpr double kMostSize = 1e9;
constexpr Column kGpu = word_column("gpu", "name of the GPU", true);
constexpr Column kFloat8 = word_column("float8_recipe", "tensorwise, rowwise, ...");
constexpr Column kMx = word_column("mx_recipe", "mxfp8_cublas, ...");
constexpr Column kM = size_column("M", "rows of the input", kMostSize);
constexpr Column kK = size_column("K", "columns of the input", kMostSize);
constexpr Column kN = size_column("N", "columns of the weight", kMostSize);

constexpr std::array kGemmInputs{
    kGpu, kM, kK, kN, word_column("dtype", "bfloat16, float8_e4m3fn, ...", true), kFloat8, kMx};
constexpr std::array<std::string_view, 3> kGemmParts{"gemm_output_s", "gemm_grad_input_s",
                                                     "gemm_grad_weight_s"};
constexpr std::array kCastInputs{
    kGpu,
    size_column("dim0", "rows of the tensor", kMostSize),
    size_column("dim1", "columns of the tensor", kMostSize),
    word_column("tensor_role", "input, weight or grad_output", true),
    kFloat8,
    kMx,
    flag_column("fuse_with_prev", "the operation before has read the tensor already")};
constexpr std::array<std::string_view, 2> kCastParts{"n_kernels", "kernel_s"};
constexpr std::array kLinearInputs{
    kGpu,
    kM,
    kK,
    kN,
    kFloat8,
    kMx,
    flag_column("enable_fusion", "the operations before have read input and grad_output already"),
    word_column("recipe", "of inference, edition main only: nvfp4, ...")};
constexpr std::array<std::string_view, 8> kLinearParts{
    "bf16_gemm_s", "lowp_gemm_s",     "lowp_ovhd_s",   "lowp_total_s",
    "speedup",     "bf16_act_ovhd_s", "speedup_fused", "lowp_output_s"};

// The passes of one recipe over one kind of tensor, in bytes per element.  Scales are not counted.
struct CastRule {
  std::span<const double> passes;
  double fused_first_pass = 0.0;  // where the operation before has read the tensor already
};

// How one recipe trains: a name of the column float8_recipe or mx_recipe.
struct TrainingRecipe {
  std::string_view name;
  bool is_mx = false;
  bool is_in_original = true, is_in_main = true;  // the editions that know it
  Precision precision = Precision::kFp8;
  CastRule activation;  // input and grad_output
  CastRule weight;
};
// The recipe whose third product stays in bf16, and the one of blocks.
constexpr std::string_view kGradWeightInBf16 = "rowwise_with_gw_hp", kBlockwise = "blockwise_128";

// Passes, in bytes per element: 2 reads or writes bf16, 1 fp8, 0.5 fp4; 0 is the second stage of a
// maximum, which touches next to nothing.
constexpr std::array kMaximumThenTwoCopies{2.0, 0.0, 3.0, 3.0};
constexpr std::array kMaximumThenBothCopies{2.0, 0.0, 4.0};
constexpr std::array kRowsThenColumnsOfWeight{3.0, 4.0, 3.0};
constexpr std::array kRowsThenColumns{5.0, 3.0};
constexpr std::array kOneCopy{3.0};
constexpr std::array kMaximumThenCopy{3.0, 0.0, 3.0};
constexpr std::array kTwoCopies{3.0, 3.0};
constexpr std::array kTwoFp4Copies{2.5, 2.5};
constexpr std::array kCopyThenTransposed{3.0, 2.0};

constexpr CastRule kMx8{kTwoCopies, 1.0};
constexpr CastRule kMx4{kTwoFp4Copies, 0.5};

// name, is_mx, is_in_original, is_in_main, precision, casts of activations and of weights.  Where
// the fused first pass is as long as the whole one, fusing does not apply.
constexpr auto kFp8 = Precision::kFp8;
constexpr CastRule kTensorActivation{kMaximumThenBothCopies, 0.0};
constexpr CastRule kTensorWeight{kMaximumThenTwoCopies, 0.0};
constexpr CastRule kRowActivation{kRowsThenColumns, 3.0};
constexpr CastRule kRowWeight{kRowsThenColumnsOfWeight, 1.0};
constexpr CastRule kOneActivation{kOneCopy, 1.0};
constexpr CastRule kMaximumWeight{kMaximumThenCopy, 3.0};
constexpr CastRule kTransposedWeight{kCopyThenTransposed, 3.0};
constexpr std::array<TrainingRecipe, 10> kRecipes{{
    {"tensorwise", false, true, true, kFp8, kTensorActivation, kTensorWeight},
    {"rowwise", false, true, true, kFp8, kRowActivation, kRowWeight},
    {kGradWeightInBf16, false, true, true, kFp8, kOneActivation, kMaximumWeight},
    {"mxfp8_emulated", true, true, true, kFp8, kMx8, kMx8},
    {"mxfp8_cutlass", true, true, false, kFp8, kMx8, kMx8},
    {"mxfp8_cublas", true, true, true, kFp8, kMx8, kMx8},
    {"mxfp8_cublas_rceil", true, false, true, kFp8, kMx8, kMx8},
    {"mxfp8_32x32_flexible_gemm_layout", true, false, true, kFp8, kOneActivation, kOneActivation},
    {"mxfp8_32x32_weight", true, false, true, kFp8, kMx8, kTransposedWeight},
    {"mxfp4_cutlass", true, false, true, Precision::kFp4, kMx4, kMx4},
}};

// Throws Refusal.
const TrainingRecipe* find_recipe(std::string_view name, bool is_mx, ConstantSet constants) {
  if (name.empty()) return nullptr;
  std::vector<std::string_view> known;
  for (const TrainingRecipe& recipe : kRecipes) {
    if (recipe.is_mx != is_mx ||
        !(constants == ConstantSet::kOriginal ? recipe.is_in_original : recipe.is_in_main))
      continue;
    if (recipe.name == name) return &recipe;
    known.push_back(recipe.name);
  }
  throw Refusal{"AssertionError",
                fmt::format("{} {} is none of {}", is_mx ? "mx_recipe" : "float8_recipe", name,
                            fmt::join(known, ", "))};
}

// The recipes of a row.  Each may be null; both are, for all in bf16.
struct TrainingChoice {
  const TrainingRecipe* float8 = nullptr;
  const TrainingRecipe* mx = nullptr;

  // A float8 recipe goes before an mx one, as in torchao.
  [[nodiscard]] const TrainingRecipe* first() const { return float8 != nullptr ? float8 : mx; }
};

// Looks the two names up; an empty one is none.  Throws Refusal.
TrainingChoice choose_training(std::string_view float8, std::string_view mx,
                               ConstantSet constants) {
  const TrainingChoice choice{find_recipe(float8, false, constants),
                              find_recipe(mx, true, constants)};
  if (choice.mx != nullptr && float8 == kGradWeightInBf16) {
    throw Refusal{"AssertionError", fmt::format("{} does not go with an mx_recipe", float8)};
  }
  return choice;
}

std::vector<CastKernel> training_cast(const Gpu& gpu, const CastRule& rule, double elements,
                                      bool fused) {
  std::vector<CastKernel> kernels;
  for (const double bytes : rule.passes) {
    const bool is_shortened = fused && kernels.empty();
    kernels.push_back(cast_kernel(gpu, is_shortened ? rule.fused_first_pass : bytes, elements));
  }
  return kernels;
}

// The elements that share a scale under a recipe of this name; 0: no scales.
int scale_block(std::string_view recipe) {
  if (recipe.starts_with("mx")) return 32;
  return recipe.starts_with("nv") ? 16 : 0;
}

// The product of the forward pass and the two of the backward pass, the last one in a precision of
// its own: output, grad_input, grad_weight.
std::vector<GemmTime> training_products(const Gpu& gpu, const LinearShape& shape,
                                        Precision precision, int scale_block,
                                        Precision grad_weight) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, {m, k, n, precision, scale_block}),
          time_gemm(gpu, {m, n, k, precision, scale_block}),
          time_gemm(gpu, {k, m, n, grad_weight, scale_block})};
}

std::vector<GemmTime> blockwise_products(const Gpu& gpu, const LinearShape& shape) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, {m, k, n, kFp8, 0}), time_gemm(gpu, {m, n, k, kFp8, 0}),
          time_gemm(gpu, {n, m, k, kFp8, 0})};
}

// Inference, in edition main only: the weight is quantised beforehand, the input on the way.
Precision inference_precision(std::string_view recipe) {
  if (recipe == "tensorwise" || recipe == "rowwise" || recipe.starts_with("mxfp8")) return kFp8;
  if (recipe == "mxfp4" || recipe == "nvfp4" || recipe == "nvfp4_static" ||
      recipe == "nvfp4_no_global_scale") {
    return Precision::kFp4;
  }
  throw Refusal{"ValueError",
                fmt::format("recipe {} is none of tensorwise, rowwise, mxfp8..., mxfp4, nvfp4, "
                            "nvfp4_static, nvfp4_no_global_scale",
                            recipe)};
}

std::vector<CastKernel> inference_cast(const Gpu& gpu, const LinearShape& shape,
                                       std::string_view recipe) {
  const double elements = shape.m * shape.k;
  if (recipe == "tensorwise") {
    return {cast_kernel(gpu, 2.0, elements), cast_kernel(gpu, 3.0, elements)};
  }
  if (recipe == "rowwise") return {cast_kernel(gpu, 3.0, elements, 4.0 * shape.m)};
  const double scale_bytes = shape.m * std::floor(shape.k / scale_block(recipe));
  if (recipe.starts_with("mxfp8")) return {cast_kernel(gpu, 3.0, elements, scale_bytes)};
  // Dynamic nvfp4 is two kernels; torchao adds their bytes up before it looks at the floor.
  return {cast_kernel(gpu, recipe == "nvfp4" ? 4.5 : 2.5, elements, scale_bytes)};
}

// The sum of the kernels' times, in their order.
template <typename Kernel>
Seconds total(const std::vector<Kernel>& kernels) {
  Seconds sum;
  for (const Kernel& kernel : kernels)
    sum = sum + kernel.time;
  return sum;
}

RowPrediction timed(Seconds time, std::string_view bound) {
  return with_time(in_microseconds(time), bound);
}

const GemmTime& longest(const std::vector<GemmTime>& products) {
  return *std::ranges::max_element(products, {}, &GemmTime::time);
}

LinearShape shape_of(const NamedRow& row) {
  return {row.number("M"), row.number("K"), row.number("N")};
}

Precision precision_of(const std::string& type, ConstantSet constants) {
  if (type == "bfloat16") return Precision::kBf16;
  if (type == "float8_e4m3fn" || type == "float8_e5m2") return Precision::kFp8;
  if (type == "float4_e2m1fn_x2" && constants == ConstantSet::kMain) return Precision::kFp4;
  throw Refusal{"AssertionError", fmt::format("no product of dtype {}", type)};
}

// Checks the two recipes, which say the third product's type, and the scales.
void check_recipes(const std::string& float8, const std::string& mx, Precision precision,
                   ConstantSet constants) {
  if (mx.empty()) {
    static_cast<void>(choose_training(float8, "", constants));
  } else if (precision == Precision::kBf16) {
    throw Refusal{"AssertionError", fmt::format("{} does not go with bfloat16", mx)};
  } else if (constants == ConstantSet::kOriginal) {
    static_cast<void>(choose_training(float8, mx, constants));
  } else if (scale_block(mx) == 0) {
    throw Refusal{"AssertionError", fmt::format("mx_recipe {} is none of mx..., nv...", mx)};
  } else if (float8 == kGradWeightInBf16) {
    throw Refusal{"AssertionError", fmt::format("{} does not go with an mx_recipe", float8)};
  }
}

RowPrediction predict_gemm(const NamedRow& row, ConstantSet constants) {
  const std::string &float8 = row.text("float8_recipe"), &mx = row.text("mx_recipe");
  const Precision precision = precision_of(row.text("dtype"), constants);
  check_recipes(float8, mx, precision, constants);
  const Gpu& gpu = look_up_gpu(row.text("gpu"), precision, constants);
  const auto products =
      training_products(gpu, shape_of(row), precision, scale_block(mx),
                        float8 == kGradWeightInBf16 ? Precision::kBf16 : precision);
  RowPrediction prediction = timed(total(products), longest(products).bound());
  for (const GemmTime& product : products)
    prediction.parts.emplace_back(product.time.value);
  return prediction;
}

RowPrediction predict_cast(const NamedRow& row, ConstantSet constants) {
  const std::string& role = row.text("tensor_role");
  const bool is_weight = role == "weight";
  if (!is_weight && role != "input" && role != "grad_output") {
    throw Refusal{"AssertionError",
                  fmt::format("tensor_role {} is none of input, weight, grad_output", role)};
  }
  // torchao asks for the float8 recipe first and then never looks at the other one.
  const std::string& float8 = row.text("float8_recipe");
  const TrainingRecipe* recipe =
      choose_training(float8, float8.empty() ? row.text("mx_recipe") : "", constants).first();
  if (recipe == nullptr)
    throw Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
  const Gpu& gpu = look_up_gpu(row.text("gpu"), Precision::kBf16, constants);
  const auto kernels =
      training_cast(gpu, is_weight ? recipe->weight : recipe->activation,
                    row.number("dim0") * row.number("dim1"), row.flag("fuse_with_prev"));
  const bool all_at_floor = std::ranges::all_of(
      kernels, [](const CastKernel& kernel) { return kernel.time <= kLaunchFloor; });
  RowPrediction prediction = timed(total(kernels), all_at_floor ? "launch" : "memory");
  std::string times;
  for (const CastKernel& kernel : kernels)
    times += fmt::format("{}{}", times.empty() ? "" : " ", kernel.time.value);
  prediction.parts = {static_cast<double>(kernels.size()), std::move(times)};
  return prediction;
}

// One layer in bf16 and in a lower precision.
struct Layer {
  std::vector<GemmTime> bf16 = {};
  std::vector<GemmTime> low = {};
  std::vector<CastKernel> casts = {};
  // Inference only: reading and writing the input in bf16, which fusing the cast into it saves.
  std::optional<Seconds> bf16_activation = {};
};

Layer train(const NamedRow& row, ConstantSet constants) {
  const std::string &float8 = row.text("float8_recipe"), &mx = row.text("mx_recipe");
  const LinearShape shape = shape_of(row);
  const bool fused = row.flag("enable_fusion"),
             is_blockwise = constants == ConstantSet::kMain && float8 == kBlockwise;
  const TrainingChoice choice =
      is_blockwise ? TrainingChoice{} : choose_training(float8, mx, constants);
  if (!is_blockwise && choice.first() == nullptr)
    throw Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
  const Precision precision = choice.mx != nullptr ? choice.mx->precision : Precision::kFp8;
  const Gpu& gpu = look_up_gpu(row.text("gpu"), precision, constants);
  auto bf16 = training_products(gpu, shape, Precision::kBf16, 0, Precision::kBf16);
  if (is_blockwise)
    return {std::move(bf16), blockwise_products(gpu, shape), blockwise_casts(gpu, shape, fused)};
  const auto [m, k, n] = shape;
  const TrainingRecipe& recipe = *choice.first();
  std::vector<CastKernel> casts = training_cast(gpu, recipe.activation, m * k, fused);
  for (const auto& more : {training_cast(gpu, recipe.weight, k * n, false),
                           training_cast(gpu, recipe.activation, m * n, fused)})
    casts.insert(casts.end(), more.begin(), more.end());
  return {std::move(bf16),
          training_products(gpu, shape, precision, scale_block(mx),
                            float8 == kGradWeightInBf16 ? Precision::kBf16 : precision),
          std::move(casts)};
}

Layer infer(const NamedRow& row, ConstantSet constants) {
  if (row.has("float8_recipe") || row.has("mx_recipe"))
    throw Refusal{"", "recipe is for inference, float8_recipe and mx_recipe for training"};
  const std::string& recipe = row.text("recipe");
  const Precision precision = inference_precision(recipe);
  const Gpu& gpu = look_up_gpu(row.text("gpu"), precision, constants);
  const LinearShape shape = shape_of(row);
  const auto [m, k, n] = shape;
  return {{time_gemm(gpu, {m, k, n, Precision::kBf16, 0})},
          {time_gemm(gpu, {m, k, n, precision, scale_block(recipe)})},
          inference_cast(gpu, shape, recipe),
          cast_kernel(gpu, 4.0, m * k).time};
}

RowPrediction predict_linear(const NamedRow& row, ConstantSet constants) {
  const bool is_inference = constants == ConstantSet::kMain && row.has("recipe");
  const Layer layer = is_inference ? infer(row, constants) : train(row, constants);
  const double bf16 = total(layer.bf16).value, low = total(layer.low).value,
               casts = total(layer.casts).value;
  RowPrediction prediction =
      timed({low + casts}, casts > low ? std::string_view("memory") : longest(layer.low).bound());
  prediction.parts = {bf16,
                      low,
                      casts,
                      low + casts,
                      bf16 / (low + casts),
                      Part(),
                      Part(),
                      layer.low.front().time.value};
  if (layer.bf16_activation) {
    const double activation = layer.bf16_activation->value;
    prediction.parts[4] = {};
    prediction.parts[5] = activation;
    prediction.parts[6] = (bf16 + activation) / (low + casts);
  }
  return prediction;
}

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

// How a kernel scales its 8-bit numbers, by a word of its name: CUTLASS's types of MX numbers and
// scales, the libraries of block-wise products, and kernels that say it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kRecipesByName{{
    {"ue8m0", "mxfp8_cublas"},
    {"mx_float", "mxfp8_cublas"},
    {"mxfp8", "mxfp8_cublas"},
    {"deep_gemm", kBlockwise},
    {"fp8_gemm_1d", kBlockwise},
    {"blockwise", kBlockwise},
    {"block_fp8", kBlockwise},
    {"token_group_quant", kBlockwise},
    {"rowwise", "rowwise"},
    {"per_token", "rowwise"},
}};

// Returns what the operation says, else what its types and its kernel's name tell; "" for numbers
// that are not scaled.
std::string recipe_of(const Operation& operation) {
  if (auto recipe = operation.op.get<std::string>("recipe")) return *std::move(recipe);
  const std::string type = operation.op.get<std::string>("a_type").value_or("");
  if (type == "f4e2m1") return "mxfp4_cutlass";
  const auto* const found = std::ranges::find_if(kRecipesByName, [&](const auto& each) {
    return operation.kernel.name.find(each.first) != std::string_view::npos;
  });
  const bool is_cast = operation.op.kind == op_kind_name(OpKind::kCast);
  if (!is_cast && !type.starts_with("f8")) return "";
  if (found != kRecipesByName.end()) return std::string(found->second);
  return is_cast ? "" : "tensorwise";
}

void add_recipe(OperationInputs& inputs, const Operation& operation, bool only_mx = false) {
  std::string recipe = recipe_of(operation);
  const bool is_mx = recipe.starts_with("mx") || recipe.starts_with("nv");
  if (recipe.empty() || (only_mx && !is_mx)) return;
  inputs.values.emplace_back(is_mx ? "mx_recipe" : "float8_recipe", std::move(recipe));
}

// Any product is the forward one of a layer.
OperationInputs layer_inputs(const Operation& operation, std::string_view part) {
  OperationInputs inputs{.part = part};
  inputs.add("gpu", gpu_of(operation.machine));
  inputs.add_size("M", operation.op, "m");
  inputs.add_size("K", operation.op, "k");
  inputs.add_size("N", operation.op, "n");
  if (const auto type = operation.op.get<std::string>("a_type"))
    inputs.add("dtype", dtype_of(*type));
  if (operation.op.get<std::int64_t>("batch").value_or(1) != 1)
    inputs.reason = "a layer's product has no batch";
  return inputs;
}

OperationInputs product_inputs(const Operation& operation) {
  OperationInputs inputs = layer_inputs(operation, "gemm_output_s");
  add_recipe(inputs, operation, true);
  return inputs;
}

// An operation that names its recipe is the whole layer, with its casts.
OperationInputs linear_inputs(const Operation& operation) {
  const bool is_layer = operation.op.find("recipe") != nullptr;
  OperationInputs inputs = layer_inputs(operation, is_layer ? "" : "lowp_output_s");
  add_recipe(inputs, operation);
  inputs.is_another = recipe_of(operation).empty();
  return inputs;
}

OperationInputs cast_inputs(const Operation& operation) {
  OperationInputs inputs;
  inputs.add("gpu", gpu_of(operation.machine));
  inputs.add_size("dim0", operation.op, "rows");
  inputs.add_size("dim1", operation.op, "cols");
  inputs.values.emplace_back("tensor_role",
                             operation.op.get<std::string>("role").value_or("input"));
  add_recipe(inputs, operation);
  return inputs;
}

template <const auto& kInputs, const auto& kParts,
          RowPrediction (*kPredict)(const NamedRow&, ConstantSet)>
ModelEntry entry_of(std::string_view name, std::string_view summary, OpKind kind,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .has_constant_sets = true,
          .make =
              [](const ModelOptions& options) {
                const auto predict = [constants = options.constants](const NamedRow& row) {
                  try {
                    return kPredict(row, constants);
                  } catch (const Refusal& refusal) {
                    return RowPrediction::none(refusal.error, refusal.reason);
                  }
                };
                return as_model({kInputs, kParts, predict});
              },
          .operations = {kind},
          .inputs_of = inputs_of};
}

}  // namespace

ModelEntry roofline_gemm_entry() {
  return entry_of<kGemmInputs, kGemmParts, predict_gemm>(
      "roofline_gemm", "torchao's roofline of a layer's three products, forward and backward",
      OpKind::kGemm, product_inputs);
}

ModelEntry roofline_cast_entry() {
  return entry_of<kCastInputs, kCastParts, predict_cast>(
      "roofline_cast", "torchao's roofline of casting a tensor to fp8 or fp4", OpKind::kCast,
      cast_inputs);
}

ModelEntry roofline_linear_entry() {
  return entry_of<kLinearInputs, kLinearParts, predict_linear>(
      "roofline_linear", "torchao's roofline of a linear layer in fp8 or fp4, with its casts",
      OpKind::kGemm, linear_inputs);
}

}  // namespace inline_prof::model
