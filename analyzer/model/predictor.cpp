#include "model/predictor.hpp"

#include "model/calibrated/collective/collective.hpp"
#include "model/calibrated/conv/conv.hpp"
#include "model/calibrated/embedding/embedding.hpp"
#include "model/calibrated/embedding/index_distribution.hpp"
#include "model/calibrated/gemm/gemm.hpp"
#include "model/calibrated/memory/memory.hpp"
#include "model/machines.hpp"
#include "model/roofline.hpp"
#include "read/parameters.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace inline_prof::model {
namespace {

Bound bound_of(std::string_view name) {
  if (name == "compute") return Bound::kCompute;
  if (name == "memory" || name == "l2" || name == "bandwidth") return Bound::kMemory;
  return Bound::kLaunch;
}

void set_estimate(Prediction& prediction, const Calibration::Estimate& estimate) {
  prediction.time = microseconds(estimate.time_us);
  prediction.interval90 = {microseconds(estimate.lower_us), microseconds(estimate.upper_us)};
  prediction.is_extrapolated = estimate.distance > kFarAway;
}

const ParameterText* text_of(std::string_view model, std::string_view key, std::string_view id) {
  const std::string name = key.empty() ? fmt::format("{}_{}.json", model, id)
                                       : fmt::format("{}_{}_{}.json", model, id, key);
  const auto texts = parameter_texts();
  const auto it = std::find_if(texts.begin(), texts.end(),
                               [&](const ParameterText& text) { return text.file_name == name; });
  return it == texts.end() ? nullptr : &*it;
}

// The file of `model` for this machine and key, or for one whose multiprocessors are as many and as
// fast: memory and clock differ, which the transfer's wider interval covers.
const ParameterText* find_parameters(std::string_view model, std::string_view key,
                                     const read::Machine& machine,
                                     std::span<const read::Machine> known) {
  if (const ParameterText* own = text_of(model, key, machine.id)) return own;
  for (const read::Machine& other : known) {
    if (other.sm_count != machine.sm_count || other.peak_tflops != machine.peak_tflops) continue;
    if (const ParameterText* text = text_of(model, key, other.id)) return text;
  }
  return nullptr;
}

double flops_per_clock(const read::Machine& machine, const std::string& type) {
  return machine.peak_tflops.at(type) * 1e6 /
         (static_cast<double>(machine.sm_count) * machine.boost_clock_mhz.value());
}

// Where no machine has the same multiprocessors: the file of the one whose multiply the most alike
// in a clock.  Its interval is a transfer's to another architecture.
const ParameterText* find_relative(const std::string& key, const std::string& type,
                                   const read::Machine& machine,
                                   std::span<const read::Machine> known) {
  if (!machine.boost_clock_mhz || !machine.peak_tflops.contains(type)) return nullptr;
  const double own = flops_per_clock(machine, type);
  const ParameterText* nearest = nullptr;
  double least = 0;
  for (const read::Machine& other : known) {
    const ParameterText* text = text_of("gemm", key, other.id);
    if (text == nullptr || !other.boost_clock_mhz || !other.peak_tflops.contains(type)) continue;
    const double distance = std::abs(std::log(flops_per_clock(other, type) / own));
    if (nearest != nullptr && distance >= least) continue;
    nearest = text;
    least = distance;
  }
  return nearest;
}

// Products of 16-bit types run at the same rate.
std::string_view measured_type(std::string_view type) {
  return type == "f16" ? "bf16" : type;
}

// One number for both sides of an image, or one for each; empty for anything else.
std::optional<std::array<double, 2>> both_sides(const read::Op& op, const char* name,
                                                double otherwise) {
  if (const auto list = op.get<std::vector<std::int64_t>>(name)) {
    if (list->size() != 2) return std::nullopt;
    return std::array{static_cast<double>((*list)[0]), static_cast<double>((*list)[1])};
  }
  const double side = static_cast<double>(op.get<std::int64_t>(name).value_or(0));
  return op.find(name) == nullptr ? std::array{otherwise, otherwise} : std::array{side, side};
}

// Empty where something is missing, or is not what the convolutions' model knows.
std::optional<ConvShape> conv_shape_of(const read::Op& op) {
  ConvShape shape;
  const std::array<std::pair<const char*, double*>, 7> sizes{{{"n", &shape.n},
                                                              {"c", &shape.c},
                                                              {"h", &shape.h},
                                                              {"w", &shape.w},
                                                              {"k", &shape.k},
                                                              {"r", &shape.r},
                                                              {"s", &shape.s}}};
  for (const auto& [name, size] : sizes) {
    const auto value = op.get<std::int64_t>(name);
    if (!value || *value < 1) return std::nullopt;
    *size = static_cast<double>(*value);
  }
  const auto stride = both_sides(op, "stride", 1), pad = both_sides(op, "pad", 0),
             dilation = both_sides(op, "dilation", 1);
  if (!stride || !pad || !dilation || *dilation != std::array{1.0, 1.0}) return std::nullopt;
  if ((*stride)[0] < 1 || (*stride)[1] < 1 || (*pad)[0] < 0 || (*pad)[1] < 0) return std::nullopt;
  std::tie(shape.stride_h, shape.stride_w) = std::tie((*stride)[0], (*stride)[1]);
  std::tie(shape.pad_h, shape.pad_w) = std::tie((*pad)[0], (*pad)[1]);
  shape.groups = static_cast<double>(op.get<std::int64_t>("groups").value_or(1));
  if (shape.groups < 1 || !complaint_about(shape).empty()) return std::nullopt;
  return shape;
}

}  // namespace

