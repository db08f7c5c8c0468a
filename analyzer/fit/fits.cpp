#include "fit/fits.hpp"

#include "model/calibrated/by_source/by_source.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace inline_prof::fit {

namespace {

FitEntry source_fit_entry(const model::SourceForm& form) {
  return {.model = form.model,
          .settings = {},
          .needs_machine = true,
          .fit = [&form](const FitRequest& request) { return fit_by_source(form, request); }};
}

}  // namespace

std::span<const FitEntry> all_fits() {
  static const std::vector<FitEntry> entries{
      fc_fit_entry(),
      seer_fit_entry(),
      conv_fit_entry(),
      gemm_fit_entry(),
      memory_fit_entry(),
      collective_fit_entry(),
      source_fit_entry(model::attention_prompts_form()),
      source_fit_entry(model::attention_encoders_form()),
      source_fit_entry(model::attention_decoding_form()),
      source_fit_entry(model::experts_form()),
      source_fit_entry(model::quantise_form()),
  };
  return entries;
}

const FitEntry& find_fit(std::string_view model) {
  std::string names;
  for (const FitEntry& entry : all_fits()) {
    if (entry.model == model) return entry;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.model);
  }
  throw std::invalid_argument(
      fmt::format("model {} has no fit: choose from {}", model, names.empty() ? "none" : names));
}

}  // namespace inline_prof::fit
