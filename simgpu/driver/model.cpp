#include "driver/model.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <fnmatch.h>
#include <fstream>
#include <system_error>
#include <utility>

namespace simgpu {
namespace {

using nlohmann::json;

// A JSON object of the file together with its place.  Members are taken by name; what is left over
// at the end is a misspelt key and is refused.
class Section {
 public:
  Section(const json& value, std::string file, std::string place)
      : value_(value), file_(std::move(file)), place_(std::move(place)) {
    if (!value_.is_object()) fail("", "expected an object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    std::string place = place_;
    if (!key.empty()) place += "/" + key;
    throw ModelError(file_ + ": " + (place.empty() ? "/" : place) + ": " + what);
  }

  // Absent members leave `target` as it is.
  void number(const char* key, double& target, double low, double high) {
    const json* member = take(key);
    if (member == nullptr) return;
    if (!member->is_number() || !(member->get<double>() >= low) ||
        !(member->get<double>() <= high)) {
      fail(key, "expected a number from " + text(low) + " to " + text(high) + ", found " +
                    member->dump());
    }
    target = member->get<double>();
  }

  template <typename Integer>
  void integer(const char* key, Integer& target, Integer low, Integer high) {
    const json* member = take(key);
    if (member == nullptr) return;
    if (!member->is_number_unsigned() || member->get<std::uint64_t>() < std::uint64_t(low) ||
        member->get<std::uint64_t>() > std::uint64_t(high)) {
      fail(key, "expected an integer from " + std::to_string(low) + " to " + std::to_string(high) +
                    ", found " + member->dump());
    }
    target = member->get<Integer>();
  }

  void words(const char* key, std::string& target) {
    const json* member = take(key);
    if (member == nullptr) return;
    if (!member->is_string() || member->get<std::string>().empty()) {
      fail(key, "expected a non-empty string, found " + member->dump());
    }
    target = member->get<std::string>();
  }

  [[nodiscard]] const json* take(const char* key) {
    const auto it = value_.find(key);
    taken_.emplace_back(key);
    return it == value_.end() ? nullptr : &*it;
  }

  template <typename Read>
  void section(const char* key, Read&& read) {
    const json* member = take(key);
    if (member == nullptr) return;
    Section inner(*member, file_, place_ + "/" + key);
    read(inner);
    inner.refuse_unknown();
  }

  template <typename Read>
  void list(const char* key, Read&& read) {
    const json* member = take(key);
    if (member == nullptr) return;
    if (!member->is_array()) fail(key, "expected an array");
    for (std::size_t i = 0; i < member->size(); ++i) {
      Section inner((*member)[i], file_, place_ + "/" + key + "/" + std::to_string(i));
      read(inner);
      inner.refuse_unknown();
    }
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : value_.items()) {
      bool known = false;
      std::string names;
      for (const auto& taken : taken_) {
        known = known || taken == key;
        names += (names.empty() ? "" : ", ") + taken;
      }
      if (!known) fail(key, "unknown key, expected one of " + names);
    }
  }

 private:
  static std::string text(double value) { return json(value).dump(); }

