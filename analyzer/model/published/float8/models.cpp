// torchao's roofline as models of tables: the three products of a layer, the casts of a tensor, and
// a whole layer in bf16 and in a lower precision.
//
// Source: torchao, torchao/testing/training/roofline_utils.py: pytorch/ao at fe5bf73a6 (2025-03-27)
// is the edition `original`, 36027d82d (2026-08-21) the edition `main`.
#include "model/published/models.hpp"

#include "model/units.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace inline_prof::model {
namespace {

enum class Precision { kBf16, kFp8, kFp4 };
constexpr std::array<std::string_view, 3> kPrecisionNames{"bf16", "fp8", "fp4"};
constexpr std::array kElementBytes{2.0, 1.0, 0.5};
constexpr double kOutputBytes = 2.0;  // bf16

// No kernel is predicted to be faster.
constexpr Seconds kLaunchFloor = microseconds(2);

// A GPU as torchao describes it, partly wrong (README.md beside this file).  A 0 is a number that
// it does not have: asking for it ends with a KeyError there.
struct Gpu {
  bool is_in_original, is_in_main;
  std::string_view name;               // as torch.cuda.get_device_name() gives it
  std::array<FlopPerSecond, 3> peaks;  // by precision
  BytesPerSecond bandwidth;
  double gemm_fraction;    // of the peak, reached by large products
  double memory_fraction;  // of the bandwidth, reached by large streams
};

// Peaks in bf16, fp8 and fp4, bandwidth, fractions.  The H100 is a variant with 2.4 TB/s, no SXM;
// the first fractions of the MI300X are those of torchao's pull request 2120.  `original` knows the
// fp4 peak of the B200, but has no product in fp4.  `main` computes the B200's bandwidth from bus
// width, clock and data rate.  That of the RTX 5090 is a thousand times the data sheet's; without
// fractions nobody gets that far.
constexpr double kB200Bandwidth = (7680.0 / 8.0) * 3.996e9 * 2.0;
constexpr std::array<Gpu, 8> kGpus{{
    {true, true, "NVIDIA H100", {{{989e12}, {1979e12}, {}}}, {2400e9}, 0.78, 0.92},
    {true, false, "NVIDIA B200", {{{2.25e15}, {4.5e15}, {}}}, {8000e9}, 0.78, 0.92},
    {false, true, "NVIDIA B200", {{{2.25e15}, {4.5e15}, {9e15}}}, {kB200Bandwidth}, 0.78, 0.92},
    {true, false, "AMD Instinct MI300X", {{{1307e12}, {2614e12}, {}}}, {5300e9}, 0.47, 0.72},
    {false, true, "AMD Instinct MI300X", {{{1307e12}, {2614e12}, {}}}, {5300e9}, 0.78, 0.92},
    {false, true, "NVIDIA B300 SXM6 AC", {{{2.25e15}, {4.5e15}, {14e15}}}, {8000e9}, 0.82, 0.84},
    {false, true, "NVIDIA GB200", {{{2.25e15}, {4.5e15}, {9e15}}}, {8000e9}, 0.78, 0.92},
    {false, true, "NVIDIA GeForce RTX 5090", {{{209.5e12}, {419e12}, {1676e12}}}, {1792e12}, 0, 0},
}};

template <typename Known>  // Gpu, TrainingRecipe
bool is_of(const Known& known, ConstantSet constants) {
  return constants == ConstantSet::kOriginal ? known.is_in_original : known.is_in_main;
}

std::size_t index_of(Precision precision) {
  return static_cast<std::size_t>(precision);
}

// The edition `original` looks for the exact name; `main` also takes the first name that `name`
// begins with ("NVIDIA H100 80GB HBM3").  Throws NoAnswer where the edition knows no such GPU, or
// too little of it.
const Gpu& look_up_gpu(std::string_view name, Precision precision, ConstantSet constants) {
  const Gpu* found = nullptr;
  std::vector<std::string_view> names;
  for (const Gpu& gpu : kGpus) {
    if (!is_of(gpu, constants)) continue;
    names.push_back(gpu.name);
    const bool is_start = constants == ConstantSet::kMain && name.starts_with(gpu.name);
    if (gpu.name == name || (is_start && found == nullptr)) found = &gpu;
  }
  if (found == nullptr)
    throw NoAnswer{"KeyError", fmt::format("gpu {} is none of {}", name, fmt::join(names, ", "))};
  if (!(found->gemm_fraction > 0) || !(found->memory_fraction > 0))
    throw NoAnswer{"KeyError", fmt::format("{} has no reachable fractions", found->name)};
  if (!(found->peaks[index_of(precision)].value > 0)) {
    throw NoAnswer{"KeyError", fmt::format("{} has no peak for {}", found->name,
                                           kPrecisionNames[index_of(precision)])};
  }
  return *found;
}

// The product of README.md: C[m,n] = A[m,k] * B[k,n], A and B in `precision`, C always in bf16.
struct GemmTime {
  Seconds compute, memory, time;

