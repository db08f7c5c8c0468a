#include "model/published/float8/linear.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model::float8 {
namespace {

constexpr std::array<std::string_view, 3> kPrecisionNames{"bf16", "fp8", "fp4"};
constexpr std::array kElementBytes{2.0, 1.0, 0.5};
constexpr double kOutputBytes = 2.0;  // bf16

std::string_view name_of(Precision precision) {
  return kPrecisionNames[static_cast<std::size_t>(precision)];
}

struct EditionGpu {
  bool is_in_original;
  bool is_in_main;
  Gpu gpu;
};

// Peaks in bf16, fp8 and fp4, bandwidth, fractions.  The H100 is a variant with 2.4 TB/s, no SXM;
// the first fractions of the MI300X are those of torchao's pull request 2120.  `original` knows the
// fp4 peak of the B200, but has no product in fp4.  `main` computes the B200's bandwidth from bus
// width, clock and data rate.  That of the RTX 5090 is a thousand times the data sheet's; without
// fractions nobody gets that far.
constexpr std::array kGpus{
    EditionGpu{true, true, {"NVIDIA H100", {989e12}, {1979e12}, {}, {2400e9}, 0.78, 0.92}},
    EditionGpu{true, false, {"NVIDIA B200", {2.25e15}, {4.5e15}, {}, {8000e9}, 0.78, 0.92}},
    EditionGpu{
        false,
        true,
        {"NVIDIA B200", {2.25e15}, {4.5e15}, {9e15}, {(7680.0 / 8.0) * 3.996e9 * 2.0}, 0.78, 0.92}},
    EditionGpu{
        true, false, {"AMD Instinct MI300X", {1307e12}, {2614e12}, {}, {5300e9}, 0.47, 0.72}},
    EditionGpu{
        false, true, {"AMD Instinct MI300X", {1307e12}, {2614e12}, {}, {5300e9}, 0.78, 0.92}},
    EditionGpu{
        false, true, {"NVIDIA B300 SXM6 AC", {2.25e15}, {4.5e15}, {14e15}, {8000e9}, 0.82, 0.84}},
    EditionGpu{false, true, {"NVIDIA GB200", {2.25e15}, {4.5e15}, {9e15}, {8000e9}, 0.78, 0.92}},
    EditionGpu{false,
               true,
               {"NVIDIA GeForce RTX 5090", {209.5e12}, {419e12}, {1676e12}, {1792e12}, 0.0, 0.0}},
};

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
constexpr CastRule kMx8Once{kOneCopy, 1.0};
constexpr CastRule kMx4{kTwoFp4Copies, 0.5};

// name, is_mx, is_in_original, is_in_main, precision, casts of activations and of weights.  Where
// the fused first pass is as long as the whole one, fusing does not apply.
constexpr auto kFp8 = Precision::kFp8;
constexpr std::array kRecipes{
    TrainingRecipe{"tensorwise",
                   false,
                   true,
                   true,
                   kFp8,
                   {kMaximumThenBothCopies, 0.0},
                   {kMaximumThenTwoCopies, 0.0}},
    TrainingRecipe{"rowwise",
                   false,
                   true,
                   true,
                   kFp8,
                   {kRowsThenColumns, 3.0},
                   {kRowsThenColumnsOfWeight, 1.0}},
    TrainingRecipe{
        kGradWeightInBf16, false, true, true, kFp8, {kOneCopy, 1.0}, {kMaximumThenCopy, 3.0}},
    TrainingRecipe{"mxfp8_emulated", true, true, true, kFp8, kMx8, kMx8},
    TrainingRecipe{"mxfp8_cutlass", true, true, false, kFp8, kMx8, kMx8},
    TrainingRecipe{"mxfp8_cublas", true, true, true, kFp8, kMx8, kMx8},
    TrainingRecipe{"mxfp8_cublas_rceil", true, false, true, kFp8, kMx8, kMx8},
    TrainingRecipe{"mxfp8_32x32_flexible_gemm_layout", true, false, true, kFp8, kMx8Once, kMx8Once},
    TrainingRecipe{"mxfp8_32x32_weight", true, false, true, kFp8, kMx8, {kCopyThenTransposed, 3.0}},
    TrainingRecipe{"mxfp4_cutlass", true, false, true, Precision::kFp4, kMx4, kMx4},
};

template <typename Entry>
bool is_of(const Entry& entry, ConstantSet constants) {
  return constants == ConstantSet::kOriginal ? entry.is_in_original : entry.is_in_main;
}

double elements_read(const Gemm& gemm) {
  const double elements = gemm.m * gemm.k + gemm.k * gemm.n;
  return gemm.scale_block == 0 ? elements : elements + std::floor(elements / gemm.scale_block);
}

double element_bytes(Precision precision) {
  return kElementBytes[static_cast<std::size_t>(precision)];
}

// Throws Refusal.
const TrainingRecipe* find_recipe(std::string_view name, bool is_mx, ConstantSet constants) {
  if (name.empty()) return nullptr;
  std::vector<std::string_view> known;
  for (const TrainingRecipe& recipe : kRecipes) {
    if (recipe.is_mx != is_mx || !is_of(recipe, constants)) continue;
    if (recipe.name == name) return &recipe;
    known.push_back(recipe.name);
  }
  throw Refusal{"AssertionError",
                fmt::format("{} {} is none of {}", is_mx ? "mx_recipe" : "float8_recipe", name,
                            fmt::join(known, ", "))};
}

}  // namespace

