#include "read/prof_json/prof_json.hpp"

#include "read/file_text.hpp"
#include "read/json_stream.hpp"
#include "read/json_tree.hpp"
#include "read/prof_json/prof_members.hpp"
#include "read/text_lines.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace inline_prof::read {
namespace {

// Behind the string that opens at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Returns the place of the first byte from `at` on that is no blank of JSON's.
std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// Returns the place of the value of the first member of the outermost object whose key is one of
// `keys`, npos if there is none.  It looks at brackets and strings only: for text that is not JSON
// it may return anything.
std::size_t find_root_member(std::string_view text, std::initializer_list<std::string_view> keys) {
  int depth = 0;
  std::size_t at = 0;
  while ((at = text.find_first_of("{}[]\"", at)) != std::string_view::npos) {
    if (text[at] != '"') {
      depth += text[at] == '{' || text[at] == '[' ? 1 : -1;
      ++at;
      continue;
    }
    const std::size_t end = end_of_string(text, at);
    if (end == std::string_view::npos) return end;
    const std::string_view key = text.substr(at + 1, end - at - 2);
    if (depth == 1 && std::ranges::find(keys, key) != keys.end()) {
      const std::size_t colon = skip_blanks(text, end);
      if (colon < text.size() && text[colon] == ':') return skip_blanks(text, colon + 1);
    }
    at = end;
  }
  return at;
}

enum class Generation {
  kFirst,          // 2021-02: layer names, occurrence under its first key
  kSecond,         // 2022-07: no layer names
  kSecondOneShot,  // 2021-08: as kSecond, iteration times are those of the events named "iteration"
  kThird,          // "schema": "inline_prof/1"
};

// The original profiler's host may run ahead, which gives offsets of many iterations.
Capabilities capabilities_of(Generation generation) {
  constexpr std::array formats{"prof.json generation 1", "prof.json generation 2",
                               "prof.json generation 2 (one-shot)"};
  Capabilities capabilities;
  capabilities.times_whole_iterations = generation == Generation::kThird;
  if (generation != Generation::kThird)
    capabilities.format = formats.at(static_cast<std::size_t>(generation));
  return capabilities;
}

// The event whose times are the iterations of a one-shot file.
constexpr std::string_view kOneShotIterationEvent = "iteration";

[[noreturn]] void fail_at(const std::string& label, std::string_view place, std::string_view what) {
  throw InputError(fmt::format("{}: {}: {}", label, place, what));
}

void check_schema(const std::string& schema, const std::string& label) {
  const std::string place = fmt::format("/{}", format::kSchema.key);
  const std::string_view family = format::kSchemaFamily;
  const auto version = schema.starts_with(family)
                           ? number_of<int>(std::string_view(schema).substr(family.size()))
                           : std::nullopt;
  if (version == format::kSchemaVersion) return;
  if (version)
    fail_at(label, place,
            fmt::format("this build reads {}, the file is {}{}", format::kSchemaValue, schema,
                        *version > format::kSchemaVersion ? ": take a newer prof-analyze" : ""));
  fail_at(label, place, fmt::format("expected \"{}\", found \"{}\"", format::kSchemaValue, schema));
}

// Longer than any run; times a thousand it is still far from what a double can hold.
constexpr double kLongestMs = 1e12;

// Holds the members of a file against each other and against its generation.
class Checker {
 public:
  Checker(FoundProfile found, const std::string& label)
      : profile_(std::move(found.profile)), facts_(std::move(found.facts)), label_(label) {
    profile_.file = label;
    generation_ = generation_of(found);
    profile_.capabilities = capabilities_of(generation_);
  }

  Profile checked() {
    // An object's members have no order, and the two parsers give them in different ones.
    std::ranges::sort(profile_.libraries);
    std::ranges::sort(profile_.dropped);
    for (std::size_t i = 0; i < profile_.events.size(); ++i)
      check_event(profile_.events[i], i);
    check_iteration_times();
    if (generation_ == Generation::kSecondOneShot) take_one_shot_iterations();
    for (std::size_t i = 0; i < profile_.phases.size(); ++i) {
      for (const double time_ms : profile_.phases[i].iter_time_ms)
        check_time(time_ms,
                   fmt::format("/{}/{}/{}", format::kPhases.key, i, format::kIterTimeMs.key));
    }
    check_changes();
    return std::move(profile_);
  }

