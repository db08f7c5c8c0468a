#include "read/parameters.hpp"

#include "read/file_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace inline_prof::read {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "inline_prof_params/1";

// An optional member that has to be an object.
void set_object(json& member, const json& document, const TreeNode& root, const char* name) {
  if (!root.has(name)) return;
  if (!root.member(name).is_object()) root.member(name).fail("expected an object");
  member = document[name];
}

// A list of numbers takes one line, not one for each number: a third of the bytes.
std::string with_lists_on_a_line(const std::string& written) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t open = written.find('['); open != written.npos;
       open = written.find('[', open + 1)) {
    const std::size_t end = written.find_first_of("[]{\"", open + 1);
    if (end == written.npos || written[end] != ']' || written[open + 1] != '\n') continue;
    text.append(written, done, open - done);
    std::copy_if(written.begin() + static_cast<std::ptrdiff_t>(open),
                 written.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(text),
                 [](char each) { return each != ' ' && each != '\n'; });
    done = end;
  }
  return text.append(written, done);
}

}  // namespace

base::JsonValue tree_of(const char* name, const json& value) {
  return base::parse_json(json{{name, value}}.dump());
}

double Parameters::number(std::string_view name) const {
  const base::JsonValue root = tree_of("parameters", parameters);
  return TreeNode(root, label).member("parameters").member(name).number();
}

std::vector<double> Parameters::numbers(std::string_view name) const {
  const base::JsonValue root = tree_of("parameters", parameters);
  std::vector<double> values;
  TreeNode(root, label).member("parameters").member(name).each_element([&](const TreeNode& value) {
    values.push_back(value.number());
  });
  return values;
}

Parameters parse_parameters(std::string_view text, const std::string& label,
                            std::string_view model) {
  const base::JsonValue tree = parse_json(text, label);
  const TreeNode root(tree, label);
  const json document = json::parse(text);  // the models take values of this library
  const std::string schema = root.member("schema").text();
  if (schema != kSchema)
    root.member("schema").fail(fmt::format("this build reads {}, found {}", kSchema, schema));
  Parameters parameters;
  parameters.label = label;
  parameters.model = root.member("model").text();
  if (!model.empty() && parameters.model != model)
    root.member("model").fail(
        fmt::format("parameters of model {}, expected of {}", parameters.model, model));
  parameters.machine = root.member("machine").text();
  if (root.has("key")) {
    root.member("key").each_member([&](std::string_view name, const TreeNode& value) {
      parameters.key.emplace(name, value.text());
    });
  }
  static_cast<void>(root.member("parameters"));
  set_object(parameters.parameters, document, root, "parameters");
  if (root.has("covariance")) {
    if (!root.member("covariance").is_array()) root.member("covariance").fail("expected an array");
    parameters.covariance = document["covariance"];
  }
  set_object(parameters.residual, document, root, "residual");
  set_object(parameters.conformal, document, root, "conformal");
  if (root.has("trained_on"))
    parameters.trained_rows = root.member("trained_on").member("rows").count();
  parameters.version = root.member("version").count();
  return parameters;
}

Parameters read_parameters(const std::filesystem::path& file, std::string_view model) {
  return parse_parameters(read_text(file), file.string(), model);
}

std::string parameters_text(const Parameters& parameters) {
  nlohmann::ordered_json document;
  document["schema"] = kSchema;
  document["model"] = parameters.model;
  document["machine"] = parameters.machine;
  document["key"] = parameters.key;
  document["parameters"] = parameters.parameters;
  document["covariance"] = parameters.covariance;
  document["residual"] = parameters.residual;
  document["conformal"] = parameters.conformal;
  document["trained_on"] = {{"rows", parameters.trained_rows}};
  document["version"] = parameters.version;
  return with_lists_on_a_line(document.dump(1)) + "\n";
}

}  // namespace inline_prof::read
