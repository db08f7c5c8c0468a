#include "model/published/float8/float8_model.hpp"

#include <fmt/format.h>

namespace inline_prof::model::float8 {

std::string_view word(const Row& row, std::size_t input) {
  return row.has(input) ? std::string_view(row.text(input)) : std::string_view();
}

RowPrediction none(const Refusal& refusal) {
  return RowPrediction::none(refusal.error, refusal.reason);
}

RowPrediction timed(Seconds time, std::string_view bound) {
  RowPrediction prediction;
  prediction.time_us = in_microseconds(time);
  prediction.bound = bound;
  return prediction;
}

std::string text_of(const Refusal& refusal) {
  if (refusal.error.empty()) return refusal.reason;
  return fmt::format("{}: {}", refusal.error, refusal.reason);
}

std::string explain_casts(std::span<const NamedCast> casts, const Gpu& gpu) {
  std::string text;
  for (const NamedCast& cast : casts) {
    for (const CastKernel& kernel : cast.kernels) {
      text += fmt::format("\n  cast of {} = {}", cast.tensor, explain(kernel, gpu));
    }
  }
  return text;
}

const Gpu* Float8Model::look_up(std::string_view name, Precision precision,
                                std::optional<Refusal>& refusal) const {
  const Gpu* gpu = find_gpu(name, constants_);
  if (gpu == nullptr) {
    refusal =
        Refusal{"KeyError", fmt::format("gpu {} is none of {}", name, known_gpus(constants_))};
  } else if (!(gpu->gemm_fraction > 0) || !(gpu->memory_fraction > 0)) {
    refusal = Refusal{"KeyError", fmt::format("{} has no reachable fractions", gpu->name)};
  } else if (!(gpu->peak(precision).value > 0)) {
    refusal = Refusal{"KeyError",
                      fmt::format("{} has no peak for {}", gpu->name, precision_name(precision))};
  }
  return refusal ? nullptr : gpu;
}

ModelEntry float8_entry(std::string_view name, std::string_view summary,
                        std::span<const Column> inputs,
                        std::unique_ptr<Model> (*make)(const ModelOptions&)) {
  return {.name = name,
          .summary = summary,
          .modes = {Mode::kCompat},
          .inputs = inputs,
          .machine = Need::kNone,
          .params = Need::kNone,
          .params_meaning = {},
          .has_constant_sets = true,
          .settings = {},
          .make = make};
}

}  // namespace inline_prof::model::float8
