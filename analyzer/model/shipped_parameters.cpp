#include "model/shipped_parameters.hpp"

#include "model/predictor.hpp"

namespace inline_prof::model {
namespace {

std::string_view set_name(const ParameterText& text) {
  std::string_view name = text.file_name;
  name.remove_suffix(std::string_view(".json").size());
  return name;
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

read::Parameters choose_parameters(const std::filesystem::path& name, std::string_view model) {
  for (const ParameterText& text : parameter_texts()) {
    if (name == set_name(text)) {
      return read::parse_parameters(text.text, std::string(text.file_name), model);
    }
  }
  return read::read_parameters(name, model);
}

}  // namespace inline_prof::model