 private:
  [[noreturn]] void fail(std::string_view place, std::string_view what) const {
    fail_at(label_, place, what);
  }
  void need(bool is_there, std::string_view place, std::string_view key) const {
    if (!is_there) fail(place, fmt::format("missing \"{}\"", key));
  }

  Generation generation_of(const FoundProfile& found) const {
    if (found.schema) {
      check_schema(*found.schema, label_);
      need(found.has_events, "/", format::kEvents.key);
      need(found.has_iter_time_ms, "/", format::kIterTimeMs.key);
      return Generation::kThird;
    }
    if (!found.has_events)
      fail("/", fmt::format("missing \"{}\" and \"{}\": not a prof.json", format::kSchema.key,
                            format::kEvents.key));
    if (!facts_.empty() && facts_.front().has_first_name && !facts_.front().has_name)
      return Generation::kFirst;
    return found.has_iter_time_ms ? Generation::kSecond : Generation::kSecondOneShot;
  }

  void check_event(Event& event, std::size_t index) {
    const EventFacts& facts = facts_[index];
    const std::string place = fmt::format("/{}/{}", format::kEvents.key, index);
    if (generation_ == Generation::kFirst) {
      need(facts.has_first_name, place, format::generation1::kName.key);
      need(facts.has_first_occurrence, place, format::generation1::kOccurrence.key);
    } else {
      need(facts.has_name, place, format::events::kEventName.key);
      need(facts.has_occurrence, place, format::events::kMetTimesWithinThisStream.key);
    }
    need(facts.missing.empty(), place, facts.missing);
    if (event.end_index < event.start_index)
      fail(place, fmt::format("expected {} >= {}, found {} < {}", format::events::kEndIndex.key,
                              format::events::kStartIndex.key, event.end_index, event.start_index));
    check_lengths(event, place);
    for (std::size_t i = event.measured_ms.size(); i-- > 0;) {
      if (is_plausible(event.measured_ms[i]) ||
          check_time(event.measured_ms[i],
                     fmt::format("{}/{}/{}", place, format::events::kMeasuredTimesMs.key, i)))
        continue;
      of_samples(event, [i](std::string_view, auto& values) {
        if (i < values.size()) values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
      });
      ++profile_.negative_times;
    }
  }

  // Calls `take` with each list that has an entry a sample, and its key.
  template <typename OfEvent, typename Take>
  static void of_samples(OfEvent& event, const Take& take) {
    namespace fields = format::events;
    take(fields::kMeasuredTimesMs.key, event.measured_ms);
    take(fields::kIterStartToEventStartTimesMs.key, event.offsets_ms);
    take(fields::kIterations.key, event.iterations);
    take(fields::kTight.key, event.tight);
    take(fields::kAfterWaitUs.key, event.after_wait_us);
    take(fields::kExtraInfosStart.key, event.extra_infos_start);
    take(fields::kExtraInfosStop.key, event.extra_infos_stop);
  }

  void check_lengths(const Event& event, const std::string& place) const {
    const std::size_t expected = event.measured_ms.size();
    of_samples(event, [&](std::string_view key, const auto& values) {
      const bool is_told =
          key != format::events::kExtraInfosStart.key && key != format::events::kExtraInfosStop.key;
      if (values.empty() || values.size() == expected ||
          (!is_told && generation_ != Generation::kThird))
        return;
      fail(fmt::format("{}/{}", place, key),
           fmt::format("expected {} values, one for each of {}, found {}", expected,
                       format::events::kMeasuredTimesMs.key, values.size()));
    });
  }

  static bool is_plausible(double time_ms) { return time_ms >= 0 && time_ms <= kLongestMs; }

  // No clock runs backwards.  Our own writer never writes a negative time, so the file is damaged;
  // the original profiler did not check, so such a sample is left out and counted.
  // Returns false if `time_ms` is to be left out.
  bool check_time(double time_ms, const std::string& place) const {
    if (time_ms > kLongestMs || (time_ms < 0 && generation_ == Generation::kThird))
      fail(place,
           fmt::format("expected a time from 0 to {:g} ms, found {:g}", kLongestMs, time_ms));
    return time_ms >= 0;
  }

  void check_iteration_times() {
    auto& times = profile_.iter_time_ms;
    for (std::size_t i = times.size(); i-- > 0;) {
      if (is_plausible(times[i]) ||
          check_time(times[i], fmt::format("/{}/{}", format::kIterTimeMs.key, i)))
        continue;
      times.erase(times.begin() + static_cast<std::ptrdiff_t>(i));
      ++profile_.negative_times;
    }
  }

