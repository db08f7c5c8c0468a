#include "model/families/families.hpp"

#include "model/calibrated/calibration.hpp"
#include "model/machines.hpp"
#include "model/occupancy.hpp"
#include "model/roofline.hpp"
#include "model/shipped_parameters.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace inline_prof::model {
namespace {

constexpr double kInterval90 = 1.645;  // standard deviations of a normal distribution
// Half-widths are shorter: few kernels have most of the deviation.  Of traces left out of the fit
// (docs/models/families.md) this holds about 92 % of the time.
constexpr double kFamilyInterval90 = 1.5;
constexpr double kOfL2 = 0.5;  // what L2 still has of small tensors makes movements so much faster
constexpr double kLaunchSpread = 0.15;  // of launches of one family
// Attention's published rates differ by a fifth between heads of 64 and of 128.
constexpr double kShapeSpread = 0.2;

double integer(const read::Op& op, std::string_view name, double otherwise = 0) {
  const auto value = op.get<std::int64_t>(name);
  return value ? static_cast<double>(*value) : otherwise;
}

// Returns the work of an element whose address is computed from several dimensions, as seen on an
// H100 for two to four of them; a copy reads one tensor less.
double address_work(std::string_view family, const read::Op& op) {
  constexpr double usual_dimensions = 3, of_dimension = 0.15, of_copy = 0.9;
  const double dimensions = std::min(integer(op, "dimensions"), 5.0);
  if (family != "strided" || dimensions < 1) return 1;
  return (1 + of_dimension * (dimensions - usual_dimensions)) *
         (op.get<std::string>("class") == "copy" ? of_copy : 1);
}

double rounded_up(double value, double step) {
  return std::ceil(value / step) * step;
}

// Attention works on tiles of 128 queries and 128 keys, and computes each that it touches.  To
// begin and end a tile of queries takes as long as two of its tiles of keys, and a causal mask one
// more (H100: FlashAttention 2 and 3 as their authors measured them for 512 to 8,192 keys, and
// traces of 141 to 559 keys).
double padded_attention_flops(const read::Op& op) {
  constexpr double tile = 128, tiles_to_set_up = 2, tiles_of_a_mask = 1;
  const double queries = rounded_up(integer(op, "q_len"), tile),
               steps = rounded_up(integer(op, "kv_len"), tile) / tile;
  const bool is_causal =
      op.get<bool>("causal").value_or(op.get<std::int64_t>("causal").value_or(0) != 0);
  const double usual_steps = is_causal ? (steps + 1) / 2 + tiles_of_a_mask : steps;
  const double products = op.get<std::string>("pass") == "backward" ? 5 : 2;
  return products * 2 * integer(op, "batch") * integer(op, "heads") * queries * tile *
         (usual_steps + tiles_to_set_up) * integer(op, "head_dim");
}

// Since the H100, instructions of the A100's kind reach a part of the peak (published rates of
// FlashAttention 2 on both).
double reachable_peak(std::string_view kernel_name, const read::Machine& machine) {
  constexpr double of_older_instructions = 0.62;
  static constexpr std::array<std::string_view, 4> older{"flash_fwd", "flash_bwd", "fmha_cutlass",
                                                         "attention_kernel_"};
  const bool is_older = std::ranges::any_of(older, [&](std::string_view word) {
    return kernel_name.find(word) != std::string_view::npos;
  });
  const bool has_newer = !machine.compute_capability.empty() && !is_before_hopper(machine);
  return is_older && has_newer ? of_older_instructions : 1;
}

// A step on tensor cores takes 64 bytes of channels: three channels of an image cost 32.
double padded_convolution_flops(const read::Op& op, double flops) {
  const auto type = op.get<std::string>("type");
  const auto bytes = type ? number_type_bytes(*type) : std::nullopt;
  const double channels = integer(op, "c");
  if (!bytes || channels < 1) return flops;
  return flops * rounded_up(channels, 64 / *bytes) / channels;
}

std::string_view peak_type(const read::Op& op) {
  const auto type = op.get<std::string>("type");
  if (op.get<std::string>("compute_type") == "tf32") return "tf32";
  if (type == "bf16") return "bf16";
  if (type == "f16") return "f16";
  if (type == "f8e4m3" || type == "f8e5m2") return "f8";
  return type == "f32" ? "f32" : "";
}

std::optional<double> peak_us(double flops, const read::Op& op, const read::Machine& machine) {
  const auto peak = machine.peak_tflops.find(std::string(peak_type(op)));
  if (peak == machine.peak_tflops.end() || flops <= 0) return std::nullopt;
  return flops / (peak->second * 1e6);
}

// Numbers of 16 bits that tiles load and write.  Unaligned operands pass through registers, a few
// bytes at a time, and tiles side by side load the same ones again.
double tile_traffic(const read::Op& op, std::string_view kernel_name) {
  constexpr std::pair usual_tile{128.0, 128.0};
  const auto [columns, rows] = read::tile_in(kernel_name).value_or(usual_tile);
  const double m = integer(op, "m"), n = integer(op, "n"), k = integer(op, "k");
  const double numbers = m * k * std::ceil(n / columns) + n * k * std::ceil(m / rows) + m * n;
  return integer(op, "batch", 1) * numbers * (op.get<std::string>("a_type") == "f32" ? 2 : 1);
}

// A block for each row finds the largest number, then the sum, then writes; backward it reads
// twice.
struct BlockSoftmax {
  double thread_steps = 0;
  double read_again_bytes = 0;
  double filled_units = 0;  // multiprocessors
};

// A step takes as long as memory answers, whether a thread loads one number or 16 bytes; PyTorch's
// kernels load single numbers behind their last whole sweep.  A row is read again from memory where
// the rows in work exceed L2, and not if shared memory or registers hold it.
BlockSoftmax block_softmax(std::string_view kernel_name, const read::Op& op, double traffic,
                           const read::Machine& machine) {
  constexpr double threads = 1024, vector_bytes = 16, usual_blocks = 2;
  const bool is_backward = op.get<std::string>("pass") == "backward";
  const double rows = integer(op, "rows"), columns = integer(op, "cols"),
               tensors = is_backward ? 3 : 2, element_bytes = traffic / (tensors * rows * columns);
  const auto limits = sm_limits(machine.compute_capability);
  const double blocks =  // of a multiprocessor
      limits ? std::floor(static_cast<double>(limits->threads) / threads) : usual_blocks;
  const bool is_held = kernel_name.find("Smem") != std::string_view::npos ||
                       kernel_name.find("Reg<") != std::string_view::npos;
  const double sweep = threads * vector_bytes / element_bytes, sweeps = std::floor(columns / sweep),
               rest = columns - sweeps * sweep;
  BlockSoftmax work;
  work.thread_steps = rows * threads *
                      (is_held       ? 1
                       : is_backward ? 2
                                     : 3) *
                      (sweeps + (is_held ? std::min(rest, 1.0) : std::ceil(rest / threads))) *
                      usual_blocks / blocks;
  work.filled_units = rows / blocks;
  const double units = static_cast<double>(machine.sm_count),
               in_work_bytes = traffic * std::min(1.0, units / work.filled_units);
  if (!is_held)
    work.read_again_bytes =
        traffic * 2 / tensors * std::max(0.0, 1 - machine.l2_mb.value_or(0) * 1e6 / in_work_bytes);
  return work;
}

// Elements that a movement walks over.  What the operation does not say follows from its bytes, as
// if each element had two.
double elements_of(const read::Op& op, double bytes) {
  const double rows = integer(op, "rows"), columns = integer(op, "cols");
  if (rows > 0 && columns > 0) return rows * columns;
  return integer(op, "elements", bytes / 4);
}

}  // namespace

