#include "model/shipped_parameters.hpp"

#include "model/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace inline_prof::model {
namespace {

std::string_view set_name(const ParameterText& text) {
  std::string_view name = text.file_name;
  name.remove_suffix(std::string_view(".json").size());
  return name;
}

bool is_shipped(const std::string& set) {
  return std::ranges::any_of(parameter_texts(),
                             [&](const ParameterText& text) { return set_name(text) == set; });
}

// Empty where the machine lacks a clock or the type's peak.
std::optional<double> flops_per_clock(const read::Machine& machine, const std::string& type) {
  const auto peak = machine.peak_tflops.find(type);
  if (!machine.boost_clock_mhz || peak == machine.peak_tflops.end()) return std::nullopt;
  return peak->second * 1e6 / (static_cast<double>(machine.sm_count) * *machine.boost_clock_mhz);
}

}  // namespace

std::vector<std::string> shipped_sets(std::string_view model, std::string_view machine_id) {
  const std::string start = std::string(model) + "_" + std::string(machine_id);
  std::vector<std::string> sets;
  for (const ParameterText& text : parameter_texts()) {
    const std::string_view name = set_name(text);
    if (!name.starts_with(start)) continue;
    const bool has_whole_id = name.size() == start.size() || name[start.size()] == '_';
    if (machine_id.empty() || has_whole_id) sets.emplace_back(name);
  }
  return sets;
}

std::string shipped_set_for(std::string_view model, const ParameterKey& key,
                            const read::Machine& machine) {
  static const std::vector<read::Machine> known = builtin_machines();
  const auto name_for = [&](const std::string& id) {
    return fmt::format("{}_{}{}{}", model, id, key.key.empty() ? "" : "_", key.key);
  };
  if (is_shipped(name_for(machine.id))) return name_for(machine.id);
  for (const read::Machine& other : known) {
    if (other.sm_count == machine.sm_count && other.peak_tflops == machine.peak_tflops &&
        is_shipped(name_for(other.id))) {
      return name_for(other.id);
    }
  }
  const auto own = flops_per_clock(machine, key.type_of_relatives);
  std::string nearest;
  double least = 0;
  for (const read::Machine& other : known) {
    const auto flops = flops_per_clock(other, key.type_of_relatives);
    if (!own || !flops || !is_shipped(name_for(other.id))) continue;
    const double distance = std::abs(std::log(*flops / *own));
    if (!nearest.empty() && distance >= least) continue;
    nearest = name_for(other.id);
    least = distance;
  }
  return nearest;
}

read::Parameters choose_parameters(const std::filesystem::path& name, std::string_view model) {
  for (const ParameterText& text : parameter_texts()) {
    if (name == set_name(text)) {
      return read::parse_parameters(text.text, std::string(text.file_name), model);
    }
  }
  return read::read_parameters(name, model);
}

}  // namespace inline_prof::model
