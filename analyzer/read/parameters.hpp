// Parameters of a model, fitted on some GPU: "inline_prof_params/1" (docs/models/tables.md).
// Include this in .cpp files only: it brings a JSON library.
#pragma once

#include "read/json_tree.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

struct Parameters {
  std::string label;                       // the file, for complaints; not written
  std::string model;                       // "gemm"
  std::string machine;                     // an id, "h200-sxm-141gb"
  std::map<std::string, std::string> key;  // for what they hold: {"a_type": "bf16"}
  // The model's own: numbers, or lists of numbers.
  nlohmann::json parameters = nlohmann::json::object();
  nlohmann::json covariance = nlohmann::json::array();
  nlohmann::json residual = nlohmann::json::object();
  nlohmann::json conformal = nlohmann::json::object();
  std::int64_t trained_rows = 0;
  std::int64_t version = 1;  // of the model's meaning of all this

  // Each throws InputError "FILE: /parameters/t0_us: ..." where it is missing or something else.
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
};

// Throws InputError; also where `text` holds parameters of another model than `model` ("" = any).
[[nodiscard]] Parameters parse_parameters(std::string_view text, const std::string& label,
                                          std::string_view model);
[[nodiscard]] Parameters read_parameters(const std::filesystem::path& file, std::string_view model);

// Returns {"NAME": value} as a tree, whose complaints name the place in a file of parameters.
[[nodiscard]] base::JsonValue tree_of(const char* name, const nlohmann::json& value);

// The same parameters always give the same bytes.
[[nodiscard]] std::string parameters_text(const Parameters& parameters);

}  // namespace inline_prof::read
