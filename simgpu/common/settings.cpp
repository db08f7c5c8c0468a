#include "common/settings.hpp"

#include <charconv>
#include <cmath>
#include <unistd.h>

namespace simgpu {
namespace {

using Text = std::string_view;

struct Variable {
  Text name;
  void (*apply)(Settings&, Text name, Text value);
};

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view allowed) {
  throw SettingsError(std::string(name) + "=" + std::string(value) + ": expected " +
                      std::string(allowed));
}

template <typename Number>
Number number(std::string_view name, std::string_view value, Number low, Number high,
              std::string_view allowed) {
  Number result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || !(result >= low) ||
      !(result <= high)) {
    refuse(name, value, allowed);
  }
  return result;
}

double microseconds(std::string_view name, std::string_view value) {
  return number(name, value, 0.0, 1e6, "microseconds from 0 to 1000000");
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

constexpr std::string_view kFailSyntax = "FUNCTION[:CODE|:hang][:after=N][:count=M],...";

FailRule parse_fail_rule(std::string_view name, std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.front().empty()) refuse(name, text, kFailSyntax);
  FailRule rule{.function = std::string(parts.front()), .code = {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (part.starts_with("after=")) {
      rule.after = number<std::uint64_t>(name, part.substr(6), 0, UINT64_MAX, kFailSyntax);
    } else if (part.starts_with("count=")) {
      rule.count = number<std::uint64_t>(name, part.substr(6), 1, UINT64_MAX, kFailSyntax);
    } else if (part == "hang") {
      rule.hangs = true;
    } else {
      rule.code = number(name, part, 1, 9999, kFailSyntax);
    }
  }
  return rule;
}

// One row per variable, so that "unknown" and the documentation test have one list to ask.
constexpr Variable kVariables[] = {
    {"SIMGPU_MODEL", [](Settings& s, Text, Text v) { s.model_file = v; }},
    {"SIMGPU_DEVICES",
     [](Settings& s, Text n, Text v) { s.device_count = number(n, v, 1, 64, "1 to 64"); }},
    {"SIMGPU_SEED",
     [](Settings& s, Text n, Text v) {
       s.seed = number<std::uint64_t>(n, v, 0, UINT64_MAX, "an integer >= 0");
     }},
    {"SIMGPU_HOST_SPEED",
     [](Settings& s, Text n, Text v) {
       s.host_speed = number(n, v, 0.0, 1e6, "a factor from 0 to 1000000");
     }},
    {"SIMGPU_HOST_CLOCK",
     [](Settings& s, Text n, Text v) {
       if (v != "cost" && v != "real") refuse(n, v, "cost or real");
       s.real_host_clock = v == "real";
     }},
    {"SIMGPU_TRUTH", [](Settings& s, Text, Text v) { s.truth_file = v; }},
    {"SIMGPU_TRUTH_DURATIONS",
     [](Settings& s, Text n, Text v) {
       s.truth_durations = number<std::uint64_t>(n, v, 0, UINT64_MAX, "an integer >= 0");
     }},
    {"SIMGPU_TIMELINE", [](Settings& s, Text, Text v) { s.timeline_file = v; }},
    {"SIMGPU_READINGS", [](Settings& s, Text, Text v) { s.readings_file = v; }},
    {"SIMGPU_LOG", [](Settings& s, Text, Text v) { s.log_file = v; }},
    {"SIMGPU_LAUNCH",
     [](Settings& s, Text n, Text v) {
       if (v != "normal" && v != "null") refuse(n, v, "normal or null");
       s.null_launch = v == "null";
     }},
    {"SIMGPU_LAUNCH_BLOCKING",
     [](Settings& s, Text n, Text v) { s.launch_blocking = number(n, v, 0, 1, "0 or 1") == 1; }},
    {"SIMGPU_KERNEL_HANDLES",
     [](Settings& s, Text n, Text v) {
       if (v != "function" && v != "kernel") refuse(n, v, "function or kernel");
       s.launch_kernel_handles = v == "kernel";
     }},
    {"SIMGPU_HANG_LIMIT_S",
     [](Settings& s, Text n, Text v) {
       s.hang_limit_s = number(n, v, 0.0, 86400.0, "seconds from 0 to 86400");
     }},
    {"SIMGPU_FAIL",
     [](Settings& s, Text n, Text v) {
       for (const auto part : split(v, ',')) {
         s.fail_rules.push_back(parse_fail_rule(n, part));
       }
     }},
    {"SIMGPU_MISSING",
     [](Settings& s, Text n, Text v) {
       for (const auto part : split(v, ',')) {
         if (part.empty()) refuse(n, v, "names of driver functions, separated by commas");
         s.missing.emplace_back(part);
       }
     }},
    {"SIMGPU_PAIR_BIAS_US",
     [](Settings& s, Text n, Text v) { s.pair_bias_us = microseconds(n, v); }},
    {"SIMGPU_PAIR_JITTER_US",
     [](Settings& s, Text n, Text v) { s.pair_jitter_us = microseconds(n, v); }},
    {"SIMGPU_KERNEL_PAIR_BIAS_US",
     [](Settings& s, Text n, Text v) { s.kernel_pair_bias_us = microseconds(n, v); }},
    {"SIMGPU_GRAPH_PAIR_BIAS_US",
     [](Settings& s, Text n, Text v) { s.graph_pair_bias_us = microseconds(n, v); }},
    {"SIMGPU_EVENT_RESOLUTION_US",
     [](Settings& s, Text n, Text v) { s.event_resolution_us = microseconds(n, v); }},
    {"SIMGPU_NOISE",
     [](Settings& s, Text n, Text v) {
       s.noise = number(n, v, 0.0, 1.0, "a relative standard deviation from 0 to 1");
     }},
    {"SIMGPU_QUEUE_DEPTH",
     [](Settings& s, Text n, Text v) {
       s.queue_depth = number(n, v, 1, 1 << 20, "1 to 1048576 launches");
     }},
    {"SIMGPU_DRIVER_VERSION",
     [](Settings& s, Text n, Text v) {
       s.driver_version = number(n, v, 11000, 99990, "1000 * major + 10 * minor, from 11000");
     }},
    {"SIMGPU_RUNTIME_VERSION",
     [](Settings& s, Text n, Text v) {
       s.runtime_version = number(n, v, 11000, 99990, "1000 * major + 10 * minor, from 11000");
     }},
};

ProcessSettings read_environment() {
  std::vector<std::string_view> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  try {
    return {.settings = parse_settings(environment), .error = {}};
  } catch (const SettingsError& error) {
    return {.settings = {}, .error = error.what()};
  }
}

}  // namespace

