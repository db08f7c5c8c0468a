#include "read/torch_trace/trace_events.hpp"

#include "read/file_text.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

namespace inline_prof::read::torch_trace {
namespace {

using simdjson::ondemand::json_type;

static_assert(kPaddingBytes >= simdjson::SIMDJSON_PADDING);

// Kineto writes numbers, other writers of the format words: "1000.5".
template <typename Number>
std::optional<Number> number_in(simdjson::ondemand::value value) {
  json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
  if (type == json_type::number) {
    double number = 0;
    if constexpr (std::is_same_v<Number, std::int64_t>) {
      std::int64_t whole = 0;
      if (value.get_int64().get(whole) == simdjson::SUCCESS) return whole;
    }
    if (value.get_double().get(number) != simdjson::SUCCESS) return std::nullopt;
    return static_cast<Number>(number);
  }
  std::string_view word;
  if (type != json_type::string || value.get_string().get(word) != simdjson::SUCCESS)
    return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::string text_of(simdjson::ondemand::value value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

enum class Category {
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

Category category_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Category>, 12> words{{
      {"cpu_op", Category::kOperator},
      {"Operator", Category::kOperator},
      {"user_annotation", Category::kAnnotation},
      {"python_function", Category::kPython},
      {"cuda_runtime", Category::kCall},
      {"cuda_driver", Category::kCall},
      {"hip_runtime", Category::kCall},
      {"Runtime", Category::kCall},
      {"kernel", Category::kKernel},
      {"gpu_memcpy", Category::kCopy},
      {"gpu_memset", Category::kFill},
      {"fwdbwd", Category::kFlow},
  }};
  for (const auto& [name, category] : words) {
    if (word == name) return category;
  }
  if (word == "Kernel") return Category::kKernel;
  if (word == "Memcpy") return Category::kCopy;
  if (word == "Memset") return Category::kFill;
  return word == "fwd_bwd" || word == "forward_backward" ? Category::kFlow : Category::kOther;
}

// One event as written; members that do not occur keep their first value.
struct RawEvent {
  char phase = ' ';
  Category category = Category::kOther;
  std::string_view name;
  std::string_view args;
  std::optional<double> start_us;
  double duration_us = 0;
  std::optional<std::int64_t> id;
  std::string thread;  // process and thread
};

// Members of an event's args that all events of a kind need.
struct CommonArgs {
  std::int64_t correlation = -1;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t bytes = 0;
  std::int64_t sequence = -1;
  std::int64_t forward_thread = 0;
};

class Parser {
 public:
  Parser(TraceEvents& found, const std::string& label) : found_(found), label_(label) {}

  void parse() {
    if (read_document(found_.text)) return finish();
    // A program that was killed leaves a trace without its end: whole events are still good.
    std::string& text = found_.text;
    for (std::size_t end = text.rfind('}'), tries = 0; end != std::string::npos && tries < 64;
         end = end == 0 ? std::string::npos : text.rfind('}', end - 1), ++tries) {
      const std::size_t from = text.find_first_not_of(" \t\r\n");
      const bool is_list = from != std::string::npos && text[from] == '[';
      std::string shorter = text.substr(0, end + 1) + (is_list ? "]" : "]}");
      shorter.reserve(shorter.size() + kPaddingBytes);
      forget();
      if (!read_document(shorter)) continue;
      if (count_ == 0) break;
      found_.warnings.push_back(fmt::format(
          "the trace is cut off behind {} events, at byte {} of {}", count_, end + 1, text.size()));
      text.swap(shorter);
      forget();
      read_document(text);  // once more: what is kept points into the text
      return finish();
    }
    throw InputError(fmt::format("{}: byte {}: {}, expected the JSON of a trace", label_,
                                 failed_at_, failure_.empty() ? "no JSON" : failure_));
  }

 private:
  void forget() {
    found_.host.clear();
    found_.calls.clear();
    found_.works.clear();
    found_.flows.clear();
    found_.devices.clear();
    flow_of_id_.clear();
    count_ = 0;
    has_events_ = false;
  }

  // False if the text is no JSON.
  bool read_document(const std::string& text) {
    simdjson::ondemand::document document;
    const simdjson::padded_string_view padded(text.data(), text.size(), text.capacity());
    const auto fails = [&](simdjson::error_code error) {
      failure_ = simdjson::error_message(error);
      const char* at = nullptr;
      failed_at_ = document.current_location().get(at) == simdjson::SUCCESS
                       ? static_cast<std::size_t>(at - text.data())
                       : text.size();
      return false;
    };
    if (const auto error = parser_.iterate(padded).get(document); error != simdjson::SUCCESS) {
      failure_ = simdjson::error_message(error);
      failed_at_ = text.size();
      return false;
    }
    try {
      json_type type{};
      if (const auto error = document.type().get(type); error != simdjson::SUCCESS)
        return fails(error);
      if (type == json_type::array) {
        read_events(document.get_array());
        return true;
      }
      for (auto field : document.get_object()) {
        const std::string_view key = field.unescaped_key();
        if (key == "traceEvents") {
          read_events(field.value().get_array());
        } else if (key == "deviceProperties") {
          read_devices(field.value().get_array());
        } else if (key == "distributedInfo") {
          read_distributed(field.value().get_object());
        }
      }
      return true;
    } catch (const simdjson::simdjson_error& error) {
      return fails(error.error());
    }
  }

  void read_events(simdjson::ondemand::array events) {
    has_events_ = true;
    for (auto element : events) {
      RawEvent event;
      for (auto field : element.get_object()) {
        const std::string_view key = field.unescaped_key();
        simdjson::ondemand::value value = field.value();
        if (key == "ph") {
          const std::string_view phase = value.get_string();
          event.phase = phase.empty() ? ' ' : phase.front();
        } else if (key == "cat") {
          event.category = category_of(value.get_string());
        } else if (key == "name") {
          event.name = value.get_string();
        } else if (key == "ts") {
          event.start_us = number_in<double>(value);
        } else if (key == "dur") {
          event.duration_us = number_in<double>(value).value_or(0);
        } else if (key == "id") {
          event.id = number_in<std::int64_t>(value);
        } else if (key == "pid" || key == "tid") {
          event.thread.append(key == "pid" ? "p" : "t").append(value.raw_json_token());
        } else if (key == "args") {
          simdjson::ondemand::object args = value.get_object();
          event.args = args.raw_json();
        }
      }
      ++count_;
      take(event);
    }
  }

  void take(const RawEvent& event) {
    if (!event.start_us || !std::isfinite(*event.start_us) || event.category == Category::kOther)
      return;
    if (event.category == Category::kFlow) return take_flow(event);
    if (event.phase != 'X') return;
    const double start_us = *event.start_us;
    const double duration_us = std::max(event.duration_us, 0.0);
    switch (event.category) {
      case Category::kOperator:
      case Category::kAnnotation: {
        const CommonArgs args = common_args(event.args);
        const bool is_operator = event.category == Category::kOperator;
        found_.host.push_back({start_us, start_us + duration_us,
                               is_operator ? HostKind::kOperator : HostKind::kAnnotation,
                               found_.names.id_of(event.name), thread_of(event), args.sequence,
                               args.forward_thread, event.args});
        break;
      }
      case Category::kPython: {
        constexpr std::string_view module = "nn.Module: ";
        if (!event.name.starts_with(module)) return;
        found_.host.push_back({start_us,
                               start_us + duration_us,
                               HostKind::kModule,
                               found_.names.id_of(event.name.substr(module.size())),
                               thread_of(event),
                               -1,
                               0,
                               {}});
        break;
      }
      case Category::kCall: {
        const CommonArgs args = common_args(event.args);
        if (event.name.starts_with("hip")) found_.is_amd = true;
        if (args.correlation < 0) return;
        found_.calls.try_emplace(
            args.correlation, HostCall{start_us, found_.names.id_of(event.name), thread_of(event)});
        break;
      }
      default: {
        const CommonArgs args = common_args(event.args);
        const WorkKind kind = event.category == Category::kKernel ? WorkKind::kKernel
                              : event.category == Category::kCopy ? WorkKind::kCopy
                                                                  : WorkKind::kFill;
        found_.works.push_back({start_us, duration_us, kind, found_.names.id_of(event.name),
                                static_cast<std::int32_t>(args.device), args.stream,
                                args.correlation, args.bytes, event.args});
      }
    }
  }

  void take_flow(const RawEvent& event) {
    if (!event.id) return;
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
        if (key == "name") {
          device.name = text_of(value);
        } else if (key == "id") {
          device.device_id = number_in<std::int64_t>(value).value_or(0);
        } else if (key == "numSms") {
          device.sm_count = number_in<std::int64_t>(value).value_or(0);
        } else if (key == "totalGlobalMem") {
          device.memory_bytes = number_in<std::int64_t>(value).value_or(0);
        } else if (key == "computeMajor") {
          major = number_in<std::int64_t>(value).value_or(-1);
        } else if (key == "computeMinor") {
          minor = number_in<std::int64_t>(value).value_or(0);
        }
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
    return threads_.try_emplace(event.thread, static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  void finish() {
    if (!has_events_) {
      throw InputError(
          fmt::format("{}: no \"traceEvents\": expected a trace of torch.profiler", label_));
    }
    std::stable_sort(found_.host.begin(), found_.host.end(),
                     [](const HostEvent& a, const HostEvent& b) {
                       return std::tuple(a.thread, a.start_us, -a.end_us) <
                              std::tuple(b.thread, b.start_us, -b.end_us);
                     });
    std::stable_sort(found_.works.begin(), found_.works.end(),
                     [](const GpuWork& a, const GpuWork& b) { return a.start_us < b.start_us; });
    for (const auto& [id, flow] : flow_of_id_) {
      if (flow.forward_us >= 0 && flow.backward_us >= 0) found_.flows.push_back(flow);
    }
  }

  TraceEvents& found_;
  const std::string& label_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::parser args_parser_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::unordered_map<std::int64_t, BackwardFlow> flow_of_id_;
  std::size_t count_ = 0;
  bool has_events_ = false;
  std::string failure_;
  std::size_t failed_at_ = 0;
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
  found.text.reserve(found.text.size() + kPaddingBytes);
  Parser(found, label).parse();
  return found;
}

}  // namespace inline_prof::read::torch_trace