namespace {

// Names the sizes that are not aligned, and what they would have to be.
std::string padding_of(const read::Op& op) {
  const auto type = op.get<std::string>("a_type");
  const auto bytes = type ? number_type_bytes(*type) : std::nullopt;
  if (!bytes) return {};
  const double vector = 16 / *bytes;
  std::string text;
  for (const char* const name : {"n", "k", "m"}) {
    const double size = integer(op, name), padded = rounded_up(size, vector);
    // Rows of A and B have k or n elements; m counts rows only where A is transposed.
    if (size < 1 || padded == size || (name[0] == 'm' && !op.get<bool>("trans_a").value_or(false)))
      continue;
    text += fmt::format("{}{} = {}: pad it to {}", text.empty() ? "" : ", ", name, size, padded);
  }
  return text.empty() ? text : fmt::format("rows are not aligned to 16 bytes; {}", text);
}

std::string remedy_of(const KernelFamily& family, const read::Op& op) {
  if (family.name.starts_with("product_align")) return padding_of(op);
  const auto bytes = number_type_bytes(op.get<std::string>("type").value_or(""));
  if (family.name == "softmax_block" &&
      std::fmod(integer(op, "cols") * bytes.value_or(1), 16) == 0) {
    return "each row is read two or three times: fuse it with the loss (torch.compile, or a fused "
           "cross entropy)";
  }
  const auto what = op.get<std::string>("class");
  if (family.name == "strided" && (what == "copy" || what == "transpose")) {
    return "a copy into another layout: let its reader take the tensor as it is, or fuse the copy "
           "(torch.compile)";
  }
  return std::string(family.remedy);
}

}  // namespace

