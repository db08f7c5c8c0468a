#include "fit/fits.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace inline_prof::fit {

std::span<const FitEntry> all_fits() {
  static const std::vector<FitEntry> entries{
      fc_fit_entry(),   seer_fit_entry(),   conv_fit_entry(),
      gemm_fit_entry(), memory_fit_entry(), collective_fit_entry(),
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