  [[nodiscard]] std::string_view bound() const {
    if (compute >= memory && compute >= kLaunchFloor) return "compute";
    return memory >= kLaunchFloor ? "memory" : "launch";
  }
};

// `scale_block`: elements of A and B that share a scale of one byte; 0: no scales counted.
GemmTime time_gemm(const Gpu& gpu, double m, double k, double n, Precision precision,
                   int scale_block) {
  double elements = m * k + k * n;
  if (scale_block > 0) elements += std::floor(elements / scale_block);
  const Flop work{2.0 * m * k * n};
  const Bytes traffic{elements * kElementBytes[index_of(precision)] + m * n * kOutputBytes};
  const Seconds compute{(work / gpu.peaks[index_of(precision)]).value / gpu.gemm_fraction};
  const Seconds memory{(traffic / gpu.bandwidth).value / gpu.memory_fraction};
  return {compute, memory, std::max({compute, memory, kLaunchFloor})};
}

// One pass over a tensor, which reads and writes so much.  A pass of 0 bytes still costs a launch.
Seconds cast_time(const Gpu& gpu, double bytes_per_element, double elements,
                  double extra_bytes = 0.0) {
  const Bytes traffic{bytes_per_element * elements + extra_bytes};
  return std::max(Seconds{(traffic / gpu.bandwidth).value / gpu.memory_fraction}, kLaunchFloor);
}

// input[m,k] * weight[k,n].
struct LinearShape {
  double m, k, n;
};

// "blockwise_128", in edition main only: scales for 1 x 128 of activations, 128 x 128 of weights.
// Input, weight, weight transposed, grad_output, grad_output transposed, input transposed; `fused`:
// the operations before have read input and grad_output already.
std::vector<Seconds> blockwise_casts(const Gpu& gpu, const LinearShape& shape, bool fused) {
  constexpr double block = 128, scale_bytes = 4, bf16_read = 2, fp8_written = 1;
  const auto [m, k, n] = shape;
  const auto activation = [&](double elements, bool is_fused) {
    return cast_time(gpu, is_fused ? fp8_written : bf16_read + fp8_written, elements,
                     scale_bytes * (elements / block));
  };
  const Seconds weight =
      cast_time(gpu, bf16_read + fp8_written, n * k, scale_bytes * (n * k / (block * block)));
  return {
      activation(m * k, fused), weight, weight, activation(m * n, fused), activation(m * n, false),
      activation(m * k, false)};
}

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

// The passes of one recipe over one kind of tensor, in bytes per element: 2 reads or writes bf16, 1
// fp8, 0.5 fp4; 0 is the second stage of a maximum, which touches next to nothing; kNoPass ends
// them.  Scales are not counted.
constexpr double kNoPass = -1.0;
struct CastRule {
  std::array<double, 4> passes;
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

// name, is_mx, is_in_original, is_in_main, precision, casts of activations and of weights.  Where
// the fused first pass is as long as the whole one, fusing does not apply.
constexpr auto kFp8 = Precision::kFp8;
constexpr CastRule kMx8{{3.0, 3.0, kNoPass}, 1.0};
constexpr CastRule kMx4{{2.5, 2.5, kNoPass}, 0.5};
constexpr CastRule kTensorActivation{{2.0, 0.0, 4.0, kNoPass}, 0.0};
constexpr CastRule kTensorWeight{{2.0, 0.0, 3.0, 3.0}, 0.0};
constexpr CastRule kRowActivation{{5.0, 3.0, kNoPass}, 3.0};
constexpr CastRule kRowWeight{{3.0, 4.0, 3.0, kNoPass}, 1.0};
constexpr CastRule kOneActivation{{3.0, kNoPass}, 1.0};
constexpr CastRule kMaximumWeight{{3.0, 0.0, 3.0, kNoPass}, 3.0};
constexpr CastRule kTransposedWeight{{3.0, 2.0, kNoPass}, 3.0};
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

// Throws NoAnswer.
const TrainingRecipe* find_recipe(std::string_view name, bool is_mx, ConstantSet constants) {
  if (name.empty()) return nullptr;
  std::vector<std::string_view> known;
  for (const TrainingRecipe& recipe : kRecipes) {
    if (recipe.is_mx != is_mx || !is_of(recipe, constants)) continue;
    if (recipe.name == name) return &recipe;
    known.push_back(recipe.name);
  }
  throw NoAnswer{"AssertionError",
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

// Looks the two names up; an empty one is none.  Throws NoAnswer.
TrainingChoice choose_training(std::string_view float8, std::string_view mx,
                               ConstantSet constants) {
  const TrainingChoice choice{find_recipe(float8, false, constants),
                              find_recipe(mx, true, constants)};
  if (choice.mx != nullptr && float8 == kGradWeightInBf16) {
    throw NoAnswer{"AssertionError", fmt::format("{} does not go with an mx_recipe", float8)};
  }
  return choice;
}

std::vector<Seconds> training_cast(const Gpu& gpu, const CastRule& rule, double elements,
                                   bool fused) {
  std::vector<Seconds> kernels;
  for (const double bytes : rule.passes) {
    if (bytes == kNoPass) break;
    const bool is_shortened = fused && kernels.empty();
    kernels.push_back(cast_time(gpu, is_shortened ? rule.fused_first_pass : bytes, elements));
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
  return {time_gemm(gpu, m, k, n, precision, scale_block),
          time_gemm(gpu, m, n, k, precision, scale_block),
          time_gemm(gpu, k, m, n, grad_weight, scale_block)};
}

std::vector<GemmTime> blockwise_products(const Gpu& gpu, const LinearShape& shape) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, m, k, n, kFp8, 0), time_gemm(gpu, m, n, k, kFp8, 0),
          time_gemm(gpu, n, m, k, kFp8, 0)};
}

// Inference, in edition main only: the weight is quantised beforehand, the input on the way.
Precision inference_precision(std::string_view recipe) {
  if (recipe == "tensorwise" || recipe == "rowwise" || recipe.starts_with("mxfp8")) return kFp8;
  if (recipe == "mxfp4" || recipe == "nvfp4" || recipe == "nvfp4_static" ||
      recipe == "nvfp4_no_global_scale") {
    return Precision::kFp4;
  }
  throw NoAnswer{"ValueError",
                 fmt::format("recipe {} is none of tensorwise, rowwise, mxfp8..., mxfp4, nvfp4, "
                             "nvfp4_static, nvfp4_no_global_scale",
                             recipe)};
}

std::vector<Seconds> inference_cast(const Gpu& gpu, const LinearShape& shape,
                                    std::string_view recipe) {
  const double elements = shape.m * shape.k;
  if (recipe == "tensorwise") {
    return {cast_time(gpu, 2.0, elements), cast_time(gpu, 3.0, elements)};
  }
  if (recipe == "rowwise") return {cast_time(gpu, 3.0, elements, 4.0 * shape.m)};
  const double scale_bytes = shape.m * std::floor(shape.k / scale_block(recipe));
  if (recipe.starts_with("mxfp8")) return {cast_time(gpu, 3.0, elements, scale_bytes)};
  // Dynamic nvfp4 is two kernels; torchao adds their bytes up before it looks at the floor.
  return {cast_time(gpu, recipe == "nvfp4" ? 4.5 : 2.5, elements, scale_bytes)};
}

// The sum of the kernels' times, in their order.
Seconds total(const std::vector<Seconds>& kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), Seconds{});
}
Seconds total(const std::vector<GemmTime>& products) {
  return std::accumulate(products.begin(), products.end(), Seconds{},
                         [](Seconds sum, const GemmTime& product) { return sum + product.time; });
}