std::string_view family_of_parameters(const KernelFamily& family, const read::Op& op) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> of_f32{
      {{"product_align1", "product_align2"},
       {"product_align2", "product_align4"},
       {"product_align4", "product_80"}}};
  if (family.name == "strided" && op.get<std::string>("class") == "transpose")
    return "strided_transposed";
  if (family.name == "convolution" && op.get<std::string>("type") == "f32" &&
      !op.find("compute_type"))
    return "convolution_simt";  // no tensor core multiplies single precision
  if (op.get<std::string>("a_type") != "f32") return family.name;
  const auto* const found = std::find_if(of_f32.begin(), of_f32.end(),
                                         [&](const auto& row) { return row.first == family.name; });
  return found == of_f32.end() ? family.name : found->second;
}

std::optional<FamilyWork> family_work(std::string_view kernel_name, const read::Op& op,
                                      const read::Machine& machine, double blocks,
                                      const std::optional<Prediction>& base) {
  const KernelFamily* const family = kernel_family(kernel_name);
  const auto kind = op_kind_from_name(op.kind);
  const OpWork all = work_of(op);
  if (family == nullptr || !kind || !all.reason.empty()) return std::nullopt;
  FamilyWork work;
  work.form = family->form;
  work.bytes = all.traffic.value;
  work.blocks = blocks;
  const double l2_bytes = machine.l2_mb.value_or(0) * 1e6;
  const double part_of_l2 = l2_bytes > 0 ? std::min(1.0, work.bytes / l2_bytes) : 1.0;
  switch (family->form) {
    case FamilyForm::kNone:
      return std::nullopt;
    case FamilyForm::kMovement:
      if (kind == OpKind::kConv && family->name == "convolution_depthwise") {
        // A thread walks over the window of its result.
        constexpr double flops_of_an_element = 16;
        work.elements = all.flops.value / flops_of_an_element;
        return work;
      }
      if (kind != OpKind::kMemory && kind != OpKind::kNorm && kind != OpKind::kSoftmax)
        return std::nullopt;
      work.elements = address_work(family->name, op) * elements_of(op, work.bytes);
      if (family->name != "reduction") work.blocks = 0;  // as many as there are elements
      work.bytes /= 1 + kOfL2 * (1 - part_of_l2);
      if (kind == OpKind::kSoftmax && kernel_name.find("cunn_SoftMax") != std::string_view::npos) {
        const BlockSoftmax rows = block_softmax(kernel_name, op, all.traffic.value, machine);
        work.elements = rows.thread_steps;
        work.blocks = rows.filled_units;
        work.bytes += rows.read_again_bytes;
      }
      return work;
    case FamilyForm::kProduct:
      if (kind != OpKind::kGemm || !base) return std::nullopt;
      work.base_us = in_microseconds(base->time);
      work.cold_bytes = work.bytes * (1 - part_of_l2);
      if (const auto aligned = family_of_parameters(*family, op);
          aligned == "product_align1" || aligned == "product_align2")
        work.elements = tile_traffic(op, kernel_name);
      return work;
    case FamilyForm::kTiles: {
      if (kind != OpKind::kAttention && kind != OpKind::kConv) return std::nullopt;
      const double flops = kind == OpKind::kAttention
                               ? padded_attention_flops(op)
                               : padded_convolution_flops(op, all.flops.value);
      const auto us = peak_us(flops, op, machine);
      if (!us) return std::nullopt;
      work.peak_us = *us / reachable_peak(kernel_name, machine);
      return work;
    }
  }
  return std::nullopt;
}

