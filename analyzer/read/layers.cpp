#include "read/layers.hpp"

#include "base/text.hpp"
#include "read/file_text.hpp"
#include "read/json_tree.hpp"
#include "read/members.hpp"

#include <map>

namespace inline_prof::read {
namespace {

using Variables = std::map<std::string, std::int64_t, std::less<>>;

// A node in which the name of a variable may stand where an integer is expected.
class RuleNode {
 public:
  RuleNode(const TreeNode& node, const Variables& variables)
      : node_(node), variables_(&variables) {}

  [[noreturn]] void fail(std::string_view what) const { node_.fail(what); }
  [[nodiscard]] bool is_boolean() const { return node_.is_boolean(); }
  [[nodiscard]] bool is_text() const { return node_.is_text(); }
  [[nodiscard]] bool is_array() const { return node_.is_array(); }
  [[nodiscard]] bool is_integer() const { return node_.is_integer(); }
  [[nodiscard]] std::int64_t integer() const { return node_.integer(); }
  [[nodiscard]] double number() const { return node_.number(); }
  [[nodiscard]] bool boolean() const { return node_.boolean(); }
  [[nodiscard]] std::string text() const { return node_.text(); }
  [[nodiscard]] std::int64_t count() const {
    if (!node_.is_text()) return node_.count();
    const std::string name = node_.text();
    const auto variable = variables_->find(name);
    if (variable == variables_->end())
      fail(fmt::format("expected an integer >= 0 or a name from \"let\", found \"{}\"", name));
    return variable->second;
  }
  template <typename Visit>
  void each_member(Visit&& visit) const {
    node_.each_member([&](std::string_view key, const TreeNode& value) {
      RuleNode child(value, *variables_);
      visit(key, child);
    });
  }
  template <typename Visit>
  void each_element(Visit&& visit) const {
    node_.each_element([&](const TreeNode& value) {
      RuleNode child(value, *variables_);
      visit(child);
    });
  }

 private:
  TreeNode node_;
  const Variables* variables_;
};

LayerRule read_rule(const TreeNode& node, const Variables& variables) {
  LayerRule rule;
  rule.match = node.member("match").text();
  if (rule.match.empty()) node.member("match").fail("expected a pattern, found \"\"");
  if (node.has("layer")) rule.layer = node.member("layer").text();
  if (node.has("op")) {
    rule.op = read_op(RuleNode(node.member("op"), variables));
    if (!op_kind_from_name(rule.op->kind)) {
      std::vector<std::string_view> known;
      known.reserve(kOpKinds.size());
      for (const OpKindEntry& kind : kOpKinds)
        known.push_back(kind.name);
      node.member("op").member("kind").fail(fmt::format(
          "\"{}\" is no kind of operation; known are {}", rule.op->kind, fmt::join(known, ", ")));
    }
    if (rule.op->source.empty()) rule.op->source = "layers file";
  }
  if (rule.layer.empty() && !rule.op) node.fail("expected \"layer\" or \"op\" beside \"match\"");
  return rule;
}

}  // namespace

Layers read_layers(std::string_view text, const std::string& label) {
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);
  // A misspelt member would silently leave layers without a prediction, so none is skipped here.
  root.each_member([](std::string_view key, const TreeNode& value) {
    if (key != "let" && key != "rules") value.fail("unknown, expected \"let\" or \"rules\"");
  });

  Variables variables;
  if (root.has("let")) {
    root.member("let").each_member([&](std::string_view name, const TreeNode& value) {
      variables.emplace(name, value.count());
    });
  }
  Layers layers;
  layers.file = label;
  root.member("rules").each_element([&](const TreeNode& node) {
    node.each_member([](std::string_view key, const TreeNode& value) {
      if (key != "match" && key != "layer" && key != "op" && key != "comment")
        value.fail("unknown, expected \"match\", \"layer\", \"op\" or \"comment\"");
    });
    layers.rules.push_back(read_rule(node, variables));
  });
  return layers;
}

Layers read_layers(const std::filesystem::path& file) {
  return read_layers(read_text(file), file.string());
}

std::vector<std::size_t> apply_layers(const Layers& layers, Profile& profile) {
  std::vector<bool> fitted(layers.rules.size(), false);
  for (Event& event : profile.events) {
    const std::string name = event.layer.empty() ? event.name : event.layer + "." + event.name;
    const std::string numbered = fmt::format("{}#{}", name, event.occurrence);
    for (std::size_t i = 0; i < layers.rules.size(); ++i) {
      const LayerRule& rule = layers.rules[i];
      if (!base::glob_matches(rule.match, name) && !base::glob_matches(rule.match, numbered))
        continue;
      fitted[i] = true;
      if (!rule.layer.empty()) event.layer = rule.layer;
      if (!event.op) event.op = rule.op;
      break;
    }
  }
  std::vector<std::size_t> unused;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    if (!fitted[i]) unused.push_back(i);
  }
  return unused;
}

}  // namespace inline_prof::read
