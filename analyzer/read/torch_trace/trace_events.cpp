#include "read/torch_trace/trace_events.hpp"

#include "read/file_text.hpp"
#include "read/input_error.hpp"
#include "read/torch_trace/raw_events.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
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
  if (!has_events_)
    throw InputError(
        fmt::format("{}: no \"traceEvents\": expected a trace of torch.profiler", label));
  if (impossible_ > 0)
    warnings.push_back(fmt::format(
        "{} events are left out: their start or duration is none that a clock gives", impossible_));
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

namespace {

// Members of an event's args that all events of a kind need.
struct CommonArgs {
  std::int64_t correlation = -1;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t bytes = 0;
  std::int64_t sequence = -1;
  std::int64_t forward_thread = 0;
  std::int64_t external_id = -1;
};

class Parser : private EventReader {
 public:
  explicit Parser(TraceEvents& found) : found_(found) {}

  void parse(const std::string& label) {
    found_.is_whole = read(found_.text, label, found_.warnings);
    finish();
  }

 private:
  void take_member(std::string_view key, simdjson::ondemand::value value) override {
    if (key == "deviceProperties") read_devices(value.get_array());
    if (key == "distributedInfo") read_distributed(value.get_object());
  }

  void take(const RawEvent& event) override {
    if (event.category == Category::kOther) return;
    if (event.category == Category::kFlow) return take_flow(event);
    if (!event.duration_us) return;
    const double start_us = *event.start_us, duration_us = *event.duration_us;
    const auto name = [&] { return found_.names.id_of(event.name); };
    if (event.category == Category::kPython) {
      constexpr std::string_view module = "nn.Module: ";
      if (event.name.starts_with(module))
        found_.host.push_back({.start_us = start_us,
                               .end_us = start_us + duration_us,
                               .kind = HostKind::kModule,
                               .name = found_.names.id_of(event.name.substr(module.size())),
                               .thread = thread_of(event),
                               .args = {}});
      return;
    }
    const CommonArgs args = common_args(event.args);
    if (event.category == Category::kOperator || event.category == Category::kAnnotation) {
      const bool is_operator = event.category == Category::kOperator;
      found_.host.push_back({start_us, start_us + duration_us,
                             is_operator ? HostKind::kOperator : HostKind::kAnnotation, name(),
                             thread_of(event), args.sequence, args.forward_thread, args.external_id,
                             event.args});
    } else if (event.category == Category::kCall) {
      if (event.name.starts_with("hip")) found_.is_amd = true;
      if (args.correlation >= 0)
        found_.calls.try_emplace(
            args.correlation, HostCall{start_us, start_us + duration_us, name(), thread_of(event)});
    } else {
      const WorkKind kind = event.category == Category::kKernel ? WorkKind::kKernel
                            : event.category == Category::kCopy ? WorkKind::kCopy
                                                                : WorkKind::kFill;
      found_.works.push_back({start_us, duration_us, kind, name(),
                              static_cast<std::int32_t>(args.device), args.stream, args.correlation,
                              args.external_id, args.bytes, event.args});
    }
  }

  void take_flow(const RawEvent& event) {
    if (!event.id || !event.start_us) return;
    BackwardFlow& flow = flow_of_id_[*event.id];
    if (event.phase == 's') {
      flow.forward_thread = thread_of(event);
      flow.forward_us = *event.start_us;
    } else if (event.phase == 'f') {
      flow.backward_thread = thread_of(event);
      flow.backward_us = *event.start_us;
    }
  }

  CommonArgs common_args(std::string_view text) {
    CommonArgs args;
    if (text.empty()) return args;
    // The text of the whole trace goes on behind it, so there is room to read beyond its end.
    const simdjson::padded_string_view padded(text.data(), text.size(),
                                              text.size() + simdjson::SIMDJSON_PADDING);
    simdjson::ondemand::document document = args_parser_.iterate(padded);
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      std::int64_t* const place = key == "correlation"       ? &args.correlation
                                  : key == "device"          ? &args.device
                                  : key == "stream"          ? &args.stream
                                  : key == "bytes"           ? &args.bytes
                                  : key == "Sequence number" ? &args.sequence
                                  : key == "Fwd thread id"   ? &args.forward_thread
                                  : key == "External id" || key == "external id" ? &args.external_id
                                                                                 : nullptr;
      if (place == nullptr) continue;
      if (const auto number = number_in<std::int64_t>(field.value())) *place = *number;
    }
    return args;
  }

  void read_devices(simdjson::ondemand::array devices) {
    for (auto element : devices) {
      Device device;
      std::int64_t major = -1, minor = 0;
      for (auto field : element.get_object()) {
        const std::string_view key = field.unescaped_key();
        simdjson::ondemand::value value = field.value();
        if (key == "name") device.name = text_of(value);
        std::int64_t* const place = key == "id"               ? &device.device_id
                                    : key == "numSms"         ? &device.sm_count
                                    : key == "totalGlobalMem" ? &device.memory_bytes
                                    : key == "computeMajor"   ? &major
                                    : key == "computeMinor"   ? &minor
                                                              : nullptr;
        if (place == nullptr) continue;
        if (const auto number = number_in<std::int64_t>(value)) *place = *number;
      }
      if (major >= 0) device.compute_capability = fmt::format("{}.{}", major, minor);
      if (device.name.starts_with("AMD")) found_.is_amd = true;
      found_.devices.push_back(std::move(device));
    }
  }

  void read_distributed(simdjson::ondemand::object information) {
    for (auto field : information) {
      const std::string_view key = field.unescaped_key();
      if (key == "rank") {
        found_.rank = number_in<std::int64_t>(field.value());
      } else if (key == "world_size") {
        found_.world_size = number_in<std::int64_t>(field.value());
      }
    }
  }

  std::uint32_t thread_of(const RawEvent& event) {
    return threads_
        .try_emplace({event.process, event.thread}, static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  void finish() {
    std::ranges::stable_sort(found_.host, {}, [](const HostEvent& event) {
      return std::tuple(event.thread, event.start_us, -event.end_us);
    });
    std::ranges::stable_sort(found_.works, {}, &GpuWork::start_us);
    for (const auto& [id, flow] : flow_of_id_) {
      if (flow.forward_us >= 0 && flow.backward_us >= 0) found_.flows.push_back(flow);
    }
  }

  TraceEvents& found_;
  simdjson::ondemand::parser args_parser_;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> threads_;
  std::unordered_map<std::int64_t, BackwardFlow> flow_of_id_;
};

}  // namespace

std::uint32_t Names::id_of(std::string_view name) {
  const auto [it, is_new] =
      ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(ids_.size()));
  if (is_new) texts_.push_back(&it->first);
  return it->second;
}

TraceEvents parse_events(std::string text, const std::string& label) {
  TraceEvents found;
  found.text = std::move(text);
  Parser(found).parse(label);
  return found;
}

}  // namespace inline_prof::read::torch_trace
