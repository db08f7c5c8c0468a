#include "schedule/select.hpp"

#include "base/text.hpp"
#include "schedule/error.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace inline_prof::schedule {
namespace {

using NameAndOccurrence = std::pair<std::string_view, int>;

// Finds the entry of a request that each event belongs to, by the rule in select.hpp.
class Matcher {
 public:
  Matcher(const std::vector<EventKey>& keys, const std::vector<MetEvent>& met)
      : site_of_key_(keys.size()) {
    std::map<NameAndOccurrence, std::vector<std::size_t>> keys_of;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys_of[{keys[i].event, keys[i].occurrence}].push_back(i);
    }
    for (std::size_t i = 0; i < met.size(); ++i) {
      const auto entry = keys_of.find({met[i].event, met[i].occurrence});
      if (entry == keys_of.end()) continue;
      site_of_key_[best_key(entry->second, keys, met[i].layer)].push_back(i);
    }
  }

  // Returns the indices of the events that belong to this key, ascending.
  [[nodiscard]] const std::vector<std::size_t>& members_of(std::size_t key) const {
    return site_of_key_[key];
  }

 private:
  static std::size_t best_key(const std::vector<std::size_t>& candidates,
                              const std::vector<EventKey>& keys, const std::string& layer) {
    const auto with_layer = [&](const std::string& wanted) {
      return std::ranges::find_if(candidates,
                                  [&](std::size_t key) { return keys[key].layer == wanted; });
    };
    if (const auto same = with_layer(layer); same != candidates.end()) return *same;
    if (const auto any = with_layer({}); any != candidates.end()) return *any;
    return candidates.front();
  }

  std::vector<std::vector<std::size_t>> site_of_key_;
};

// Counts each event name in an iteration: a user needs this to see why an occurrence was not found.
class NearMisses {
 public:
  explicit NearMisses(const std::vector<MetEvent>& met) {
    for (const MetEvent& event : met) {
      int& highest = highest_occurrence_[event.event];
      highest = std::max(highest, event.occurrence);
    }
  }

  [[nodiscard]] std::string describe_miss(const EventKey& key) const {
    const auto known = highest_occurrence_.find(key.event);
    if (known == highest_occurrence_.end()) {
      return describe(key) + " (no event of this name was met)";
    }
    return describe(key) + " (met with occurrences up to " + std::to_string(known->second) + ")";
  }

 private:
  std::map<std::string_view, int> highest_occurrence_;
};

void choose(Selection& selection, std::size_t site_index, const std::string& layer) {
  selection.chosen.push_back(site_index);
  selection.layers.push_back(layer);
}

Selection select_everything(const std::vector<MetEvent>& met) {
  Selection selection;
  for (std::size_t i = 0; i < met.size(); ++i) {
    choose(selection, i, met[i].layer);
  }
  return selection;
}

Selection select_names(const EventNames& events, const std::vector<MetEvent>& met) {
  Selection selection;
  const std::unordered_set<std::string_view> wanted(events.names.begin(), events.names.end());
  std::unordered_set<std::string_view> found;
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (!wanted.contains(met[i].event)) continue;
    found.insert(met[i].event);
    choose(selection, i, met[i].layer);
  }
  for (const std::string& name : events.names) {
    if (found.insert(name).second) selection.never_met.push_back(in_quotes(name));
  }
  return selection;
}

Selection select_samples(const SampleList& list, const std::vector<MetEvent>& met) {
  // Distinct keys in order of first appearance, and the one that each sample wants.
  std::vector<EventKey> keys;
  std::vector<std::size_t> key_of_sample;
  std::map<EventKey, std::size_t> index_of;
  key_of_sample.reserve(list.samples.size());
  for (const Sample& sample : list.samples) {
    const auto [entry, is_new] = index_of.try_emplace(sample.key, keys.size());
    if (is_new) keys.push_back(sample.key);
    key_of_sample.push_back(entry->second);
  }

  Selection selection;
  const Matcher matcher(keys, met);
  const NearMisses near_misses(met);
  std::vector<std::optional<std::size_t>> position(keys.size());  // of each key among the chosen
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const std::vector<std::size_t>& candidates = matcher.members_of(key);
    if (candidates.empty()) {
      selection.never_met.push_back(near_misses.describe_miss(keys[key]));
      continue;
    }
    const MetEvent& first = met[candidates.front()];
    if (candidates.size() > 1) {
      selection.warnings.push_back(describe(keys[key]) + " was met in " +
                                   std::to_string(candidates.size()) +
                                   " layers: measuring the one in " + in_quotes(first.layer));
    }
    position[key] = selection.chosen.size();
    choose(selection, candidates.front(), keys[key].layer.empty() ? first.layer : keys[key].layer);
  }
  for (std::size_t i = 0; i < list.samples.size(); ++i) {
    if (const auto event = position[key_of_sample[i]]) {
      selection.turns.push_back({.iteration = list.samples[i].iteration, .event = *event});
    }
  }
  return selection;
}

