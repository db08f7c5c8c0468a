#include "model/published/seer/parameter_files.hpp"

#include "read/input_error.hpp"
#include "read/parameters.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

namespace inline_prof::model::seer {
namespace {

using read::InputError;
using read::Table;

// Why the node cannot stand there; empty if it can.  Children stand behind their parent, so that a
// walk from the root ends.
std::string complaint_about(const TreeNode& node, std::size_t index, std::size_t node_count,
                            std::size_t feature_count) {
  if (!std::isfinite(node.value)) return "a value that is no number";
  if (node.feature < 0) return "";
  if (static_cast<std::size_t>(node.feature) >= feature_count) {
    return fmt::format("feature {}, the tree has {}", node.feature, feature_count);
  }
  if (!std::isfinite(node.threshold)) return "a threshold that is no number";
  for (const std::int32_t child : {node.left, node.right}) {
    if (child <= static_cast<std::int32_t>(index) ||
        static_cast<std::size_t>(child) >= node_count) {
      return fmt::format("child {}, expected {} to {}", child, index + 1, node_count - 1);
    }
  }
  return "";
}

std::int32_t index_in(const Table& table, std::size_t row, std::size_t column, double least) {
  const double value = table.number(row, column);
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  if (value < least || value > most || value != std::floor(value)) {
    table.fail(row, column, fmt::format("expected an integer >= {}, found {:g}", least, value));
  }
  return static_cast<std::int32_t>(value);
}

void read_coefficients(const Table& table, Parameters& parameters) {
  const std::size_t model = table.require("model");
  const std::size_t kind = table.require("kind");
  const std::size_t coef = table.require("coef");
  const auto published = table.find("nlinfit");
  const std::size_t value = published ? *published : table.require("value");

  std::map<std::pair<std::string, std::string>, std::set<std::size_t>> seen;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::pair key(table.cell(row, model), table.cell(row, kind));
    const std::size_t count = coefficient_count(key.first, key.second);
    if (count == 0) {
      table.fail(row, fmt::format("SEER has no coefficients {} of {}", key.second, key.first));
    }
    const std::string letter = table.cell(row, coef);
    const std::size_t place =
        letter.size() == 1 ? static_cast<std::size_t>(letter[0] - 'a') : count;
    if (place >= count) {
      table.fail(row, coef,
                 fmt::format("expected a to {}, found \"{}\"", "abcd"[count - 1], letter));
    }
    if (!seen[key].insert(place).second) table.fail(row, coef, "given twice");
    auto& coefficients = parameters.coefficients[key];
    coefficients.resize(count);
    coefficients[place] = table.number(row, value);
  }
  for (const auto& [key, places] : seen) {
    const std::size_t count = coefficient_count(key.first, key.second);
    if (places.size() != count) {
      throw InputError(fmt::format("{}: {} of the {} coefficients {} of {}", table.label(),
                                   places.size(), count, key.second, key.first));
    }
  }
}

void read_trees(const Table& table, Parameters& parameters) {
  const std::size_t name = table.require("tree");
  const std::size_t number = table.require("node");
  const std::size_t feature_name = table.require("feature");
  const std::size_t feature = table.require("feature_index");
  const std::size_t threshold = table.require("threshold");
  const std::size_t left = table.require("left");
  const std::size_t right = table.require("right");
  const std::size_t value = table.require("value");
  const std::size_t rows = table.require("n");

  std::map<std::string, std::vector<std::size_t>, std::less<>> lines;  // of each node
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string tree_name = table.cell(row, name);
    const auto features = tree_features(tree_name);
    if (features.empty()) table.fail(row, name, fmt::format("SEER has no tree {}", tree_name));
    Tree& tree = parameters.trees[tree_name];
    if (static_cast<std::size_t>(index_in(table, row, number, 0)) != tree.nodes.size()) {
      table.fail(row, number, fmt::format("expected {}: nodes in order", tree.nodes.size()));
    }
    TreeNode node;
    node.feature = index_in(table, row, feature, -1);
    node.value = table.number(row, value);
    node.row_count = index_in(table, row, rows, 0);
    if (node.feature >= 0) {
      const auto which = static_cast<std::size_t>(node.feature);
      if (which >= features.size() || features[which] != table.cell(row, feature_name)) {
        table.fail(row, feature_name, fmt::format("is not feature {} of {}", which, tree_name));
      }
      node.threshold = table.number(row, threshold);
      node.left = index_in(table, row, left, 0);
      node.right = index_in(table, row, right, 0);
    }
    tree.nodes.push_back(node);
    lines[tree_name].push_back(row);
  }
  for (const auto& [tree_name, tree] : parameters.trees) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const std::string wrong =
          complaint_about(tree.nodes[i], i, tree.nodes.size(), tree_features(tree_name).size());
      if (!wrong.empty()) table.fail(lines[tree_name][i], wrong);
    }
  }
}