std::vector<const Gpu*> known_gpus(ConstantSet constants) {
  std::vector<const Gpu*> known;
  for (const EditionGpu& each : kGpus) {
    if (is_of(each, constants)) known.push_back(&each.gpu);
  }
  return known;
}

const Gpu* find_gpu(std::string_view name, ConstantSet constants) {
  const auto known = known_gpus(constants);
  const auto exact = std::ranges::find(known, name, &Gpu::name);
  if (exact != known.end()) return *exact;
  if (constants == ConstantSet::kOriginal) return nullptr;
  const auto start =
      std::ranges::find_if(known, [&](const Gpu* gpu) { return name.starts_with(gpu->name); });
  return start == known.end() ? nullptr : *start;
}

const Gpu& look_up_gpu(std::string_view name, Precision precision, ConstantSet constants) {
  const Gpu* gpu = find_gpu(name, constants);
  if (gpu == nullptr) {
    std::vector<std::string_view> names;
    for (const Gpu* known : known_gpus(constants))
      names.push_back(known->name);
    throw Refusal{"KeyError", fmt::format("gpu {} is none of {}", name, fmt::join(names, ", "))};
  }
  if (!(gpu->gemm_fraction > 0) || !(gpu->memory_fraction > 0)) {
    throw Refusal{"KeyError", fmt::format("{} has no reachable fractions", gpu->name)};
  }
  if (!(gpu->peak(precision).value > 0)) {
    throw Refusal{"KeyError", fmt::format("{} has no peak for {}", gpu->name, name_of(precision))};
  }
  return *gpu;
}

std::string_view GemmTime::bound() const {
  if (compute >= memory && compute >= kLaunchFloor) return "compute";
  return memory >= kLaunchFloor ? "memory" : "launch";
}

GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm) {
  const FlopPerSecond peak = gpu.peak(gemm.precision);
  if (!(peak.value > 0) || !(gpu.gemm_fraction > 0) || !(gpu.memory_fraction > 0)) {
    throw std::invalid_argument(
        fmt::format("{} has no numbers for {}", gpu.name, name_of(gemm.precision)));
  }
  const Flop work{2.0 * gemm.m * gemm.k * gemm.n};
  GemmTime result;
  result.gemm = gemm;
  result.traffic = {elements_read(gemm) * element_bytes(gemm.precision) +
                    gemm.m * gemm.n * kOutputBytes};
  result.compute = {(work / peak).value / gpu.gemm_fraction};
  result.memory = {(result.traffic / gpu.bandwidth).value / gpu.memory_fraction};
  result.time = std::max({result.compute, result.memory, kLaunchFloor});
  return result;
}

CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                       double extra_bytes) {
  CastKernel kernel{bytes_per_element, elements, extra_bytes, {}};
  kernel.time = std::max(Seconds{(kernel.traffic() / gpu.bandwidth).value / gpu.memory_fraction},
                         kLaunchFloor);
  return kernel;
}

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

int scale_block(std::string_view recipe) {
  if (recipe.starts_with("mx")) return 32;
  return recipe.starts_with("nv") ? 16 : 0;
}

std::vector<GemmTime> training_products(const Gpu& gpu, const LinearShape& shape,
                                        Precision precision, int scale_block,
                                        Precision grad_weight) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, {m, k, n, precision, scale_block}),
          time_gemm(gpu, {m, n, k, precision, scale_block}),
          time_gemm(gpu, {k, m, n, grad_weight, scale_block})};
}

std::vector<NamedCast> training_casts(const Gpu& gpu, const LinearShape& shape,
                                      const TrainingRecipe& recipe, bool fused) {
  const auto [m, k, n] = shape;
  return {{"input", training_cast(gpu, recipe.activation, m * k, fused)},
          {"weight", training_cast(gpu, recipe.weight, k * n, false)},
          {"grad_output", training_cast(gpu, recipe.activation, m * n, fused)}};
}