struct Predictor::Shipped {
  std::vector<read::Machine> known = builtin_machines();
  // By machine and key; empty where there is no file.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CalibratedGemm>> gemm;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CalibratedConv>> conv;
  std::map<std::string, std::shared_ptr<const CalibratedMemory>> memory;
  std::map<std::string, std::shared_ptr<const CalibratedCollectives>> collectives;

  // `key`: of the file; `type`: that is multiplied.
  std::shared_ptr<const CalibratedGemm> gemm_of(const read::Machine& machine,
                                                const std::string& key, const std::string& type) {
    const auto [it, is_new] = gemm.try_emplace({machine.id, key});
    if (!is_new) return it->second;
    const ParameterText* text = find_parameters("gemm", key, machine, known);
    // A kernel's tile is its architecture's own.
    if (text == nullptr && !key.ends_with("_kernel")) {
      text = find_relative(key, type, machine, known);
    }
    if (text == nullptr || !machine.l2_mb) return nullptr;
    it->second = std::make_shared<const CalibratedGemm>(
        read::parse_parameters(text->text, std::string(text->file_name), "gemm"), machine);
    return it->second;
  }

  std::shared_ptr<const CalibratedConv> conv_of(const read::Machine& machine,
                                                const std::string& key) {
    const auto [it, is_new] = conv.try_emplace({machine.id, key});
    if (!is_new) return it->second;
    const ParameterText* text = find_parameters("conv", key, machine, known);
    if (text == nullptr || !machine.l2_mb) return nullptr;
    it->second = std::make_shared<const CalibratedConv>(
        read::parse_parameters(text->text, std::string(text->file_name), "conv"), machine);
    return it->second;
  }

  std::shared_ptr<const CalibratedMemory> memory_of(const read::Machine& machine) {
    const auto [it, is_new] = memory.try_emplace(machine.id);
    if (!is_new) return it->second;
    const ParameterText* text = find_parameters("memory", "", machine, known);
    if (text == nullptr || !machine.l2_mb) return nullptr;
    it->second = std::make_shared<const CalibratedMemory>(
        read::parse_parameters(text->text, std::string(text->file_name), "memory"), machine);
    return it->second;
  }

  std::shared_ptr<const CalibratedCollectives> collectives_of(const read::Machine& machine) {
    const auto [it, is_new] = collectives.try_emplace(machine.id);
    if (!is_new) return it->second;
    const ParameterText* text = find_parameters("collective", "", machine, known);
    if (text == nullptr) return nullptr;
    it->second = std::make_shared<const CalibratedCollectives>(
        read::parse_parameters(text->text, std::string(text->file_name), "collective"), machine.id);
    return it->second;
  }

