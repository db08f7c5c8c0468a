// The events of a trace in Chrome's JSON form, one by one as they are written.  Include this in
// .cpp files only: it brings a JSON library.
#pragma once

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace inline_prof::read::torch_trace {

// The args of an event, which stand in the trace's text as they were written.  Include this in .cpp
// files only: it brings a JSON library.

// Calls visit(key, value) for every member of `text`, a part of the trace's text or empty.  What
// cannot be read as `visit` expects counts as not recorded, and so do the members behind it.
template <typename Visit>
void each_argument(std::string_view text, Visit&& visit) {
  if (text.empty()) return;
  static thread_local simdjson::ondemand::parser parser;
  try {
    // The trace's text goes on behind this part of it.
    simdjson::ondemand::document document = parser.iterate(simdjson::padded_string_view(
        text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING));
    for (auto field : document.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      simdjson::ondemand::value value = field.value();
      visit(key, value);
    }
  } catch (const simdjson::simdjson_error&) {
    return;
  }
}

// Reads numbers, and words that hold one as other writers of the format have them: "1000.5".
template <typename Number>
std::optional<Number> number_in(simdjson::ondemand::value value) {
  simdjson::ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
  if (type == simdjson::ondemand::json_type::number) {
    if constexpr (std::is_same_v<Number, std::int64_t>) {
      std::int64_t whole = 0;
      if (value.get_int64().get(whole) == simdjson::SUCCESS) return whole;
      std::uint64_t large = 0;  // ids are opaque: such a one wraps around
      if (value.get_uint64().get(large) == simdjson::SUCCESS)
        return static_cast<std::int64_t>(large);
    }
    constexpr double largest = 9e18;
    double number = 0;
    if (value.get_double().get(number) != simdjson::SUCCESS || !(std::abs(number) < largest))
      return std::nullopt;
    return static_cast<Number>(number);
  }
  std::string_view word;
  if (type != simdjson::ondemand::json_type::string ||
      value.get_string().get(word) != simdjson::SUCCESS)
    return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// Empty where the value is no text.
inline std::string_view text_of(simdjson::ondemand::value value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

enum class Category : std::uint8_t {
  kOther,
  kOperator,
  kAnnotation,
  kPython,
  kCall,
  kKernel,
  kCopy,
  kFill,
  kFlow
};

// One event; members that do not occur keep their first value.  Texts lie in the trace's own, but
// for `name`, which holds until the next event is read.
struct RawEvent {
  char phase = ' ';
  Category category = Category::kOther;
  std::string_view name;
  std::string_view args;
  std::string_view process;  // as written: 7 or "7"
  std::string_view thread;
  std::optional<double> start_us;
  std::optional<double> duration_us;  // of an event that is a part of the time
  std::optional<std::int64_t> id;
};

// Reads a trace and hands out what is in it.
class EventReader {
 public:
  EventReader() = default;
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;
  virtual ~EventReader() = default;

  // Reads a text that is cut off or damaged up to that place; what is behind it is taken out of
  // `text`, a warning says so, and the result is false.  Throws InputError: the text is no trace.
  // `label` is what messages call the file.
  bool read(std::string& text, const std::string& label, std::vector<std::string>& warnings);

 private:
  virtual void take(const RawEvent& event) = 0;
  // A member beside the events.
  virtual void take_member(std::string_view /*key*/, simdjson::ondemand::value /*value*/) {}

  bool index(std::string& text, simdjson::ondemand::document& document);
  void read_document(simdjson::ondemand::document& document);
  void read_events(simdjson::ondemand::array events);

  simdjson::ondemand::parser parser_;
  simdjson::error_code failure_ = simdjson::SUCCESS;
  const char* event_at_ = nullptr;  // behind the last event that was read whole
  std::size_t count_ = 0;           // of whole events
  std::size_t impossible_ = 0;      // of them, those with times that no clock gives
  bool has_events_ = false;
};

}  // namespace inline_prof::read::torch_trace