Settings parse_settings(const std::vector<std::string_view>& environment) {
  Settings settings;
  for (const auto entry : environment) {
    if (entry == "CUDA_LAUNCH_BLOCKING=1") settings.launch_blocking = true;
    if (!entry.starts_with("SIMGPU_")) continue;
    const auto equals = entry.find('=');
    const auto name = entry.substr(0, equals);
    const auto value = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    const Variable* known = nullptr;
    for (const auto& variable : kVariables) {
      if (variable.name == name) known = &variable;
    }
    if (known == nullptr) {
      std::string names;
      for (const auto& variable : kVariables) {
        names += names.empty() ? "" : ", ";
        names += variable.name;
      }
      throw SettingsError(std::string(name) + ": unknown; the simulated GPU knows " + names);
    }
    // An empty value is an unset variable, as in the shell idiom VAR= command.
    if (!value.empty()) known->apply(settings, name, value);
  }
  if (settings.real_host_clock && settings.host_speed == 0) {
    throw SettingsError("SIMGPU_HOST_SPEED=0: expected more than 0 with SIMGPU_HOST_CLOCK=real");
  }
  return settings;
}

const ProcessSettings& process_settings() {
  static const auto* const settings = new ProcessSettings(read_environment());  // outlives exit
  return *settings;
}

std::string_view base_name(std::string_view function) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (function.ends_with(suffix)) function.remove_suffix(suffix.size());
  }
  const auto size = function.size();
  if (size > 3 && function[size - 3] == '_' && function[size - 2] == 'v' &&
      function[size - 1] >= '1' && function[size - 1] <= '9') {
    function.remove_suffix(3);
  }
  return function;
}

}  // namespace simgpu