RowPrediction timed(Seconds time, std::string_view bound) {
  return with_time(in_microseconds(time), bound);
}

const GemmTime& longest(const std::vector<GemmTime>& products) {
  return *std::ranges::max_element(products, {}, &GemmTime::time);
}

LinearShape shape_of(const Row& row) {
  return {row.number("M"), row.number("K"), row.number("N")};
}

Precision precision_of(const std::string& type, ConstantSet constants) {
  if (type == "bfloat16") return Precision::kBf16;
  if (type == "float8_e4m3fn" || type == "float8_e5m2") return Precision::kFp8;
  if (type == "float4_e2m1fn_x2" && constants == ConstantSet::kMain) return Precision::kFp4;
  throw NoAnswer{"AssertionError", fmt::format("no product of dtype {}", type)};
}

// Checks the two recipes, which say the third product's type, and the scales.
void check_recipes(const std::string& float8, const std::string& mx, Precision precision,
                   ConstantSet constants) {
  if (mx.empty()) {
    static_cast<void>(choose_training(float8, "", constants));
  } else if (precision == Precision::kBf16) {
    throw NoAnswer{"AssertionError", fmt::format("{} does not go with bfloat16", mx)};
  } else if (constants == ConstantSet::kOriginal) {
    static_cast<void>(choose_training(float8, mx, constants));
  } else if (scale_block(mx) == 0) {
    throw NoAnswer{"AssertionError", fmt::format("mx_recipe {} is none of mx..., nv...", mx)};
  } else if (float8 == kGradWeightInBf16) {
    throw NoAnswer{"AssertionError", fmt::format("{} does not go with an mx_recipe", float8)};
  }
}

