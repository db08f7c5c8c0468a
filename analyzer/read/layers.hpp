// Layers files: what the events of a run compute, for events whose `op` the injected library could
// not see.
//
//   { "let":   { "B": 6912 },
//     "rules": [ { "match": "TopMLP.fc5.*.fprop.cublasGemmEx", "layer": "TopMLP.fc5",
//                  "op": { "kind": "gemm", "m": "B", "n": 1024, "k": 1024, "a_type": "f16", ... } }
//                  ] }
#pragma once

#include "read/input_error.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

struct LayerRule {
  std::string match;  // glob: * any text, ? one character
  std::string layer;  // empty: the event keeps the layer it has
  std::optional<Op> op;
};

struct Layers {
  std::string file;
  std::vector<LayerRule> rules;
};

// Throws InputError.
[[nodiscard]] Layers read_layers(std::string_view text, const std::string& label);
[[nodiscard]] Layers read_layers(const std::filesystem::path& file);

// Gives every event the layer of the first rule that fits it, and its op unless the event has one.
// A rule fits if its glob matches LAYER.EVENT, or EVENT if the layer is empty, or that name and
// #OCCURRENCE behind it.
// Returns the indices of the rules that fitted no event, which is how a misspelt rule shows.
std::vector<std::size_t> apply_layers(const Layers& layers, Profile& profile);

}  // namespace inline_prof::read
