// simdjson first lists the places of all brackets, commas and values of a document, at 4 bytes
// each: more than the text, where the numbers are short.  Nearly all of a large profile is its
// array of events, so that is parsed in windows of whole events, and the document around it, with
// an empty array in its place, as one.  Both together are the document: the windows lie end to end,
// and each is read up to the bracket or comma that ends it.
#include "read/prof_json/prof_stream.hpp"

#include "read/file_text.hpp"
#include "read/json_stream.hpp"
#include "read/root_member.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace inline_prof::read {
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
        document.get_value().get(array) != simdjson::SUCCESS) {
      throw StreamGivesUp{};
    }
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
      document.get_value().get(root) != simdjson::SUCCESS) {
    throw StreamGivesUp{};
  }
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