constexpr std::size_t kNumbersPerNode = 6;

Tree tree_from_numbers(const std::vector<double>& numbers, std::string_view name,
                       const std::string& label) {
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("{}: /parameters/{}: {}", label, name, what));
  };
  if (numbers.empty() || numbers.size() % kNumbersPerNode != 0) {
    fail(fmt::format("{} numbers, expected {} a node", numbers.size(), kNumbersPerNode));
  }
  Tree tree;
  const std::size_t count = numbers.size() / kNumbersPerNode;
  for (std::size_t i = 0; i < count; ++i) {
    const double* n = &numbers[i * kNumbersPerNode];
    for (const std::size_t j : {0U, 2U, 3U}) {
      if (n[j] < -1 || n[j] > static_cast<double>(count) + 10 || n[j] != std::floor(n[j])) {
        fail(fmt::format("node {}: number {}: expected an index, found {:g}", i, j + 1, n[j]));
      }
    }
    tree.nodes.push_back({.feature = static_cast<std::int32_t>(n[0]),
                          .threshold = n[1],
                          .left = static_cast<std::int32_t>(n[2]),
                          .right = static_cast<std::int32_t>(n[3]),
                          .value = n[4],
                          .row_count = n[5] >= 0 && n[5] < 1e15 ? std::llround(n[5]) : 0});
    const std::string wrong =
        complaint_about(tree.nodes.back(), i, count, tree_features(name).size());
    if (!wrong.empty()) fail(fmt::format("node {}: {}", i, wrong));
  }
  return tree;
}

Parameters from_parameter_file(const read::Parameters& file) {
  Parameters parameters;
  for (const auto& item : file.parameters.items()) {
    const std::string& name = item.key();
    const std::vector<double> numbers = file.numbers(name);
    if (!tree_features(name).empty()) {
      parameters.trees[name] = tree_from_numbers(numbers, name, file.label);
      continue;
    }
    const std::size_t blank = std::min(name.find(' '), name.size());
    const std::string model = name.substr(0, blank);
    const std::string kind = name.substr(std::min(blank + 1, name.size()));
    const std::size_t count = coefficient_count(model, kind);
    if (count == 0 || count != numbers.size()) {
      throw InputError(
          fmt::format("{}: /parameters/{}: {}", file.label, name,
                      count == 0 ? "SEER has no such coefficients or tree"
                                 : fmt::format("{} numbers, expected {}", numbers.size(), count)));
    }
    parameters.coefficients[{model, kind}] = numbers;
  }
  return parameters;
}

}  // namespace

Parameters read_seer_parameters(const std::filesystem::path& file) {
  if (file.extension() == ".json") return from_parameter_file(read::read_parameters(file, "seer"));
  Parameters parameters;
  read_coefficients(read::read_table(file), parameters);
  std::string name = file.filename().string();
  const std::size_t word = name.rfind("coeffs");
  if (word != std::string::npos) {
    const auto trees = file.parent_path() / name.replace(word, 6, "trees");
    if (std::filesystem::exists(trees)) read_trees(read::read_table(trees), parameters);
  }
  return parameters;
}

std::string seer_parameters_text(const Parameters& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, numbers] : parameters.coefficients) {
    json[fmt::format("{} {}", key.first, key.second)] = numbers;
  }
  for (const auto& [name, tree] : parameters.trees) {
    auto& numbers = json[name] = nlohmann::json::array();
    for (const TreeNode& node : tree.nodes) {
      for (const double number :
           {static_cast<double>(node.feature), node.threshold, static_cast<double>(node.left),
            static_cast<double>(node.right), node.value, static_cast<double>(node.row_count)}) {
        numbers.push_back(number);
      }
    }
  }
  return json.dump();
}

}  // namespace inline_prof::model::seer