  // A one-shot file has no iteration times of its own: those of its event "iteration" are taken,
  // one series a device, and the event is no work of its own.
  void take_one_shot_iterations() {
    const auto erased = std::erase_if(profile_.events, [&](const Event& event) {
      if (event.name != kOneShotIterationEvent) return false;
      profile_.iter_time_ms.insert(profile_.iter_time_ms.end(), event.measured_ms.begin(),
                                   event.measured_ms.end());
      return true;
    });
    if (erased == 0)
      fail("/", fmt::format("missing \"{}\", and no event \"{}\" stands in for it",
                            format::kIterTimeMs.key, kOneShotIterationEvent));
  }

  void check_changes() const {
    if (!profile_.watched) return;
    const auto& changes = profile_.watched->changes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!changes[i].event || *changes[i].event < profile_.events.size()) continue;
      fail(fmt::format("/{}/{}/{}/{}", format::kHistory.key, format::history::kChanges.key, i,
                       format::changes::kEvent.key),
           fmt::format("expected one of {} events, found {}", profile_.events.size(),
                       *changes[i].event));
    }
  }

  Profile profile_;
  std::vector<EventFacts> facts_;
  const std::string& label_;
  Generation generation_ = Generation::kThird;
};

FoundProfile read_tree(const std::string& text, const std::string& label) {
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);
  // The schema first: a newer file may differ in anything else.
  if (root.has(format::kSchema.key)) check_schema(root.member(format::kSchema.key).text(), label);
  return read_document(root);
}

}  // namespace

bool is_prof_json(std::string_view beginning) {
  return find_root_member(beginning, {format::kSchema.key, format::kEvents.key}) !=
         std::string_view::npos;
}

Profile read_prof_json(std::string text, const std::string& label, Wanted wanted) {
  text.reserve(text.size() + kPaddingBytes);  // no copy if read_text made it
  std::optional<FoundProfile> found = read_stream(text, kWindowBytes, wanted);
  if (!found) found = read_tree(text, label);
  std::string().swap(text);  // a large file need not stand in memory twice
  return Checker(std::move(*found), label).checked();
}

Profile read_prof_json_from_tree(const std::string& text, const std::string& label) {
  return Checker(read_tree(text, label), label).checked();
}

// simdjson first lists the places of all brackets, commas and values of a document, at 4 bytes
// each: more than the text, where the numbers are short.  Nearly all of a large profile is its
// array of events, so that is parsed in windows of whole events, and the document around it, with
// an empty array in its place, as one.  Both together are the document: the windows lie end to end,
// and each is read up to the bracket or comma that ends it.

namespace {

static_assert(kPaddingBytes >= simdjson::SIMDJSON_PADDING);

constexpr std::size_t kNowhere = std::string_view::npos;

bool has_at(std::string_view text, std::size_t at, char c) {
  return at < text.size() && text[at] == c;
}

// Returns the place behind the bracket that opens the array of events.
std::size_t find_events(std::string_view text) {
  const std::size_t value = find_root_member(text, {format::kEvents.key});
  return value != kNowhere && has_at(text, value, '[') ? value + 1 : kNowhere;
}

// The last place before `limit` that looks like the comma between two events: `},{"`.  A guess: a
// list of objects inside an event looks the same, and so may a label; the parser tells.
std::size_t guess_cut(std::string_view rest, std::size_t limit) {
  for (std::size_t at = rest.rfind('}', limit); at != kNowhere && at > 0;
       at = rest.rfind('}', at - 1)) {
    const std::size_t comma = skip_blanks(rest, at + 1);
    if (!has_at(rest, comma, ',')) continue;
    const std::size_t brace = skip_blanks(rest, comma + 1);
    if (has_at(rest, brace, '{') && has_at(rest, skip_blanks(rest, brace + 1), '"')) return comma;
  }
  return kNowhere;
}

// At least one event, and about `wanted` bytes, if an end of an event is found there.
std::size_t window_length(std::string_view rest, std::size_t wanted) {
  for (; wanted < rest.size(); wanted *= 2) {
    const std::size_t length = guess_cut(rest, wanted);
    if (length != kNowhere) return length;
  }
  return rest.size();
}

class EventsReader {
 public:
  EventsReader(std::string_view text, std::size_t window_bytes, Wanted wanted, FoundProfile& found)
      : text_(text), window_bytes_(window_bytes), wanted_(wanted), found_(found) {}

