#include "schedule/schedule_json.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "schedule/error.hpp"
#include "schedule/settings.hpp"

#include <inline_prof/op_kind.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace inline_prof::schedule {
namespace {

using base::described;
using base::JsonError;
using base::JsonMember;
using base::JsonValue;

constexpr base::JsonRules kRules{.max_depth = 32,          // a schedule.json is four deep
                                 .max_values = 1'000'000,  // about 150 MB as a tree
                                 .has_comments = true};

constexpr std::array<std::string_view, 9> kTopKeys{
    "warmup", "repeat", "mode", "policy", "seed", "budget", "target_ci", "layers", "patterns"};
constexpr std::array<std::string_view, 6> kLayerKeys{
    "forward_events",      "backward_events", "forward_occurrence",
    "backward_occurrence", "events",          "enabled"};
constexpr std::array<std::string_view, 2> kEventKeys{"event", "occurrence"};
constexpr std::array<std::string_view, 4> kPatternKeys{"match", "kernel", "op", "enabled"};

// With more warnings than this all have one cause.
constexpr std::size_t kMostWarnings = 10;

// Each is compared with each new event, on a thread of the application's.
constexpr std::size_t kMostPatterns = 1000;

// Returns `line 4, column 12`, both counted from 1, columns in bytes.
std::string json_place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(std::ranges::count(before, '\n') + 1) + ", column " +
         std::to_string(before.size() - line_start + 1);
}

std::string complaint(std::string_view text, const JsonError& error) {
  switch (error.kind) {
    case JsonError::Kind::kSyntax:
      break;
    case JsonError::Kind::kEndsEarly:
      return "the end of the text, expected the rest of a JSON value";
    case JsonError::Kind::kNumber:
      return "a number too large, expected one that fits";
    case JsonError::Kind::kTwice:
      return "the key " + in_quotes(error.key) + " again after " +
             json_place(text, error.first_offset) + ", expected it once";
    case JsonError::Kind::kTooDeep:
      return "values nested more than " + std::to_string(kRules.max_depth) +
             " deep, expected a schedule";
    case JsonError::Kind::kTooMany:
      return "one more value, expected at most " + std::to_string(kRules.max_values) +
             ": larger than any schedule";
  }
  return in_quotes(text.substr(error.begin, error.end - error.begin)) + ", expected valid JSON";
}

