#include "model/predictor.hpp"

#include "model/improved/collective.hpp"
#include "model/improved/gemm.hpp"
#include "model/machines.hpp"
#include "model/roofline.hpp"
#include "read/parameters.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
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

// The file of `model` for this machine and key, or for one whose multiprocessors are as many and as
// fast: memory and clock differ, which the transfer's wider interval covers.
const ParameterText* find_parameters(std::string_view model, std::string_view key,
                                     const read::Machine& machine,
                                     std::span<const read::Machine> known) {
  const auto find = [&](std::string_view id) -> const ParameterText* {
    const std::string name = key.empty() ? fmt::format("{}_{}.json", model, id)
                                         : fmt::format("{}_{}_{}.json", model, id, key);
    const auto texts = parameter_texts();
    const auto it = std::find_if(texts.begin(), texts.end(),
                                 [&](const ParameterText& text) { return text.file_name == name; });
    return it == texts.end() ? nullptr : &*it;
  };
  if (const ParameterText* own = find(machine.id)) return own;
  for (const read::Machine& other : known) {
    if (other.sm_count != machine.sm_count || other.peak_tflops != machine.peak_tflops) continue;
    if (const ParameterText* text = find(other.id)) return text;
  }
  return nullptr;
}

// Products of 16-bit types run at the same rate.
std::string_view measured_type(std::string_view type) {
  return type == "f16" ? "bf16" : type;
}

}  // namespace

struct Predictor::Shipped {
  std::vector<read::Machine> known = builtin_machines();
  // By machine and key; empty where there is no file.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CalibratedGemm>> gemm;
  std::map<std::string, std::shared_ptr<const CalibratedCollectives>> collectives;

  std::shared_ptr<const CalibratedGemm> gemm_of(const read::Machine& machine,
                                                const std::string& type) {
    const auto [it, is_new] = gemm.try_emplace({machine.id, type});
    if (!is_new) return it->second;
    const ParameterText* text = find_parameters("gemm", type, machine, known);
    if (text == nullptr || !machine.l2_mb) return nullptr;
    it->second = std::make_shared<const CalibratedGemm>(
        read::parse_parameters(text->text, std::string(text->file_name), "gemm"), machine);
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

  std::optional<Prediction> predict_gemm(const read::Op& op, const read::Machine& machine) {
    const auto m = op.get<std::int64_t>("m"), n = op.get<std::int64_t>("n"),
               k = op.get<std::int64_t>("k");
    const auto type = op.get<std::string>("a_type");
    const auto batch = op.get<std::int64_t>("batch").value_or(1);
    if (!m || !n || !k || !type || *m < 1 || *n < 1 || *k < 1 || batch < 1) return std::nullopt;
    if (op.get<std::string>("b_type").value_or(*type) != *type) return std::nullopt;
    const auto gemm_model = gemm_of(machine, std::string(measured_type(*type)));
    // Parameters that hold the quantise kernels say nothing about the product alone.
    if (!gemm_model || gemm_model->boundary() != kGemmBoundary) return std::nullopt;
    const auto found = gemm_model->predict({static_cast<double>(*m), static_cast<double>(*n),
                                            static_cast<double>(*k), static_cast<double>(batch)});
    if (!std::isfinite(found.estimate.time_us)) return std::nullopt;
    Prediction prediction;
    set_estimate(prediction, found.estimate);
    // Only single products were measured.
    if (batch > 1) prediction.is_extrapolated = true;
    prediction.bound = bound_of(found.analytic.bound);
    prediction.model = "gemm";
    prediction.parameters =
        fmt::format("{} {}", gemm_model->trained_machine(), gemm_model->types().name);
    prediction.odds = [gemm_model, found](Seconds measured) {
      const auto odds = gemm_model->odds(in_microseconds(measured), found);
      return Odds{odds.slower, odds.faster};
    };
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

Predictor::Predictor(Mode mode) {
  if (mode == Mode::kImproved) shipped_ = std::make_unique<Shipped>();
}

Predictor::~Predictor() = default;

Outcome Predictor::predict(const read::Op& op, const read::Machine& machine) const {
  if (shipped_) {
    const auto kind = op_kind_from_name(op.kind);
    std::optional<Prediction> improved;
    if (kind == OpKind::kGemm) improved = shipped_->predict_gemm(op, machine);
    if (kind == OpKind::kCollective) improved = shipped_->predict_collective(op, machine);
    if (improved) return {std::move(improved), ""};
  }
  return predict_roofline(op, machine);
}

}  // namespace inline_prof::model