  // Reads the events from `begin` on, which is behind their opening bracket.  Returns the place of
  // the first token behind the closing one.
  std::size_t read(std::size_t begin) {
    std::size_t at = begin;
    std::size_t window_bytes = window_bytes_;
    while (true) {
      const std::string_view rest = text_.substr(at);
      const std::size_t length = window_length(rest, window_bytes);
      const std::size_t events_before = found_.facts.size();
      try {
        const std::size_t behind = read_window(rest.substr(0, length));
        if (behind != kNowhere) return at + behind;
        if (length == rest.size()) throw StreamGivesUp{};  // the text ends inside its events
        at += length + 1;
        window_bytes = window_bytes_;
        if (events_before == 0) expect_events(at - begin);
      } catch (const StreamGivesUp&) {
        if (length == rest.size()) throw;
        // An event longer than a window, or a wrong guess: the next one lies elsewhere.
        found_.profile.events.resize(events_before);
        found_.facts.resize(events_before);
        window_bytes = 2 * std::max(window_bytes, length);
      }
    }
  }

 private:
  // Reads `window`, which begins at an event, and gives the place in it of the first token behind
  // the array, or kNowhere if the array goes on behind the window.
  std::size_t read_window(std::string_view window) {
    buffer_.reserve(window.size() + 2 + kPaddingBytes);
    buffer_ = '[';
    buffer_ += window;
    buffer_ += ']';
    simdjson::ondemand::document document;
    simdjson::ondemand::value array;
    const simdjson::padded_string_view padded(buffer_.data(), buffer_.size(), buffer_.capacity());
    if (parser_.iterate(padded).get(document) != simdjson::SUCCESS ||
        document.get_value().get(array) != simdjson::SUCCESS)
      throw StreamGivesUp{};
    StreamNode(array).each_element([&](const StreamNode& event) {
      found_.facts.push_back(read_event(event, found_.profile.events.emplace_back(), wanted_));
    });
    const char* behind = nullptr;
    if (document.current_location().get(behind) != simdjson::SUCCESS) return kNowhere;
    return static_cast<std::size_t>(behind - buffer_.data()) - 1;
  }

  // A vector that grows holds its events twice for a moment.  Memory that no event comes to stand
  // in is never touched.
  void expect_events(std::size_t bytes_read) {
    const double windows = static_cast<double>(text_.size()) / static_cast<double>(bytes_read);
    const auto events =
        static_cast<std::size_t>(1.1 * windows * static_cast<double>(found_.profile.events.size()));
    found_.profile.events.reserve(events);
    found_.facts.reserve(events);
  }

  std::string_view text_;
  std::size_t window_bytes_;
  Wanted wanted_;
  FoundProfile& found_;
  simdjson::ondemand::parser parser_;
  std::string buffer_;  // a window between its brackets
};

// `capacity` bytes can be read from the text's begin on.
FoundProfile read_whole(std::string_view text, std::size_t capacity) {
  // An object ends in '}'.  simdjson checks that only for documents that it is asked for as
  // objects.
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == kNowhere || text[last] != '}') throw StreamGivesUp{};
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::value root;
  const simdjson::padded_string_view padded(text.data(), text.size(), capacity);
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_value().get(root) != simdjson::SUCCESS)
    throw StreamGivesUp{};
  FoundProfile found = read_document(StreamNode(root));
  const char* behind = nullptr;
  if (document.current_location().get(behind) == simdjson::SUCCESS) throw StreamGivesUp{};
  return found;
}

FoundProfile read_in_parts(const std::string& text, std::size_t events_begin,
                           std::size_t window_bytes, Wanted wanted) {
  FoundProfile of_events;
  const std::size_t behind = EventsReader(text, window_bytes, wanted, of_events).read(events_begin);
  std::string around;
  around.reserve(events_begin + 1 + (text.size() - behind) + kPaddingBytes);
  around.append(text, 0, events_begin).append("]").append(text, behind);
  FoundProfile found = read_whole(around, around.capacity());
  found.profile.events = std::move(of_events.profile.events);
  found.facts = std::move(of_events.facts);
  return found;
}

}  // namespace

std::optional<FoundProfile> read_stream(const std::string& text, std::size_t window_bytes,
                                        Wanted wanted) {
  try {
    const std::size_t events_begin = find_events(text);
    if (events_begin == kNowhere) return read_whole(text, text.capacity());
    return read_in_parts(text, events_begin, window_bytes, wanted);
  } catch (const StreamGivesUp&) {
    return std::nullopt;
  }
}

}  // namespace inline_prof::read