double family_time_us(const FamilyWork& work, const FamilyParameters& parameters,
                      const read::Machine& machine) {
  const double bytes_per_us = machine.memory_gb_per_s * 1e3;
  const auto units = static_cast<double>(std::max<std::int64_t>(machine.sm_count, 1));
  const double busy_units = work.blocks > 0 ? std::min(units, work.blocks) : units;
  const double elements_us =
      work.elements / (parameters.elements_per_clock * busy_units * machine.clock_mhz());
  switch (work.form) {
    case FamilyForm::kNone:
      break;
    case FamilyForm::kMovement:
      return parameters.launch_us +
             std::max(work.bytes / (parameters.share * bytes_per_us), elements_us);
    case FamilyForm::kProduct:
      // The tables repeat one product, which then finds its operands in L2; a step does not.
      return parameters.launch_us + std::max(work.base_us / parameters.share, elements_us) +
             work.cold_bytes / bytes_per_us;
    case FamilyForm::kTiles:
      return parameters.launch_us + work.peak_us / parameters.share * units / busy_units;
  }
  return 0;
}

double family_half_width(const FamilyParameters& parameters, double time_us) {
  return kFamilyInterval90 *
         std::hypot(parameters.sigma, kLaunchSpread * parameters.launch_us / time_us);
}

namespace {

// Returns the usual spread if no row has moved the parameter on which the time of this work hangs:
// that of bytes where all rows were bound by their elements, or the other way round.
double untested_sigma(std::string_view family, const FamilyWork& work,
                      const FamilyParameters& parameters, const read::Machine& machine) {
  static const auto usual = usual_family_parameters();
  const FamilyParameters& before = usual.find(family)->second;
  FamilyWork of_bytes = work;
  of_bytes.elements = 0;
  const double time_us = family_time_us(work, parameters, machine);
  double FamilyParameters::*const counts = family_time_us(of_bytes, parameters, machine) < time_us
                                               ? &FamilyParameters::elements_per_clock
                                               : &FamilyParameters::share;
  if (parameters.*counts != before.*counts) return 0;
  return before.sigma * (1 - parameters.launch_us / time_us);
}

}  // namespace

Families::Families(const read::Parameters& parameters, const read::Machine& machine)
    : parameters_(family_parameters(parameters)), trained_machine_(parameters.machine) {
  // The usual values are those of an H100.
  const bool is_own = trained_machine_ == machine.id;
  const std::string from = is_own ? "h100-sxm5-80gb" : trained_machine_;
  // Another GPU, or its architecture: more than what is seen between traces of one
  // (docs/models/families.md).
  const double transfer_sigma = is_own ? 0 : 0.2;
  for (const read::Machine& trained : builtin_machines()) {
    if (trained.id != from) continue;
    const double launch = std::max(1.0, launch_factor(trained, machine));  // a B200's take no less
    for (auto& [family, own] : parameters_) {
      if (is_own && own.rows > 0) continue;
      own.launch_us *= launch;
      own.sigma = std::hypot(own.sigma, transfer_sigma);
    }
  }
}

const FamilyParameters* Families::parameters_of(std::string_view family) const {
  const auto found = parameters_.find(family);
  return found == parameters_.end() ? nullptr : &found->second;
}

std::optional<double> Families::attainable_us(const FamilyWork& work,
                                              const read::Machine& machine) const {
  std::optional<double> best_us;
  const auto consider = [&](std::string_view family, FamilyWork of_best) {
    const FamilyParameters* const parameters = parameters_of(family);
    if (parameters == nullptr) return;
    const double us = family_time_us(of_best, *parameters, machine);
    if (!best_us || us < *best_us) best_us = us;
  };
  if (work.form == FamilyForm::kMovement) {
    FamilyWork once = work;
    once.elements = 0;  // in vectors, and in one pass
    consider("vectorized", once);
  }
  if (work.form == FamilyForm::kProduct) {
    FamilyWork aligned = work;
    aligned.elements = 0;
    for (const std::string_view family : {"product_80", "product_90", "product_nvjet"}) {
      const FamilyParameters* const parameters = parameters_of(family);
      if (parameters != nullptr && parameters->rows > 0) consider(family, aligned);
    }
  }
  return best_us;
}