bool fits(const Pattern& pattern, const MetEvent& event, const std::string& layer) {
  if (!pattern.match.empty() &&
      !base::glob_matches(pattern.match, layer.empty() ? event.event : layer + "." + event.event)) {
    return false;
  }
  return pattern.kernel.empty() || base::glob_matches(pattern.kernel, event.kernel);
}

std::string describe(const Pattern& pattern) {
  std::string text = "the pattern";
  if (!pattern.match.empty()) text += " match " + in_quotes(pattern.match);
  if (!pattern.kernel.empty()) text += " kernel " + in_quotes(pattern.kernel);
  return text;
}

// Returns " (layers are a, b, ...)" for a pattern that fits nothing; empty if no layer is named.
std::string describe_layers(const std::vector<MetEvent>& met) {
  constexpr std::size_t most_names = 8;
  std::vector<std::string_view> layers;
  std::unordered_set<std::string_view> known{{}};
  for (const MetEvent& event : met)
    if (known.insert(event.layer).second) layers.push_back(event.layer);
  if (layers.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(most_names, layers.size()); ++i)
    text.append(i == 0 ? " (layers are " : ", ").append(layers[i]);
  return text + (layers.size() > most_names ? ", ...)" : ")");
}

bool is_switched_off(const Spec& spec, const MetEvent& event, const std::string& layer) {
  return std::ranges::any_of(spec.patterns, [&](const Pattern& pattern) {
    return !pattern.enabled && fits(pattern, event, layer);
  });
}

Selection select_spec(const Spec& spec, const std::vector<MetEvent>& met) {
  Selection asked;  // before patterns switch anything off
  if (!asks_for_events(spec)) asked = select_everything(met);

  std::vector<bool> is_listed(met.size(), false);
  const std::vector<EventKey> keys = listed_events(spec);
  const Matcher matcher(keys, met);
  const NearMisses near_misses(met);
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (matcher.members_of(key).empty()) {
      asked.never_met.push_back(near_misses.describe_miss(keys[key]));
    }
    for (const std::size_t i : matcher.members_of(key)) {
      is_listed[i] = true;
      choose(asked, i, keys[key].layer.empty() ? met[i].layer : keys[key].layer);
    }
  }

  std::vector<bool> has_fitted(spec.patterns.size(), false);
  for (std::size_t i = 0; i < met.size(); ++i) {
    for (std::size_t p = 0; p < spec.patterns.size(); ++p) {
      if (!spec.patterns[p].enabled || !fits(spec.patterns[p], met[i], met[i].layer)) continue;
      has_fitted[p] = true;
      if (!is_listed[i]) choose(asked, i, met[i].layer);
      is_listed[i] = true;
    }
  }
  // A pattern may use the words of "layers", which the program itself does not know.
  for (std::size_t c = 0; c < asked.chosen.size(); ++c) {
    for (std::size_t p = 0; p < spec.patterns.size(); ++p) {
      if (fits(spec.patterns[p], met[asked.chosen[c]], asked.layers[c])) has_fitted[p] = true;
    }
  }
  for (std::size_t p = 0; p < spec.patterns.size(); ++p) {
    if (spec.patterns[p].enabled && !has_fitted[p]) {
      asked.never_met.push_back(describe(spec.patterns[p]) + describe_layers(met));
    }
  }

  Selection selection;
  selection.never_met = std::move(asked.never_met);
  for (std::size_t c = 0; c < asked.chosen.size(); ++c) {
    const std::size_t i = asked.chosen[c];
    if (!is_switched_off(spec, met[i], asked.layers[c])) choose(selection, i, asked.layers[c]);
  }
  return selection;
}

}  // namespace

Selection select(const Request& request, const std::vector<MetEvent>& met) {
  if (const auto* list = std::get_if<SampleList>(&request)) return select_samples(*list, met);
  if (const auto* names = std::get_if<EventNames>(&request)) return select_names(*names, met);
  if (const auto* spec = std::get_if<Spec>(&request)) return select_spec(*spec, met);
  return select_everything(met);
}

Plan make_plan(const Request& request, const Selection& selection, const Settings& settings,
               const std::vector<double>& sizes) {
  if (const auto* list = std::get_if<SampleList>(&request)) {
    return Plan(selection.chosen.size(), list->warmup, selection.turns);
  }
  return Plan(selection.chosen.size(), settings, sizes);
}

SampleList expand(const std::vector<EventKey>& keys, const Settings& settings) {
  if (keys.empty()) {
    throw ScheduleError("no event to measure, expected at least one event in an enabled layer");
  }
  const Plan plan(keys.size(), settings);
  SampleList list{.warmup = settings.warmup};
  list.samples.reserve(static_cast<std::size_t>(plan.sample_count()));
  for (std::int64_t iteration = settings.warmup + 1; iteration <= plan.last_iteration();
       ++iteration) {
    const auto event = plan.event_at(iteration);
    if (event) list.samples.push_back({.iteration = iteration, .key = keys[*event]});
  }
  return list;
}

}  // namespace inline_prof::schedule
