#include "export/perfetto_gpu.hpp"

#include "base/text.hpp"
#include "export/perfetto_names.hpp"
#include "join/timeline_layout.hpp"
#include "join/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::exports {
namespace {

// Fields of Perfetto's messages, by their numbers.
namespace packet {
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequenceId = 10;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kGpuRenderStageEvent = 53;
constexpr std::uint32_t kGpuInfo = 128;
}  // namespace packet
namespace interned {
constexpr std::uint32_t kGraphicsContexts = 23;
constexpr std::uint32_t kGpuSpecifications = 24;
}  // namespace interned
namespace stage_event {
constexpr std::uint32_t kEventId = 1;
constexpr std::uint32_t kDuration = 2;
constexpr std::uint32_t kContext = 5;
constexpr std::uint32_t kExtraData = 6;
constexpr std::uint32_t kGpuId = 11;
constexpr std::uint32_t kQueue = 13;
constexpr std::uint32_t kStage = 14;
}  // namespace stage_event

constexpr std::uint64_t kSequenceBegins = 1;
constexpr std::uint64_t kSequenceGoesOn = 2;
constexpr std::uint64_t kCuda = 4;     // InternedGraphicsContext.Api
constexpr std::uint64_t kCompute = 2;  // InternedGpuRenderStageSpecification.RenderStageCategory

// A message of Protocol Buffers: a key and a value for each field.
class Message {
 public:
  Message& add(std::uint32_t field, std::uint64_t value) {
    append_varint(std::uint64_t{field} << 3U);
    append_varint(value);
    return *this;
  }
  Message& add(std::uint32_t field, std::string_view text) {
    append_varint(std::uint64_t{field} << 3U | 2U);
    append_varint(text.size());
    bytes_ += text;
    return *this;
  }
  Message& add(std::uint32_t field, const Message& message) { return add(field, message.bytes_); }

  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  void append_varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U)
      bytes_ += static_cast<char>(static_cast<unsigned char>(value | 0x80U));
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

std::uint64_t nanoseconds(double us) {
  return static_cast<std::uint64_t>(std::llround(std::max(us, 0.0) * 1e3));
}

Message extra(std::string_view name, const std::string& value) {
  return std::move(Message().add(1, name).add(2, std::string_view(base::printable(value))));
}

class GpuTraceWriter {
 public:
  // The viewer shows queues of one name as one queue, whatever GPU they are of.
  GpuTraceWriter(const join::Analysis& analysis, bool has_several_gpus)
      : analysis_(analysis), has_several_gpus_(has_several_gpus) {}

  void add(const join::TimelineTrack& track) {
    const std::uint64_t gpu = gpu_of(track);
    const std::string title =
        has_several_gpus_ ? device_title(analysis_.runs[track.run], track.device_id) + ", " : "";
    for (const join::TimelineBar& bar : track.bars) {
      const join::Row& row = analysis_.rows[bar.row];
      const std::string lane = base::printable(
          title + lane_title(track.stream_index, static_cast<std::int64_t>(bar.lane)));
      Message measured = stage(row, gpu, lane, bar.length_us);
      measured.add(stage_event::kExtraData, extra("layer", row.layer.str()))
          .add(stage_event::kExtraData, extra("verdict", std::string(join::verdict_text(row))))
          .add(stage_event::kExtraData, extra("calls", fmt::format("{}", row.calls)))
          .add(stage_event::kExtraData, extra("samples", fmt::format("{}", row.samples)))
          .add(stage_event::kExtraData, extra("start_measured", bar.has_place ? "true" : "false"));
      const std::string phase = join::phase_name(analysis_.runs[track.run].profile);
      if (!phase.empty()) measured.add(stage_event::kExtraData, extra("phase", phase));
      write_event(bar.start_us, measured);
      if (!row.predicted_us) continue;
      Message predicted = stage(row, gpu, lane + ", predicted", *row.predicted_us);
      predicted.add(stage_event::kExtraData, extra("layer", row.layer.str()))
          .add(stage_event::kExtraData, extra("model", row.model.str()))
          .add(stage_event::kExtraData, extra("bound", row.bound.str()));
      write_event(bar.start_us, predicted);
    }
  }