std::optional<Prediction> Families::predict(std::string_view kernel_name, double blocks,
                                            const read::Op& op, const read::Machine& machine,
                                            const std::optional<Prediction>& base) const {
  const KernelFamily* const family = kernel_family(kernel_name);
  if (family == nullptr) return std::nullopt;
  const std::string_view name = family_of_parameters(*family, op);
  const FamilyParameters* const parameters = parameters_of(name);
  const auto work = family_work(kernel_name, op, machine, blocks, base);
  if (parameters == nullptr || !work) return std::nullopt;
  const double time_us = family_time_us(*work, *parameters, machine);
  if (!std::isfinite(time_us) || time_us <= 0) return std::nullopt;
  FamilyParameters tested = *parameters;
  tested.sigma = std::max(tested.sigma, untested_sigma(name, *work, *parameters, machine));
  double half_width = family_half_width(tested, time_us);
  if (work->form == FamilyForm::kTiles)
    half_width = std::hypot(half_width, kFamilyInterval90 * kShapeSpread);
  if (base && base->interval90 && work->form == FamilyForm::kProduct) {
    // The errors of the product's own model are among those that the family was fitted to.
    const double of_base =
        0.5 * std::log(base->interval90->second.value / base->interval90->first.value);
    if (std::isfinite(of_base))
      half_width = std::max(half_width, of_base * kFamilyInterval90 / kInterval90);
  }
  Prediction prediction;
  prediction.time = microseconds(time_us);
  prediction.interval90 = {microseconds(time_us * std::exp(-half_width)),
                           microseconds(time_us * std::exp(half_width))};
  prediction.model = "family " + std::string(family->name);
  prediction.parameters = trained_machine_;
  if (std::string remedy = remedy_of(*family, op); !remedy.empty()) {
    if (const auto best_us = attainable_us(*work, machine); best_us && *best_us < time_us) {
      prediction.attainable = microseconds(*best_us);
      prediction.remedy = std::move(remedy);
    }
  }
  prediction.bound = 2 * parameters->launch_us > time_us          ? Bound::kLaunch
                     : work->form == FamilyForm::kMovement        ? Bound::kMemory
                     : work->form == FamilyForm::kProduct && base ? base->bound
                                                                  : Bound::kCompute;
  prediction.is_extrapolated = parameters->rows == 0 && family->form == FamilyForm::kProduct;
  return prediction;
}