  std::optional<Prediction> predict_gemm(const read::Op& op, const read::Machine& machine,
                                         const LaunchedKernel& launched) {
    const auto m = op.get<std::int64_t>("m"), n = op.get<std::int64_t>("n"),
               k = op.get<std::int64_t>("k");
    const auto type = op.get<std::string>("a_type");
    const auto batch = op.get<std::int64_t>("batch").value_or(1);
    if (!m || !n || !k || !type || *m < 1 || *n < 1 || *k < 1 || batch < 1) return std::nullopt;
    if (op.get<std::string>("b_type").value_or(*type) != *type) return std::nullopt;
    // Tensor cores on parts of a single-precision number: another rate.
    if (*type == "f32" && op.get<std::string>("compute_type") == "tf32") return std::nullopt;
    const GemmShape shape{static_cast<double>(*m), static_cast<double>(*n), static_cast<double>(*k),
                          static_cast<double>(batch)};
    const std::string key(measured_type(*type));
    // With its kernel known a product is predicted better than without.
    auto kernel =
        launched.blocks > 0 ? gemm_kernel(launched.name, shape, launched.blocks) : std::nullopt;
    auto gemm_model = kernel ? gemm_of(machine, key + "_kernel", *type) : nullptr;
    if (!gemm_model) {
      kernel.reset();
      gemm_model = gemm_of(machine, key, *type);
    }
    // Parameters that hold the quantise kernels say nothing about the product alone.
    if (!gemm_model || gemm_model->boundary() != kGemmBoundary) return std::nullopt;
    const auto alone = gemm_model->predict_kernel(shape, kernel, machine.launch_floor_us);
    if (!alone) return std::nullopt;
    const CalibratedGemm::Prediction found = *alone;
    if (!std::isfinite(found.estimate.time_us)) return std::nullopt;
    Prediction prediction;
    set_estimate(prediction, found.estimate);
    // Only single products were measured.
    if (batch > 1) prediction.is_extrapolated = true;
    prediction.bound = bound_of(found.analytic.bound);
    prediction.model = "gemm";
    prediction.parameters = fmt::format("{} {}{}", gemm_model->trained_machine(),
                                        gemm_model->types().name, kernel ? " kernel" : "");
    prediction.tail_probability = [gemm_model, found](Seconds measured) {
      const auto tail_probability = gemm_model->tail_probability(in_microseconds(measured), found);
      return TailProbability{tail_probability.slower, tail_probability.faster};
    };
    return prediction;
  }

  std::optional<Prediction> predict_conv(const read::Op& op, const read::Machine& machine,
                                         std::string_view kernel_name) {
    const auto shape = conv_shape_of(op);
    const auto type = op.get<std::string>("type"), direction = op.get<std::string>("direction");
    if (!shape || !type || kernel_name.empty()) return std::nullopt;
    const auto kernel = parse_conv_kernel(kernel_name, shape->r, shape->s, shape->stride_h);
    if (!kernel) return std::nullopt;
    const auto conv_model =
        conv_of(machine, fmt::format("{}_{}", *type, direction.value_or("forward")));
    if (!conv_model) return std::nullopt;
    const auto found = conv_model->predict_kernels(*shape, kernel);
    if (!found || !std::isfinite(found->estimate.time_us)) return std::nullopt;
    Prediction prediction;
    set_estimate(prediction, found->estimate);
    prediction.bound = bound_of(found->analytic.bound);
    prediction.model = "conv";
    prediction.parameters = fmt::format("{} {} {}", conv_model->trained_machine(),
                                        conv_model->type(), conv_model->direction());
    return prediction;
  }

  std::optional<Prediction> predict_memory(const read::Op& op, const read::Machine& machine) {
    const auto read_bytes = op.get<std::int64_t>("read_bytes").value_or(0),
               write_bytes = op.get<std::int64_t>("write_bytes").value_or(0);
    if (read_bytes < 0 || write_bytes < 0 || read_bytes + write_bytes == 0) return std::nullopt;
    const auto memory_model = memory_of(machine);
    if (!memory_model) return std::nullopt;
    const auto found = memory_model->predict_kernel(
        static_cast<double>(read_bytes), static_cast<double>(write_bytes), machine.launch_floor_us);
    if (!found || !std::isfinite(found->estimate.time_us)) return std::nullopt;
    Prediction prediction;
    set_estimate(prediction, found->estimate);
    prediction.bound = bound_of(found->analytic.bound);
    prediction.model = "memory";
    prediction.parameters = memory_model->trained_machine();
    return prediction;
  }

