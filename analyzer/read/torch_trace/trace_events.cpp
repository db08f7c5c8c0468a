#include "read/torch_trace/trace_events.hpp"

#include "read/torch_trace/raw_events.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace inline_prof::read::torch_trace {
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
    switch (event.category) {
      case Category::kOperator:
      case Category::kAnnotation: {
        const CommonArgs args = common_args(event.args);
        const bool is_operator = event.category == Category::kOperator;
        found_.host.push_back({start_us, start_us + duration_us,
                               is_operator ? HostKind::kOperator : HostKind::kAnnotation,
                               found_.names.id_of(event.name), thread_of(event), args.sequence,
                               args.forward_thread, args.external_id, event.args});
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
                               -1,
                               {}});
        break;
      }
      case Category::kCall: {
        const CommonArgs args = common_args(event.args);
        if (event.name.starts_with("hip")) found_.is_amd = true;
        if (args.correlation < 0) return;
        found_.calls.try_emplace(args.correlation,
                                 HostCall{start_us, start_us + duration_us,
                                          found_.names.id_of(event.name), thread_of(event)});
        break;
      }
      default: {
        const CommonArgs args = common_args(event.args);
        const WorkKind kind = event.category == Category::kKernel ? WorkKind::kKernel
                              : event.category == Category::kCopy ? WorkKind::kCopy
                                                                  : WorkKind::kFill;
        found_.works.push_back({start_us, duration_us, kind, found_.names.id_of(event.name),
                                static_cast<std::int32_t>(args.device), args.stream,
                                args.correlation, args.external_id, args.bytes, event.args});
      }
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
    return threads_
        .try_emplace({event.process, event.thread}, static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  void finish() {
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