JsonValue parsed(std::string_view text, const std::string& file) {
  try {
    return base::parse_json(text, kRules);
  } catch (const JsonError& error) {
    const bool ends = error.kind == JsonError::Kind::kEndsEarly;
    throw ScheduleError(file, json_place(text, ends ? text.size() : error.begin),
                        complaint(text, error));
  }
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Spec read(const JsonValue& root) {
    refuse_prof_json(root);
    Spec spec;
    for (const JsonMember& member : members(root, "the schedule")) {
      read_member(member, spec);
    }
    if (names_layers_ && !asks_for_events(spec)) {
      fail(layers_offset_,
           "\"layers\" names no event, expected at least one, or no \"layers\" at all to measure "
           "everything met");
    }
    warn_of_shared_events(spec);
    if (left_out_ > 0) {
      warnings_.push_back(file_ + ": " + std::to_string(left_out_) +
                          " more such warnings are left out");
    }
    spec.warnings = std::move(warnings_);
    return spec;
  }

 private:
  using Kind = JsonValue::Kind;

  // Refuses a prof.json that was given as a schedule.
  void refuse_prof_json(const JsonValue& root) const {
    const auto is_of_schedule = [](const JsonMember& member) {
      return std::ranges::find(kTopKeys, member.key) != kTopKeys.end();
    };
    if (std::ranges::any_of(root.members, is_of_schedule)) return;
    for (const JsonMember& member : root.members) {
      if (member.key != "events" || member.value.kind != Kind::kArray) continue;
      fail(root.offset,
           "what looks like a prof.json, expected a schedule; prof-schedule --from makes one");
    }
  }

  [[noreturn]] void fail(std::size_t offset, const std::string& what) const {
    throw ScheduleError(file_, json_place(text_, offset), what);
  }
  [[noreturn]] void fail(const JsonValue& value, std::string_view name,
                         const std::string& expected) const {
    fail(value.offset, in_quotes(name) + " is " + described(value) + ", expected " + expected);
  }

  [[nodiscard]] const std::vector<JsonMember>& members(const JsonValue& value,
                                                       const std::string& name) const {
    if (value.kind != Kind::kObject) {
      fail(value.offset, name + " is " + described(value) + ", expected an object");
    }
    return value.members;
  }

  [[nodiscard]] std::uint64_t integer(const JsonMember& member, std::uint64_t lowest,
                                      std::uint64_t highest) const {
    const JsonValue& value = member.value;
    if (value.kind != Kind::kInteger || value.is_negative || value.magnitude < lowest ||
        value.magnitude > highest) {
      fail(value, member.key,
           "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
    }
    return value.magnitude;
  }

  [[nodiscard]] const std::string& string(const JsonMember& member) const {
    if (member.value.kind != Kind::kString) fail(member.value, member.key, "a string");
    return member.value.text;
  }

  [[nodiscard]] bool boolean(const JsonMember& member) const {
    if (member.value.kind != Kind::kBoolean) fail(member.value, member.key, "true or false");
    return member.value.boolean;
  }

  // `what` is only called if there is room: a place is counted from the file's start.
  template <typename What>
  void warn(const What& what) {
    if (warnings_.size() >= kMostWarnings) {
      ++left_out_;
      return;
    }
    warnings_.push_back(file_ + ": " + what());
  }

  void warn_unknown(const JsonMember& member, std::span<const std::string_view> known) {
    warn([&] {
      const std::string_view near = base::near_word(member.key, known);
      return json_place(text_, member.key_offset) + ": the key " + in_quotes(member.key) +
             " is not known and is left out" +
             (near.empty() ? "" : "; did you mean " + in_quotes(near) + "?");
    });
  }

  [[gnu::cold]] void read_member(const JsonMember& member, Spec& spec) {
    if (member.key == "warmup") {
      spec.warmup =
          static_cast<std::int64_t>(integer(member, 0, static_cast<std::uint64_t>(kMaxWarmup)));
    } else if (member.key == "repeat") {
      spec.repeat =
          static_cast<std::int64_t>(integer(member, 1, static_cast<std::uint64_t>(kMaxRepeat)));
    } else if (member.key == "mode") {
      spec.mode = mode_from_name(string(member));
      if (!spec.mode) fail(member.value, member.key, "fine_grained, one_shot, data or unit_test");
    } else if (member.key == "policy") {
      spec.policy = policy_from_name(string(member));
      if (!spec.policy) fail(member.value, member.key, "in_order, interleaved or adaptive");
    } else if (member.key == "seed") {
      spec.seed = integer(member, 0, std::numeric_limits<std::uint64_t>::max());
    } else if (member.key == "budget") {
      spec.budget_percent = percent(member);
    } else if (member.key == "target_ci") {
      spec.target_ci = fraction(member);
    } else if (member.key == "layers") {
      names_layers_ = true;
      layers_offset_ = member.value.offset;
      for (const JsonMember& layer : members(member.value, "\"layers\"")) {
        spec.layers.push_back(read_layer(layer));
      }
    } else if (member.key == "patterns") {
      if (member.value.kind != Kind::kArray) fail(member.value, member.key, "an array");
      if (member.value.members.size() > kMostPatterns) {
        fail(member.value.members[kMostPatterns].value.offset,
             "one more pattern, expected at most " + std::to_string(kMostPatterns));
      }
      for (const JsonMember& pattern : member.value.members) {
        spec.patterns.push_back(read_pattern(pattern.value));
      }
    } else {
      warn_unknown(member, kTopKeys);
    }
  }

  [[nodiscard]] double percent(const JsonMember& member) const {
    const auto value = budget_percent_from(string(member));
    if (!value) {
      fail(member.value, member.key, "a text like \"0.1%\" or \"0.001\", above 0% and up to 100%");
    }
    return *value;
  }

  [[nodiscard]] double fraction(const JsonMember& member) const {
    const JsonValue& value = member.value;
    const bool is_number = value.kind == Kind::kInteger || value.kind == Kind::kReal;
    if (!is_number || !(value.real > 0 && value.real < 1)) {
      fail(value, member.key, "a number between 0 and 1");
    }
    return value.real;
  }

  [[nodiscard]] std::vector<std::string> event_names(const JsonMember& member) const {
    if (member.value.kind != Kind::kArray) {
      fail(member.value, member.key, "an array of event names");
    }
    std::vector<std::string> names;
    for (const JsonMember& element : member.value.members) {
      const JsonValue& name = element.value;
      if (name.kind != Kind::kString || name.text.empty()) {
        fail(name.offset, "an event of " + in_quotes(member.key) + " is " + described(name) +
                              ", expected a name");
      }
      names.push_back(name.text);
    }
    return names;
  }

  [[nodiscard]] int occurrence(const JsonMember& member) const {
    constexpr auto highest = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    return static_cast<int>(integer(member, 0, highest));
  }

  [[nodiscard]] std::vector<EventOccurrence> event_occurrences(const JsonMember& member) {
    if (member.value.kind != Kind::kArray) {
      fail(member.value, member.key, "an array of {\"event\": NAME, \"occurrence\": N}");
    }
    std::vector<EventOccurrence> events;
    for (const JsonMember& element : member.value.members) {
      EventOccurrence event;
      for (const JsonMember& part : members(element.value, "an event of \"events\"")) {
        if (part.key == "event") {
          event.event = string(part);
        } else if (part.key == "occurrence") {
          event.occurrence = occurrence(part);
        } else {
          warn_unknown(part, kEventKeys);
        }
      }
      if (event.event.empty()) {
        fail(element.value.offset, "an event of \"events\" has no name, expected \"event\": NAME");
      }
      events.push_back(std::move(event));
    }
    return events;
  }

  [[nodiscard]] LayerEvents read_layer(const JsonMember& member) {
    LayerEvents layer;
    layer.layer = member.key;
    for (const JsonMember& part : members(member.value, "the layer " + in_quotes(member.key))) {
      if (part.key == "forward_events") {
        layer.forward_events = event_names(part);
      } else if (part.key == "backward_events") {
        layer.backward_events = event_names(part);
      } else if (part.key == "forward_occurrence") {
        layer.forward_occurrence = occurrence(part);
      } else if (part.key == "backward_occurrence") {
        layer.backward_occurrence = occurrence(part);
      } else if (part.key == "events") {
        layer.events = event_occurrences(part);
      } else if (part.key == "enabled") {
        layer.enabled = boolean(part);
      } else {
        warn_unknown(part, kLayerKeys);
      }
    }
    refuse_event_twice(layer, member.value);
    return layer;
  }

  void refuse_event_twice(const LayerEvents& layer, const JsonValue& value) const {
    Spec alone;
    alone.layers = {layer};
    alone.layers.front().enabled = true;
    std::set<EventKey> seen;
    for (const EventKey& key : listed_events(alone)) {
      if (!seen.insert(key).second) fail(value.offset, describe(key) + " again, expected it once");
    }
  }

  [[nodiscard]] Pattern read_pattern(const JsonValue& value) {
    Pattern pattern;
    for (const JsonMember& part : members(value, "a pattern")) {
      if (part.key == "match") {
        pattern.match = glob(part);
      } else if (part.key == "kernel") {
        pattern.kernel = glob(part);
      } else if (part.key == "op") {
        pattern.op = string(part);
        if (!op_kind_from_name(pattern.op)) {
          warn([&] {
            return json_place(text_, part.value.offset) + ": the operation " +
                   in_quotes(pattern.op) + " is not known";
          });
        }
      } else if (part.key == "enabled") {
        pattern.enabled = boolean(part);
      } else {
        warn_unknown(part, kPatternKeys);
      }
    }
    if (pattern.match.empty() && pattern.kernel.empty()) {
      fail(value.offset, "a pattern without \"match\" and \"kernel\", expected at least one");
    }
    return pattern;
  }

  [[nodiscard]] std::string glob(const JsonMember& member) const {
    const std::string& text = string(member);
    if (text.empty()) fail(member.value, member.key, "a glob such as \"*gemm*\"");
    return text;
  }

  // The usual mistake in a long dictionary is an occurrence that was not counted up.
  void warn_of_shared_events(const Spec& spec) {
    std::map<EventKey, std::string> first_layer;
    for (const EventKey& key : listed_events(spec)) {
      const auto first = first_layer.try_emplace({key.event, {}, key.occurrence}, key.layer);
      if (first.second) continue;
      warn([&] {
        return describe(key) + " is also listed in layer " + in_quotes(first.first->second) +
               ": only right where the two run on different streams";
      });
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<std::string> warnings_;
  std::size_t left_out_ = 0;  // warnings
  bool names_layers_ = false;
  std::size_t layers_offset_ = 0;
};

}  // namespace

Spec parse_schedule_json(std::string_view text, const std::string& file) {
  return Reader(text, file).read(parsed(text, file));
}

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