  // How often which row is asked for does not stand in an operation: as often as any other.
  static std::optional<Prediction> predict_lookup(const read::Op& op,
                                                  const read::Machine& machine) {
    const auto batch = op.get<std::int64_t>("batch"), rows = op.get<std::int64_t>("rows"),
               bag = op.get<std::int64_t>("bag"), dim = op.get<std::int64_t>("dim");
    const auto tables = op.get<std::int64_t>("tables").value_or(1);
    const auto element_bytes = number_type_bytes(op.get<std::string>("type").value_or("f32"));
    const auto pass = embedding_pass(op.get<std::string>("pass").value_or(""));
    if (!batch || !rows || !bag || !dim || !element_bytes || !pass || !machine.l2_mb ||
        std::min({*batch, *rows, *bag, *dim, tables}) < 1) {
      return std::nullopt;
    }
    EmbeddingShape shape;
    shape.batch = static_cast<double>(*batch);
    shape.tables = static_cast<double>(tables);
    shape.rows = static_cast<double>(*rows);
    shape.bag = static_cast<double>(*bag);
    shape.dim = static_cast<double>(*dim);
    shape.element_bytes = *element_bytes;
    shape.pass = *pass;
    const EmbeddingTime found =
        predict_embedding(shape, IndexDistribution::zipf(shape.rows, 0), machine);
    if (!std::isfinite(found.time_us)) return std::nullopt;
    Prediction prediction;
    prediction.time = microseconds(found.time_us);
    prediction.bound = bound_of(found.bound);
    prediction.model = "embedding";
    prediction.parameters = "every row equally often";
    return prediction;
  }

  std::optional<Prediction> predict_collective(const read::Op& op, const read::Machine& machine) {
    const auto name = op.get<std::string>("op");
    const auto bytes = op.get<std::int64_t>("bytes"), ranks = op.get<std::int64_t>("ranks");
    const auto kind = name ? collective_kind(*name) : std::nullopt;
    if (!kind || !bytes || !ranks || *bytes < 1 || *ranks < 2) return std::nullopt;
    const auto all = collectives_of(machine);
    if (!all) return std::nullopt;
    const std::string type = op.get<std::string>("type").value_or("");
    const auto found =
        all->predict(*kind, type, static_cast<double>(*bytes), static_cast<double>(*ranks));
    if (!found || !std::isfinite(found->estimate.time_us)) return std::nullopt;
    Prediction prediction;
    set_estimate(prediction, found->estimate);
    if (found->is_other_type || found->is_other_rank_count) prediction.is_extrapolated = true;
    prediction.bound = bound_of(found->analytic.bound);
    prediction.model = "collective";
    prediction.parameters = all->trained_machine();
    return prediction;
  }
};

namespace {

// cuDNN runs convolutions of f32 on tensor cores unless it is told not to (cuDNN, "Data Types and
// Enums": CUDNN_DEFAULT_MATH), and no operation says what it was told.  The kernel's name does.
bool is_tf32_convolution(const read::Op& op, std::string_view kernel_name) {
  return op_kind_from_name(op.kind) == OpKind::kConv && !op.find("compute_type") &&
         op.get<std::string>("type") == "f32" && kernel_name.find("tf32") != kernel_name.npos;
}

}  // namespace

Predictor::Predictor(Mode mode) {
  if (mode == Mode::kCalibrated) shipped_ = std::make_unique<Shipped>();
}

Predictor::~Predictor() = default;

Outcome Predictor::predict(const read::Op& op, const read::Machine& machine,
                           const LaunchedKernel& kernel) const {
  if (shipped_) {
    const auto kind = op_kind_from_name(op.kind);
    std::optional<Prediction> improved;
    if (kind == OpKind::kGemm) improved = shipped_->predict_gemm(op, machine, kernel);
    if (kind == OpKind::kConv) improved = shipped_->predict_conv(op, machine, kernel.name);
    if (kind == OpKind::kMemory) improved = shipped_->predict_memory(op, machine);
    if (kind == OpKind::kEmbedding) improved = Shipped::predict_lookup(op, machine);
    if (kind == OpKind::kCollective) improved = shipped_->predict_collective(op, machine);
    if (improved) return {std::move(improved), ""};
  }
  if (!is_tf32_convolution(op, kernel.name)) return predict_roofline(op, machine);
  read::Op on_tensor_cores = op;
  on_tensor_cores.attributes.emplace_back("compute_type", std::string("tf32"));
  return predict_roofline(on_tensor_cores, machine);
}

}  // namespace inline_prof::model