std::vector<GemmTime> blockwise_products(const Gpu& gpu, const LinearShape& shape) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, {m, k, n, kFp8, 0}), time_gemm(gpu, {m, n, k, kFp8, 0}),
          time_gemm(gpu, {n, m, k, kFp8, 0})};
}

std::vector<NamedCast> blockwise_casts(const Gpu& gpu, const LinearShape& shape, bool fused) {
  constexpr double block = 128, scale_bytes = 4, bf16_read = 2, fp8_written = 1;
  const auto [m, k, n] = shape;
  const auto activation = [&](double elements, bool is_fused) {
    return cast_kernel(gpu, is_fused ? fp8_written : bf16_read + fp8_written, elements,
                       scale_bytes * (elements / block));
  };
  const CastKernel weight =
      cast_kernel(gpu, bf16_read + fp8_written, n * k, scale_bytes * (n * k / (block * block)));
  return {{"input", {activation(m * k, fused)}},
          {"weight", {weight}},
          {"weight, transposed", {weight}},
          {"grad_output", {activation(m * n, fused)}},
          {"grad_output, transposed", {activation(m * n, false)}},
          {"input, transposed", {activation(m * k, false)}}};
}

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

Seconds total(std::span<const GemmTime> products) {
  Seconds sum;
  for (const GemmTime& product : products)
    sum = sum + product.time;
  return sum;
}

Seconds total(std::span<const CastKernel> kernels) {
  Seconds sum;
  for (const CastKernel& kernel : kernels)
    sum = sum + kernel.time;
  return sum;
}

Seconds total(std::span<const NamedCast> casts) {
  Seconds sum;
  for (const NamedCast& cast : casts)
    sum = sum + total(std::span(cast.kernels));
  return sum;
}

std::string explain(const GemmTime& time, const Gpu& gpu) {
  const Gemm& gemm = time.gemm;
  const std::string scales =
      gemm.scale_block == 0 ? ""
                            : fmt::format(" + floor(({0:.0f}*{1:.0f} + {1:.0f}*{2:.0f}) / {3})",
                                          gemm.m, gemm.k, gemm.n, gemm.scale_block);
  return fmt::format(
      "max(2*{0:.0f}*{1:.0f}*{2:.0f} / {3:g} / {4:g} = {5:g} us, "
      "(({0:.0f}*{1:.0f} + {1:.0f}*{2:.0f}{6})*{7:g} + {0:.0f}*{2:.0f}*2) bytes / {8:g} / {9:g} = "
      "{10:g} us, {11:g} us) = {12:g} us ({13}, {14})",
      gemm.m, gemm.k, gemm.n, gpu.peak(gemm.precision).value, gpu.gemm_fraction,
      in_microseconds(time.compute), scales, element_bytes(gemm.precision), gpu.bandwidth.value,
      gpu.memory_fraction, in_microseconds(time.memory), in_microseconds(kLaunchFloor),
      in_microseconds(time.time), name_of(gemm.precision), time.bound());
}

std::string explain(const CastKernel& kernel, const Gpu& gpu) {
  const std::string extra =
      kernel.extra_bytes == 0.0 ? "" : fmt::format(" + {:g}", kernel.extra_bytes);
  const Seconds streaming{(kernel.traffic() / gpu.bandwidth).value / gpu.memory_fraction};
  return fmt::format("max(({:g}*{:.0f}{}) bytes / {:g} / {:g} = {:g} us, {:g} us) = {:g} us",
                     kernel.bytes_per_element, kernel.elements, extra, gpu.bandwidth.value,
                     gpu.memory_fraction, in_microseconds(streaming), in_microseconds(kLaunchFloor),
                     in_microseconds(kernel.time));
}

std::string describe(const Gpu& gpu) {
  std::string peaks;
  for (const Precision precision : {Precision::kBf16, kFp8, Precision::kFp4}) {
    const double peak = gpu.peak(precision).value;
    if (peak > 0) peaks += fmt::format("{} {:g}, ", name_of(precision), peak);
  }
  return fmt::format(
      "{}: {}FLOP/s, of which products reach {:g}; {:g} bytes/s, of which streams reach {:g}; "
      "no kernel below {:g} us",
      gpu.name, peaks, gpu.gemm_fraction, gpu.bandwidth.value, gpu.memory_fraction,
      in_microseconds(kLaunchFloor));
}

}  // namespace inline_prof::model::float8
