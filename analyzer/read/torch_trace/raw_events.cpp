#include "read/torch_trace/raw_events.hpp"

#include "read/file_text.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace inline_prof::read::torch_trace {
namespace {

using simdjson::ondemand::json_type;

static_assert(kPaddingBytes >= simdjson::SIMDJSON_PADDING);

Category category_of(std::string_view word) {
  // Kineto's words, then those of writers before it.
  static constexpr std::array<std::pair<std::string_view, Category>, 17> words{{
      {"cpu_op", Category::kOperator},
      {"cuda_runtime", Category::kCall},
      {"kernel", Category::kKernel},
      {"python_function", Category::kPython},
      {"user_annotation", Category::kAnnotation},
      {"cuda_driver", Category::kCall},
      {"hip_runtime", Category::kCall},
      {"gpu_memcpy", Category::kCopy},
      {"gpu_memset", Category::kFill},
      {"fwdbwd", Category::kFlow},
      {"Operator", Category::kOperator},
      {"Runtime", Category::kCall},
      {"Kernel", Category::kKernel},
      {"Memcpy", Category::kCopy},
      {"Memset", Category::kFill},
      {"fwd_bwd", Category::kFlow},
      {"forward_backward", Category::kFlow},
  }};
  for (const auto& [name, category] : words) {
    if (word == name) return category;
  }
  return Category::kOther;
}

std::string_view token(simdjson::ondemand::value value) {
  std::string_view text = value.raw_json_token();
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

bool is_list(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  return from != std::string_view::npos && text[from] == '[';
}

// Within three hundred years of 1970 and no longer than a day: sums of such times are still exact.
bool is_possible(const RawEvent& event) {
  constexpr double latest_us = 1e16, longest_us = 1e11;
  return event.start_us && std::abs(*event.start_us) < latest_us && *event.duration_us >= 0 &&
         *event.duration_us < longest_us;
}

// Ends the text behind its last brace before `end`, as a trace ends.  False if there is none.
bool close_before(std::string& text, std::size_t end) {
  const std::size_t brace = end == 0 ? std::string::npos : text.rfind('}', end - 1);
  if (brace == std::string::npos) return false;
  const bool was_list = is_list(text);
  text.resize(brace + 1);
  text += was_list ? "]" : "]}";
  return true;
}

}  // namespace

// A text that ends inside a word, or inside its outermost brackets, cannot be indexed: it is cut
// behind one of its last braces.
bool EventReader::index(std::string& text, simdjson::ondemand::document& document) {
  constexpr int most_tries = 64;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  bool is_whole = last != std::string::npos && text[last] == (is_list(text) ? ']' : '}');
  for (int tries = 0; tries < most_tries; ++tries) {
    if (is_whole) {
      const simdjson::padded_string_view padded(text.data(), text.size(), text.capacity());
      failure_ = parser_.iterate(padded).get(document);
      if (failure_ != simdjson::UNCLOSED_STRING) return failure_ == simdjson::SUCCESS;
    }
    // From the second time on without the brace that was written here.
    const std::size_t end = tries == 0 ? text.size() : text.rfind('}', text.size() - 3);
    if (end == std::string::npos || !close_before(text, end)) return false;
    is_whole = true;
  }
  return false;
}

bool EventReader::read(std::string& text, const std::string& label,
                       std::vector<std::string>& warnings) {
  const std::size_t bytes = text.size();
  constexpr std::size_t closing_bytes = 2;  // that close_before() may add
  text.reserve(bytes + closing_bytes + kPaddingBytes);
  simdjson::ondemand::document document;
  std::size_t damaged_at = bytes;
  const bool is_indexed = index(text, document);
  if (is_indexed) {
    try {
      if (text.size() < bytes) damaged_at = text.size() - (is_list(text) ? 1 : 2);
      read_document(document);
    } catch (const simdjson::simdjson_error& error) {
      failure_ = error.error();
      const char* at = nullptr;
      if (document.current_location().get(at) == simdjson::SUCCESS)
        damaged_at = std::min(damaged_at, static_cast<std::size_t>(at - text.data()));
    }
  }
  if (count_ == 0 && (!is_indexed || failure_ != simdjson::SUCCESS || text.size() < bytes)) {
    std::string_view what =
        failure_ == simdjson::SUCCESS ? "cut off" : simdjson::error_message(failure_);
    if (what.ends_with('.')) what.remove_suffix(1);
    throw InputError(
        fmt::format("{}: byte {}: {}, expected the JSON of a trace", label, damaged_at, what));
  }
  if (!has_events_) {
    throw InputError(
        fmt::format("{}: no \"traceEvents\": expected a trace of torch.profiler", label));
  }
  if (impossible_ > 0) {
    warnings.push_back(fmt::format(
        "{} events are left out: their start or duration is none that a clock gives", impossible_));
  }
  if (failure_ == simdjson::SUCCESS && damaged_at == bytes) return true;
  warnings.push_back(
      fmt::format("the trace is cut off or damaged at byte {} of {}: the {} events before are read",
                  damaged_at, bytes, count_));
  if (event_at_ != nullptr) close_before(text, static_cast<std::size_t>(event_at_ - text.data()));
  return false;
}

void EventReader::read_document(simdjson::ondemand::document& document) {
  if (document.type() == json_type::array) return read_events(document.get_array());
  for (auto field : document.get_object()) {
    const std::string_view key = field.unescaped_key();
    if (key == "traceEvents") {
      read_events(field.value().get_array());
    } else {
      take_member(key, field.value());
    }
  }
}

void EventReader::read_events(simdjson::ondemand::array events) {
  has_events_ = true;
  for (auto element : events) {
    event_at_ = element.current_location();
    RawEvent event;
    for (auto field : element.get_object()) {
      const std::string_view key = field.unescaped_key();
      simdjson::ondemand::value value = field.value();
      if (key == "ph") {
        const std::string_view phase = text_of(value);
        event.phase = phase.empty() ? ' ' : phase.front();
      } else if (key == "cat") {
        event.category = category_of(text_of(value));
      } else if (key == "name") {
        event.name = text_of(value);
      } else if (key == "ts") {
        event.start_us = number_in<double>(value);
      } else if (key == "dur") {
        event.duration_us = number_in<double>(value).value_or(-1);
      } else if (key == "id") {
        event.id = number_in<std::int64_t>(value);
      } else if (key == "pid") {
        event.process = token(value);
      } else if (key == "tid") {
        event.thread = token(value);
      } else if (key == "args") {
        simdjson::ondemand::object args;
        if (value.get_object().get(args) == simdjson::SUCCESS) event.args = args.raw_json();
      }
    }
    ++count_;
    if (event.phase != 'X' && event.phase != ' ') event.duration_us.reset();
    if (event.duration_us && !is_possible(event)) {
      ++impossible_;
    } else {
      take(event);
    }
    const char* behind = nullptr;  // damage there spares this event
    if (element.current_location().get(behind) == simdjson::SUCCESS) event_at_ = behind;
  }
  event_at_ = nullptr;
}

}  // namespace inline_prof::read::torch_trace
