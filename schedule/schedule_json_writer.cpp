#include "schedule/error.hpp"
#include "schedule/schedule_json.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace inline_prof::schedule {
namespace {

using Json = nlohmann::ordered_json;

// Appends a member to `object`. ordered_json itself looks through all keys before it adds one,
// which takes hours for a long list of layers.
void append(Json& object, const std::string& key, Json value) {
  object.get_ref<Json::object_t&>().Container::emplace_back(key, std::move(value));
}

// Returns the name, or throws ScheduleError if it is not UTF-8.
const std::string& writable(const std::string& name) {
  try {
    static_cast<void>(Json(name).dump());
  } catch (const Json::type_error&) {
    throw ScheduleError("the name " + in_quotes(name) +
                        " cannot stand in a schedule.json: it is not UTF-8");
  }
  return name;
}

Json names_json(const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) {
    json.push_back(writable(name));
  }
  return json;
}

Json layer_json(const LayerEvents& layer) {
  Json json = Json::object();
  if (!layer.forward_events.empty()) json["forward_events"] = names_json(layer.forward_events);
  if (!layer.backward_events.empty()) json["backward_events"] = names_json(layer.backward_events);
  if (layer.forward_occurrence != 0) json["forward_occurrence"] = layer.forward_occurrence;
  if (layer.backward_occurrence != 0) json["backward_occurrence"] = layer.backward_occurrence;
  for (const EventOccurrence& event : layer.events) {
    json["events"].push_back(
        Json{{"event", writable(event.event)}, {"occurrence", event.occurrence}});
  }
  if (!layer.enabled) json["enabled"] = false;
  return json;
}

Json pattern_json(const Pattern& pattern) {
  Json json = Json::object();
  if (!pattern.match.empty()) json["match"] = writable(pattern.match);
  if (!pattern.kernel.empty()) json["kernel"] = writable(pattern.kernel);
  if (!pattern.op.empty()) json["op"] = writable(pattern.op);
  if (!pattern.enabled) json["enabled"] = false;
  return json;
}

std::string percent_text(double percent) {
  std::array<char, 512> digits{};  // the smallest double has 324 zeros behind the point
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), percent,
                                 std::chars_format::fixed);
  return std::string(digits.data(), end.ptr) + "%";
}

}  // namespace

std::string write_schedule_json(const Spec& spec) {
  Json json = Json::object();
  if (spec.warmup) json["warmup"] = *spec.warmup;
  if (spec.repeat) json["repeat"] = *spec.repeat;
  if (spec.mode) json["mode"] = std::string(mode_name(*spec.mode));
  if (spec.policy) json["policy"] = std::string(policy_name(*spec.policy));
  if (spec.seed) json["seed"] = *spec.seed;
  if (spec.budget_percent) json["budget"] = percent_text(*spec.budget_percent);
  if (spec.target_ci) json["target_ci"] = *spec.target_ci;
  if (!spec.layers.empty()) {
    Json& layers = json["layers"] = Json::object();
    for (const LayerEvents& layer : spec.layers) {
      append(layers, writable(layer.layer), layer_json(layer));
    }
  }
  if (!spec.patterns.empty()) {
    Json& patterns = json["patterns"] = Json::array();
    for (const Pattern& pattern : spec.patterns) {
      patterns.push_back(pattern_json(pattern));
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace inline_prof::schedule