FamilyMap usual_family_parameters() {
  struct Usual {
    std::string_view family;
    double launch_us, share, elements_per_clock, sigma;
  };
  // Launch: about 1.6 us of a kernel that moves its data in vectors, 2 to 4 of those with more to
  // set up. Elements a clock: 1.3 of each multiprocessor where each is addressed by itself, half a
  // one where neighbours lie far apart, over 2.5 in vectors.  Tiles of unaligned products load 8
  // bytes a clock on A100 and H100.
  static constexpr std::array<Usual, 47> rows{{
      {"vectorized", 1.6, 0.95, 3.0, 0.12},
      {"unrolled", 2.4, 0.85, 1.35, 0.2},
      {"tokens", 2.4, 0.7, 2.5, 0.25},
      {"strided", 2.4, 0.75, 1.35, 0.22},
      {"strided_transposed", 2.4, 0.75, 0.5, 0.3},
      {"indexing", 2.8, 0.5, 0.8, 0.35},
      {"lists", 3.0, 0.8, 2.0, 0.25},
      {"reduction", 3.2, 0.8, 2.5, 0.3},
      {"split_sum", 2.0, 0.5, 1.5, 0.3},
      {"softmax_warp", 2.0, 0.55, 1.5, 0.3},
      // Two blocks of 1,024 threads that wait 850 clocks a step (RTX 3080: one, 970).
      {"softmax_block", 3.0, 0.8, 2.4, 0.3},
      {"norm", 3.0, 0.7, 1.3, 0.2},
      {"norm_vectorized", 2.5, 0.8, 3.0, 0.3},
      {"norm_weights", 4.0, 0.5, 1.3, 0.4},
      {"cat", 3.3, 0.75, 0.85, 0.3},
      {"cat_vectorized", 3.0, 0.7, 2.0, 0.3},
      {"gather", 2.9, 0.5, 0.8, 0.3},
      {"gather_vectorized", 2.5, 0.7, 3.0, 0.3},
      {"scatter", 3.5, 0.35, 0.5, 0.5},
      {"sort", 3.0, 0.6, 2.5, 0.3},
      {"scan", 3.0, 0.5, 1.0, 0.4},
      {"random", 2.5, 0.8, 1.2, 0.3},
      {"pooling", 2.5, 0.6, 0.8, 0.4},
      {"bags", 3.0, 0.5, 0.25, 0.3},
      {"transpose", 2.0, 0.4, 0.75, 0.5},
      {"loss", 2.5, 0.5, 1.0, 0.4},
      {"fused", 2.0, 0.85, 2.5, 0.25},
      {"fused_reduction", 2.5, 0.75, 2.5, 0.3},
      // FlashAttention 2 on A100 and H100, 3 and cuDNN 9 on H100, as published, heads of 64 to 128.
      {"attention_flash2", 2.0, 0.55, 1, 0.25},
      {"attention_flash3", 3.0, 0.58, 1, 0.3},
      {"attention_fmha", 4.0, 0.45, 1, 0.4},
      {"attention_cudnn", 3.0, 0.6, 1, 0.3},
      {"attention_backward", 4.0, 0.45, 1, 0.4},
      // DeepBench's on V100 (f16 0.23 to 0.31, f32 0.51 to 0.73), less for newer, faster GPUs.
      {"convolution", 3.0, 0.2, 1, 0.6},
      {"convolution_simt", 3.0, 0.6, 1, 0.6},
      {"convolution_depthwise", 3.0, 0.5, 1.5, 0.6},
      {"product_align1", 2.0, 1.0, 4, 0.3},
      {"product_align2", 2.0, 1.0, 4, 0.3},
      {"product_align4", 2.0, 0.7, 1, 0.3},
      {"product_wmma", 2.0, 1.0, 1, 0.3},
      {"product_75", 2.0, 0.5, 1, 0.3},
      {"product_80", 2.0, 1.0, 1, 0.2},
      {"product_90", 2.0, 1.0, 1, 0.12},
      {"product_nvjet", 0.8, 1.0, 1, 0.12},
      {"product_vector", 1.5, 1.0, 1, 0.25},
      {"product_simt", 2.0, 0.8, 1, 0.3},
      {"product", 1.5, 1.0, 1, 0.2},
  }};
  FamilyMap parameters;
  for (const Usual& usual : rows) {
    parameters[std::string(usual.family)] = {usual.launch_us, usual.share, usual.elements_per_clock,
                                             usual.sigma, 0};
  }
  return parameters;
}