  const json& value_;
  std::string file_;
  std::string place_;
  std::vector<std::string> taken_;
};

constexpr double kMaxUs = 1e9;

void read_device(Section& in, DeviceDescription& device) {
  in.words("name", device.name);
  in.integer("sm_count", device.sm_count, 1, 1024);
  in.integer("compute_major", device.compute_major, 5, 99);
  in.integer("compute_minor", device.compute_minor, 0, 9);
  in.integer<std::uint64_t>("memory_bytes", device.memory_bytes, 1, std::uint64_t{1} << 46);
  in.integer<std::uint64_t>("l2_bytes", device.l2_bytes, 1, std::uint64_t{1} << 31);
  in.integer("sm_clock_khz", device.sm_clock_khz, 1, 100000000);
  in.integer("memory_clock_khz", device.memory_clock_khz, 1, 100000000);
  in.integer("memory_bus_bits", device.memory_bus_bits, 1, 65536);
  in.integer("max_threads_per_sm", device.max_threads_per_sm, 32, 8192);
  in.integer("max_blocks_per_sm", device.max_blocks_per_sm, 1, 1024);
  in.integer("registers_per_sm", device.registers_per_sm, 1, 1 << 24);
  in.integer("shared_bytes_per_sm", device.shared_bytes_per_sm, 1, 1 << 24);
  in.integer("shared_bytes_per_block_optin", device.shared_bytes_per_block_optin, 1, 1 << 24);
}

Rule read_rule(Section& in) {
  Rule rule;
  in.words("name", rule.name);
  if (rule.name.empty()) in.fail("name", "missing, expected a glob on the kernel's name");
  if (const json* grid = in.take("grid"); grid != nullptr) {
    bool good = grid->is_array() && grid->size() == 3;
    for (std::size_t i = 0; good && i < 3; ++i) {
      good = (*grid)[i].is_number_unsigned() && (*grid)[i].get<std::uint64_t>() >= 1 &&
             (*grid)[i].get<std::uint64_t>() <= INT32_MAX;
    }
    if (!good) in.fail("grid", "expected three integers >= 1, found " + grid->dump());
    rule.grid = grid->get<std::array<unsigned, 3>>();
  }
  if (int device = -1; in.integer("device", device, 0, 63), device >= 0) rule.device = device;
  in.number("latency_us", rule.latency_us, 0, kMaxUs);
  in.number("duration_us", rule.duration_us, 0, kMaxUs);
  in.number("per_block_us", rule.per_block_us, 0, kMaxUs);
  in.number("tflops", rule.tflops, 0, 1e9);
  in.number("gb_per_s", rule.gb_per_s, 0, 1e9);
  in.number("droop", rule.droop, 1, 1e3);
  in.number("droop_after_us", rule.droop_after_us, 0, kMaxUs);
  if (double noise = -1; in.number("noise", noise, 0, 1), noise >= 0) rule.noise = noise;
  in.integer("registers", rule.registers, 1, 255);
  in.integer("static_shared_bytes", rule.static_shared_bytes, 0, 1 << 20);
  if (rule.latency_us == 0 && rule.duration_us == 0 && rule.per_block_us == 0 && rule.tflops == 0 &&
      rule.gb_per_s == 0) {
    in.fail("",
            "expected at least one of latency_us, duration_us, per_block_us, tflops, gb_per_s "
            "above 0");
  }
  return rule;
}

void read_file(const std::string& file, Model& model) {
  std::ifstream input(file);
  if (!input) throw ModelError(file + ": " + std::generic_category().message(errno));
  json document;
  try {
    document = json::parse(input, nullptr, true, true);
  } catch (const json::parse_error& error) {
    throw ModelError(file + ": byte " + std::to_string(error.byte) + ": not valid JSON");
  }

  Section root(document, file, "");
  root.section("device", [&](Section& in) { read_device(in, model.device); });
  root.integer("driver_version", model.driver_version, 11000, 99990);
  root.section("host_costs_us", [&](Section& in) {
    in.number("launch", model.host.launch_us, 0, kMaxUs);
    in.number("graph_launch", model.host.graph_launch_us, 0, kMaxUs);
    in.number("event_record", model.host.event_record_us, 0, kMaxUs);
    in.number("query", model.host.query_us, 0, kMaxUs);
    in.number("wait", model.host.wait_us, 0, kMaxUs);
    in.number("copy", model.host.copy_us, 0, kMaxUs);
    in.number("allocate", model.host.allocate_us, 0, kMaxUs);
    in.number("other", model.host.other_us, 0, kMaxUs);
  });
  root.section("copies", [&](Section& in) {
    in.number("base_us", model.copies.base_us, 0, kMaxUs);
    in.number("host_gb_per_s", model.copies.host_gb_per_s, 1e-6, 1e9);
    in.number("device_gb_per_s", model.copies.device_gb_per_s, 1e-6, 1e9);
  });
  root.section("events", [&](Section& in) {
    in.number("pair_bias_us", model.events.pair_bias_us, 0, 1e6);
    in.number("pair_jitter_us", model.events.pair_jitter_us, 0, 1e6);
    in.number("kernel_pair_bias_us", model.events.kernel_pair_bias_us, 0, 1e6);
    in.number("graph_pair_bias_us", model.events.graph_pair_bias_us, 0, 1e6);
    in.number("resolution_us", model.events.resolution_us, 0, 1e6);
  });
  root.number("noise", model.noise, 0, 1);
  root.integer("queue_depth", model.queue_depth, 1, 1 << 20);
  root.number("programmatic_overlap_us", model.programmatic_overlap_us, 0, 1e6);
  std::vector<Rule> rules;
  root.list("rules", [&](Section& in) { rules.push_back(read_rule(in)); });
  root.refuse_unknown();
  model.rules.insert(model.rules.begin(), rules.begin(), rules.end());
}

bool glob(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Nanoseconds from_microseconds(double us) {
  return static_cast<Nanoseconds>(std::llround(us * 1e3));
}

bool Rule::matches_name(const std::string& mangled, const std::string& demangled) const {
  return glob(name, mangled) || glob(name, demangled);
}

bool Rule::matches_launch(const LaunchShape& shape) const {
  return (!grid || *grid == shape.grid) && (!device || *device == shape.device);
}

double Rule::nominal_us(const LaunchShape& shape) const {
  double us = duration_us + per_block_us * shape.blocks();
  if (tflops > 0) us = std::max(us, shape.flops / (tflops * 1e6));      // 1e12 flop/s = 1e6 per us
  if (gb_per_s > 0) us = std::max(us, shape.bytes / (gb_per_s * 1e3));  // 1e9 byte/s = 1e3 per us
  return latency_us + us;
}

std::vector<const Rule*> Model::rules_for(const std::string& mangled,
                                          const std::string& demangled) const {
  std::vector<const Rule*> matching;
  for (const auto& rule : rules) {
    if (rule.matches_name(mangled, demangled)) matching.push_back(&rule);
  }
  return matching;
}

Model read_model(const std::string& default_file, const Settings& settings) {
  Model model;
  read_file(default_file, model);
  if (model.rules.empty() || model.rules.back().name != "*" || model.rules.back().grid ||
      model.rules.back().device) {
    throw ModelError(default_file + ": /rules: expected a last rule \"*\" without conditions");
  }
  if (!settings.model_file.empty()) read_file(settings.model_file, model);

  model.events.pair_bias_us = settings.pair_bias_us.value_or(model.events.pair_bias_us);
  model.events.pair_jitter_us = settings.pair_jitter_us.value_or(model.events.pair_jitter_us);
  model.events.kernel_pair_bias_us =
      settings.kernel_pair_bias_us.value_or(model.events.kernel_pair_bias_us);
  model.events.graph_pair_bias_us =
      settings.graph_pair_bias_us.value_or(model.events.graph_pair_bias_us);
  model.events.resolution_us = settings.event_resolution_us.value_or(model.events.resolution_us);
  model.noise = settings.noise.value_or(model.noise);
  model.queue_depth = settings.queue_depth.value_or(model.queue_depth);
  model.driver_version = settings.driver_version.value_or(model.driver_version);
  return model;
}

}  // namespace simgpu
