#include "read/machine.hpp"

#include "read/json_tree.hpp"

#include <cctype>

namespace inline_prof::read {
namespace {

double positive(const TreeNode& node) {
  const double value = node.number();
  if (!(value > 0)) node.fail_expected("a number > 0");
  return value;
}

double fraction(const TreeNode& node) {
  const double value = node.number();
  if (!(value > 0) || value > 1) node.fail_expected("a number above 0 and at most 1");
  return value;
}

std::string read_id(const TreeNode& node) {
  std::string id = node.text();
  for (const char c : id) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 || c == ' ')
      node.fail("expected an id in lower case without blanks");
  }
  if (id.empty()) node.fail("expected an id, found \"\"");
  return id;
}

// Reads a member that may be missing or null.
template <typename Read>
std::optional<double> optional(const TreeNode& object, std::string_view key, const Read& read) {
  if (!object.has(key) || object.member(key).is_null()) return std::nullopt;
  return read(object.member(key));
}

// A number that was measured on a GPU of this kind takes the place of the data sheet's.
double read_bandwidth(const TreeNode& node) {
  const double datasheet = positive(node.member("datasheet"));
  return optional(node, "measured", positive).value_or(datasheet);
}

}  // namespace

Machine read_machine(std::string_view text, const std::string& label) {
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);

  Machine machine;
  machine.id = read_id(root.member("id"));
  if (root.has("names")) {
    root.member("names").each_element(
        [&](const TreeNode& name) { machine.names.push_back(name.text()); });
  }
  if (root.has("compute_capability"))
    machine.compute_capability = root.member("compute_capability").text();
  machine.sm_count = root.member("sm_count").count();
  if (machine.sm_count == 0) root.member("sm_count").fail_expected("an integer > 0");
  machine.memory_gib = optional(root, "memory_gib", positive);
  machine.memory_gb_per_s = read_bandwidth(root.member("memory_gb_per_s"));
  machine.host_link_gb_per_s = optional(root, "host_link_gb_per_s", read_bandwidth);
  machine.peer_link_gb_per_s = optional(root, "peer_link_gb_per_s", read_bandwidth);
  machine.l2_mb = optional(root, "l2_mb", positive);
  machine.l2_gb_per_s = optional(root, "l2_gb_per_s", positive);
  machine.boost_clock_mhz = optional(root, "boost_clock_mhz", positive);
  root.member("peak_tflops").each_member([&](std::string_view type, const TreeNode& peak) {
    machine.peak_tflops.emplace(type, positive(peak));
  });
  const TreeNode achievable = root.member("achievable_fraction");
  machine.gemm_fraction = fraction(achievable.member("gemm"));
  machine.memory_fraction = fraction(achievable.member("memory"));
  machine.launch_floor_us = root.member("launch_floor_us").number();
  if (machine.launch_floor_us < 0) root.member("launch_floor_us").fail_expected("a number >= 0");
  if (root.has("sources")) {
    root.member("sources").each_member([&](std::string_view number, const TreeNode& source) {
      machine.sources.emplace(number, source.text());
    });
  }
  return machine;
}

}  // namespace inline_prof::read