namespace {

constexpr const char* kFamiliesMember = "families";
constexpr std::array<std::pair<const char*, double FamilyParameters::*>, 4> kMembers{
    {{"launch_us", &FamilyParameters::launch_us},
     {"share", &FamilyParameters::share},
     {"elements_per_clock", &FamilyParameters::elements_per_clock},
     {"sigma", &FamilyParameters::sigma}}};

double rounded(double value) {
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

// The loss of one family's rows: squares of small errors of ln(time), lengths of large ones, so
// that one odd kernel does not draw the others along.  Parameters stay near those that the fit
// starts from.
double loss(const std::vector<const FamilyRow*>& rows, const FamilyParameters& parameters,
            const FamilyParameters& start, const read::Machine& machine) {
  constexpr double small = 0.1;
  // How far a family's parameters differ between GPUs and stacks, in logarithms.
  constexpr std::array<double, 3> spread{0.35, 0.25, 0.35};
  double sum = 0;
  for (const FamilyRow* row : rows) {
    const double error =
        std::log(family_time_us(row->work, parameters, machine) / row->measured_us) / small;
    sum += row->weight * 2 * (std::sqrt(1 + error * error) - 1);
  }
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const double moved =
        std::log(parameters.*kMembers[i].second / (start.*kMembers[i].second)) / spread[i];
    sum += moved * moved;
  }
  return sum;
}

FamilyParameters best_of_family(const std::vector<const FamilyRow*>& rows,
                                const FamilyParameters& start, const read::Machine& machine) {
  FamilyParameters best = start;
  double least = loss(rows, best, start, machine);
  // One parameter after the other, in steps that get smaller: three numbers need nothing cleverer.
  for (double step = 0.3; step > 1e-4; step *= 0.7) {
    bool is_better = true;
    while (is_better) {
      is_better = false;
      for (std::size_t i = 0; i < 3; ++i) {
        for (const double factor : {std::exp(step), std::exp(-step)}) {
          FamilyParameters next = best;
          next.*kMembers[i].second *= factor;
          // L2 may have what a trace's kernels read; other sizes come from memory.
          if (next.share > 1 && rows.front()->work.form != FamilyForm::kProduct) continue;
          const double value = loss(rows, next, start, machine);
          if (value >= least - 1e-12) continue;
          best = next;
          least = value;
          is_better = true;
        }
      }
    }
  }
  return best;
}

FamilyParameters fit_family(const std::vector<const FamilyRow*>& rows,
                            const FamilyParameters& start, const read::Machine& machine) {
  FamilyParameters best = best_of_family(rows, start, machine);
  // The error of each row as the other traces predict it, beside what launches differ by.  Long
  // kernels count more, since an interval has to hold most of the time.
  double squares = 0, weights = 0;
  std::map<std::size_t, FamilyParameters> without;  // by the trace that is left out
  for (const FamilyRow* row : rows) {
    const auto [found, is_new] = without.try_emplace(row->trace, best);
    if (is_new) {
      std::vector<const FamilyRow*> others;
      std::ranges::copy_if(rows, std::back_inserter(others),
                           [&](const FamilyRow* other) { return other->trace != row->trace; });
      if (!others.empty()) found->second = best_of_family(others, start, machine);
    }
    const FamilyParameters& parameters = found->second;
    const double time_us = family_time_us(row->work, parameters, machine);
    const double error = std::log(time_us / row->measured_us);
    const double of_launch = kLaunchSpread * parameters.launch_us / time_us;
    const double weight = row->weight * std::sqrt(row->measured_us);
    squares += weight * std::max(0.0, error * error - of_launch * of_launch);
    weights += weight;
  }
  // The start, which is all that was known of such kernels before, counts as half a row.  Launches
  // of one size tell nothing of other sizes, however many they are.
  constexpr double rows_before = 0.5;
  const auto count = static_cast<double>(rows.size());
  best.sigma = std::sqrt((start.sigma * start.sigma * rows_before + squares / weights * count) /
                         (rows_before + count));
  best.rows = static_cast<std::int64_t>(rows.size());
  for (const auto& [name, member] : kMembers)
    best.*member = rounded(best.*member);
  return best;
}

}  // namespace

FamilyMap fit_families(const std::vector<FamilyRow>& rows, const FamilyMap& start,
                       const read::Machine& machine) {
  FamilyMap fitted = start;
  std::map<std::string, std::vector<const FamilyRow*>> by_family;
  for (const FamilyRow& row : rows) {
    if (row.measured_us > 0 && start.contains(row.family)) by_family[row.family].push_back(&row);
  }
  for (const auto& [family, own] : by_family)
    fitted[family] = fit_family(own, start.at(family), machine);
  return fitted;
}

FamilyMap family_parameters(const read::Parameters& parameters) {
  auto families = usual_family_parameters();
  const base::JsonValue document = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode all =
      read::TreeNode(document, parameters.label).member("parameters").member(kFamiliesMember);
  all.each_member([&](std::string_view name, const read::TreeNode& family) {
    FamilyParameters own;
    for (const auto& [member, place] : kMembers) {
      own.*place = family.member(member).number();
      if (!(own.*place > 0)) family.member(member).fail("expected a number > 0");
    }
    own.rows = family.member("rows").integer();
    families[std::string(name)] = own;
  });
  return families;
}

read::Parameters shipped_families(const read::Machine& machine) {
  const std::string own =
      shipped_set_for(kFamiliesMember, {.key = "", .type_of_relatives = "f16"}, machine);
  // Most traces are of an H100.
  return choose_parameters(own.empty() ? "families_h100-sxm5-80gb" : own, kFamiliesMember);
}

read::Parameters parameters_of_families(const FamilyMap& families, const std::string& machine_id) {
  read::Parameters parameters;
  parameters.model = kFamiliesMember;
  parameters.machine = machine_id;
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, own] : families) {
    if (own.rows == 0) continue;  // what was carried over is no measurement of this machine
    nlohmann::json& family = all[name];
    for (const auto& [member, place] : kMembers)
      family[member] = own.*place;
    family["rows"] = own.rows;
    parameters.trained_rows += own.rows;
  }
  parameters.parameters[kFamiliesMember] = std::move(all);
  return parameters;
}

}  // namespace inline_prof::model