RowPrediction predict_gemm(const Row& row, ConstantSet constants) {
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

RowPrediction predict_cast(const Row& row, ConstantSet constants) {
  const std::string& role = row.text("tensor_role");
  const bool is_weight = role == "weight";
  if (!is_weight && role != "input" && role != "grad_output") {
    throw NoAnswer{"AssertionError",
                   fmt::format("tensor_role {} is none of input, weight, grad_output", role)};
  }
  // torchao asks for the float8 recipe first and then never looks at the other one.
  const std::string& float8 = row.text("float8_recipe");
  const TrainingRecipe* recipe =
      choose_training(float8, float8.empty() ? row.text("mx_recipe") : "", constants).first();
  if (recipe == nullptr)
    throw NoAnswer{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
  const Gpu& gpu = look_up_gpu(row.text("gpu"), Precision::kBf16, constants);
  const auto kernels =
      training_cast(gpu, is_weight ? recipe->weight : recipe->activation,
                    row.number("dim0") * row.number("dim1"), row.flag("fuse_with_prev"));
  const bool all_at_floor =
      std::ranges::all_of(kernels, [](Seconds kernel) { return kernel <= kLaunchFloor; });
  RowPrediction prediction = timed(total(kernels), all_at_floor ? "launch" : "memory");
  std::string times;
  for (const Seconds kernel : kernels)
    times += fmt::format("{}{}", times.empty() ? "" : " ", kernel.value);
  prediction.parts = {static_cast<double>(kernels.size()), std::move(times)};
  return prediction;
}

// One layer in bf16 and in a lower precision.
struct Layer {
  std::vector<GemmTime> bf16 = {};
  std::vector<GemmTime> low = {};
  std::vector<Seconds> casts = {};
  // Inference only: reading and writing the input in bf16, which fusing the cast into it saves.
  std::optional<Seconds> bf16_activation = {};
};

Layer train(const Row& row, ConstantSet constants) {
  const std::string &float8 = row.text("float8_recipe"), &mx = row.text("mx_recipe");
  const LinearShape shape = shape_of(row);
  const bool fused = row.flag("enable_fusion"),
             is_blockwise = constants == ConstantSet::kMain && float8 == kBlockwise;
  const TrainingChoice choice =
      is_blockwise ? TrainingChoice{} : choose_training(float8, mx, constants);
  if (!is_blockwise && choice.first() == nullptr)
    throw NoAnswer{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
  const Precision precision = choice.mx != nullptr ? choice.mx->precision : Precision::kFp8;
  const Gpu& gpu = look_up_gpu(row.text("gpu"), precision, constants);
  auto bf16 = training_products(gpu, shape, Precision::kBf16, 0, Precision::kBf16);
  if (is_blockwise)
    return {std::move(bf16), blockwise_products(gpu, shape), blockwise_casts(gpu, shape, fused)};
  const auto [m, k, n] = shape;
  const TrainingRecipe& recipe = *choice.first();
  std::vector<Seconds> casts = training_cast(gpu, recipe.activation, m * k, fused);
  for (const auto& more : {training_cast(gpu, recipe.weight, k * n, false),
                           training_cast(gpu, recipe.activation, m * n, fused)})
    casts.insert(casts.end(), more.begin(), more.end());
  return {std::move(bf16),
          training_products(gpu, shape, precision, scale_block(mx),
                            float8 == kGradWeightInBf16 ? Precision::kBf16 : precision),
          std::move(casts)};
}

Layer infer(const Row& row, ConstantSet constants) {
  if (row.has("float8_recipe") || row.has("mx_recipe"))
    throw NoAnswer{"", "recipe is for inference, float8_recipe and mx_recipe for training"};
  const std::string& recipe = row.text("recipe");
  const Precision precision = inference_precision(recipe);
  const Gpu& gpu = look_up_gpu(row.text("gpu"), precision, constants);
  const LinearShape shape = shape_of(row);
  const auto [m, k, n] = shape;
  return {{time_gemm(gpu, m, k, n, Precision::kBf16, 0)},
          {time_gemm(gpu, m, k, n, precision, scale_block(recipe))},
          inference_cast(gpu, shape, recipe),
          cast_time(gpu, 4.0, m * k)};
}

RowPrediction predict_linear(const Row& row, ConstantSet constants) {
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
  for (const Gpu& gpu : kGpus) {
    for (const std::string& name : machine.names) {
      if (gpu.is_in_main && name.starts_with(gpu.name)) return std::string(gpu.name);
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

// How a kernel scales its numbers, by a word of its name in small letters: scales of one byte as
// CUTLASS and cuBLASLt (..._Avec32UE8M0_Bvec32UE8M0) write them, cuBLASLt's blocks and rows, the
// libraries of block-wise products, and kernels that say it.
constexpr std::string_view kMxScales = "mx";
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kRecipesByName{{
    {"e8m0", kMxScales},
    {"mx_float", kMxScales},
    {"mxfp", kMxScales},
    {"vec128", kBlockwise},
    {"blk128", kBlockwise},
    {"deep_gemm", kBlockwise},
    {"fp8_gemm_1d", kBlockwise},
    {"blockwise", kBlockwise},
    {"block_fp8", kBlockwise},
    {"token_group_quant", kBlockwise},
    {"ovscale", "rowwise"},
    {"rowwise", "rowwise"},
    {"per_token", "rowwise"},
}};

// Returns what the operation says, else what its types and its kernel's name tell; "" for numbers
// that are not scaled.
std::string recipe_of(const Operation& operation) {
  if (auto recipe = operation.op.get<std::string>("recipe")) return *std::move(recipe);
  const std::string kernel = read::lower(operation.kernel.name);
  const auto* const found = std::ranges::find_if(kRecipesByName, [&](const auto& each) {
    return kernel.find(each.first) != std::string::npos;
  });
  const bool is_mx = found != kRecipesByName.end() && found->second == kMxScales;
  const std::string type = operation.op.get<std::string>("a_type").value_or("");
  // cuBLASLt knows no other scales of 4 bits than nvfp4's.
  if (type == "f4e2m1") return is_mx ? "mxfp4_cutlass" : "nvfp4";
  const bool is_cast = operation.op.kind == op_kind_name(OpKind::kCast);
  if (!is_cast && !type.starts_with("f8")) return "";
  if (is_mx) return "mxfp8_cublas";
  if (found != kRecipesByName.end()) return std::string(found->second);
  return is_cast ? "" : "tensorwise";
}

bool is_mx_recipe(std::string_view recipe) {
  return scale_block(recipe) > 0;
}

void add_recipe(OperationInputs& inputs, const Operation& operation) {
  std::string recipe = recipe_of(operation);
  if (recipe.empty()) return;
  inputs.values.emplace_back(is_mx_recipe(recipe) ? "mx_recipe" : "float8_recipe",
                             std::move(recipe));
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
  if (is_mx_recipe(recipe_of(operation))) add_recipe(inputs, operation);
  return inputs;
}

// An operation that names its recipe is the whole layer, with its casts.
OperationInputs linear_inputs(const Operation& operation) {
  const bool is_layer = operation.op.find("recipe") != nullptr;
  OperationInputs inputs = layer_inputs(operation, is_layer ? "" : "lowp_output_s");
  std::string recipe = recipe_of(operation);
  inputs.is_another = recipe.empty();
  // torchao trains no layer in these.
  if (recipe == "mxfp4" || recipe.starts_with("nv")) {
    inputs.add("recipe", std::move(recipe));
  } else {
    add_recipe(inputs, operation);
  }
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
          RowPrediction (*kPredict)(const Row&, ConstantSet)>
ModelEntry entry_of(std::string_view name, std::string_view summary, OpKind kind,
                    OperationInputs (*inputs_of)(const Operation&)) {
  return {.name = name,
          .summary = summary,
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .has_constant_sets = true,
          .make =
              [](const ModelOptions& options) {
                return Model{kInputs, kParts, [constants = options.constants](const Row& row) {
                               return kPredict(row, constants);
                             }};
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
