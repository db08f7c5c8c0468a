// Every fit that makes parameters of a model, by the model's name.
#pragma once

#include "model/model.hpp"
#include "read/table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {
struct SourceForm;
}

namespace inline_prof::fit {

struct FitRequest {
  std::optional<read::Machine> machine;         // the GPU that the tables were measured on
  std::map<std::string, std::string> settings;  // --set NAME=VALUE: names of FitEntry::settings, or
                                                // values of columns that the tables do not have
  std::string boundary;               // what was timed, e.g. "gemm+quantise"; "" = default
  std::filesystem::path prior;        // parameters to start from; empty: none
  std::optional<std::size_t> points;  // use only so many rows, chosen with the seed
  std::uint64_t seed = 1;
  std::vector<read::Table> tables;
  std::function<void(std::string_view)> say;  // progress, for a person; never empty
};

struct FitResult {
  std::string file_text;  // the parameter file
  std::string summary;    // in-sample and cross-validated errors, for a person; lines
};

struct FitEntry {
  std::string_view model;  // as in model/registry.hpp
  std::vector<model::Setting> settings;
  bool needs_machine = true;
  // Throws read::InputError for tables, std::invalid_argument for what the command line asks.
  std::function<FitResult(const FitRequest& request)> fit = {};
};

// Returns a fit that lies beside its model.  Collectives have two forms: the published curves
// (model/published/collective/collective_fit.hpp) and, where the tables have the columns op,
// num_gpus, bytes and time_us, ours.
[[nodiscard]] FitEntry fc_fit_entry();
[[nodiscard]] FitEntry seer_fit_entry();
[[nodiscard]] FitEntry conv_fit_entry();
[[nodiscard]] FitEntry gemm_fit_entry();
[[nodiscard]] FitEntry memory_fit_entry();
[[nodiscard]] FitEntry collective_fit_entry();
// Fits each group of the rows by itself.
[[nodiscard]] FitResult fit_by_source(const model::SourceForm& form, const FitRequest& request);
[[nodiscard]] std::span<const FitEntry> all_fits();

// Throws std::invalid_argument with the names there are.
[[nodiscard]] const FitEntry& find_fit(std::string_view model);

}  // namespace inline_prof::fit
