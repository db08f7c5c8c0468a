#include "schedule/request.hpp"

#include "schedule/error.hpp"

#include <algorithm>
#include <array>

namespace inline_prof::schedule {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kModeNames{"fine_grained", "one_shot", "data",
                                                     "unit_test"};
constexpr std::array<std::string_view, 3> kPolicyNames{"in_order", "interleaved", "adaptive"};

template <typename Enum, std::size_t Count>
std::optional<Enum> from_name(const std::array<std::string_view, Count>& names,
                              std::string_view name) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view mode_name(Mode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<Mode> mode_from_name(std::string_view name) {
  return from_name<Mode>(kModeNames, name);
}

std::string_view policy_name(Policy policy) {
  return kPolicyNames[static_cast<std::size_t>(policy)];
}

std::optional<Policy> policy_from_name(std::string_view name) {
  return from_name<Policy>(kPolicyNames, name);
}

std::string describe(const EventKey& key) {
  std::string text = in_quotes(key.event) + " occurrence " + std::to_string(key.occurrence);
  if (!key.layer.empty()) text += " in layer " + in_quotes(key.layer);
  return text;
}

std::vector<EventKey> listed_events(const Spec& spec) {
  std::vector<EventKey> keys;
  for (const LayerEvents& layer : spec.layers) {
    if (!layer.enabled) continue;
    for (const std::string& event : layer.forward_events) {
      keys.push_back({event, layer.layer, layer.forward_occurrence});
    }
    for (const std::string& event : layer.backward_events) {
      keys.push_back({event, layer.layer, layer.backward_occurrence});
    }
    for (const EventOccurrence& event : layer.events) {
      keys.push_back({event.event, layer.layer, event.occurrence});
    }
  }
  return keys;
}

bool asks_for_events(const Spec& spec) {
  const auto lists_events = [](const LayerEvents& layer) {
    return layer.enabled &&
           !(layer.forward_events.empty() && layer.backward_events.empty() && layer.events.empty());
  };
  return std::ranges::any_of(spec.layers, lists_events) ||
         std::ranges::any_of(spec.patterns, [](const Pattern& pattern) { return pattern.enabled; });
}

}  // namespace inline_prof::schedule