  [[nodiscard]] std::string bytes() && {
    write(Message().add(packet::kGpuInfo, gpus_));
    return std::move(trace_).bytes();
  }

 private:
  // The GPU's number in the trace, which counts the devices of all files.
  std::uint64_t gpu_of(const join::TimelineTrack& track) {
    const auto [it, is_new] =
        gpu_numbers_.try_emplace(std::pair(track.run, track.device_id), gpu_numbers_.size());
    if (!is_new) return it->second;
    const join::Run& run = analysis_.runs[track.run];
    Message gpu;
    gpu.add(1, std::string_view(base::printable(device_title(run, track.device_id))));
    gpu.add(2, std::string_view("NVIDIA"));
    for (const read::Device& device : run.profile.devices) {
      if (device.device_id == track.device_id && !device.name.empty())
        gpu.add(3, std::string_view(base::printable(device.name)));
    }
    gpus_.add(1, gpu);
    // A context has a process, by which the viewer groups: one for each GPU.
    const std::uint64_t number = it->second + 1;
    intern(interned::kGraphicsContexts, Message().add(1, number).add(2, number).add(3, kCuda));
    return it->second;
  }

  void intern(std::uint32_t kind, const Message& message) {
    write(Message().add(packet::kInternedData, Message().add(kind, message)));
  }

  // Queues and stages are interned in one list.
  std::uint64_t specification(const std::string& name) {
    const auto [it, is_new] = specifications_.try_emplace(name, specifications_.size() + 1);
    if (is_new) {
      intern(interned::kGpuSpecifications,
             Message().add(1, it->second).add(2, std::string_view(name)).add(4, kCompute));
    }
    return it->second;
  }

  Message stage(const join::Row& row, std::uint64_t gpu, const std::string& lane,
                double length_us) {
    const std::uint64_t queue = specification(lane);
    const std::uint64_t name = specification(base::printable(base::readable_name(row.event.str())));
    return std::move(Message()
                         .add(stage_event::kEventId, ++events_)
                         .add(stage_event::kDuration, nanoseconds(length_us))
                         .add(stage_event::kContext, gpu + 1)
                         .add(stage_event::kGpuId, gpu)
                         .add(stage_event::kQueue, queue)
                         .add(stage_event::kStage, name));
  }

  void write_event(double start_us, const Message& event) {
    Message message;
    message.add(packet::kTimestamp, nanoseconds(start_us)).add(packet::kGpuRenderStageEvent, event);
    write(std::move(message));
  }

  void write(Message message) {
    message.add(packet::kSequenceId, std::uint64_t{1})
        .add(packet::kSequenceFlags, is_first_ ? kSequenceBegins : kSequenceGoesOn);
    is_first_ = false;
    trace_.add(1, message);
  }

  const join::Analysis& analysis_;
  bool has_several_gpus_;
  Message trace_;
  Message gpus_;
  std::map<std::pair<std::size_t, std::int64_t>, std::uint64_t> gpu_numbers_;
  std::map<std::string, std::uint64_t> specifications_;
  std::uint64_t events_ = 0;
  bool is_first_ = true;
};

}  // namespace

std::string perfetto_gpu_report(const join::Analysis& analysis) {
  const std::vector<join::TimelineTrack> tracks = join::timeline_layout(analysis);
  std::set<std::pair<std::size_t, std::int64_t>> gpus;
  for (const join::TimelineTrack& track : tracks)
    gpus.emplace(track.run, track.device_id);
  GpuTraceWriter writer(analysis, gpus.size() > 1);
  for (const join::TimelineTrack& track : tracks)
    writer.add(track);
  return std::move(writer).bytes();
}

}  // namespace inline_prof::exports
