#include "record/prof_writer.hpp"

#include "record/json_writer.hpp"
#include "record/overhead_measurement.hpp"

#include <inline_prof/prof_format.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace inline_prof::record {
namespace {

constexpr std::pair<Flag, const char*> kFlagWords[] = {
    {Flag::kAnyOccurrence, format::kFlagAnyOccurrence},
    {Flag::kGraphNode, format::kFlagGraphNode},
    {Flag::kGraphChild, format::kFlagGraphChild},
    {Flag::kGraphWhole, format::kFlagGraphWhole},
    {Flag::kRecaptured, format::kFlagRecaptured},
    {Flag::kNotMeasurable, format::kFlagNotMeasurable},
    {Flag::kPdlRemoved, format::kFlagPdlRemoved},
};

std::string hexadecimal(const void* pointer) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  return text.data();
}

class ProfWriter {
 public:
  ProfWriter(RunRecord& run, const WriteFacts& facts) : run_(run), facts_(facts) {}

  std::string write() {
    json_.begin_object();
    text(format::kSchema, format::kSchemaValue);
    write_process();
    write_profiler();
    write_devices();
    write_libraries();
    write_calibrations();
    json_.new_line();
    json_.key(format::kIterTimeMs);
    json_.begin_array();
    for (std::size_t i = 0; i < run_.iteration_times.size(); ++i) {
      json_.number(run_.iteration_times[i]);
    }
    json_.end_array();
    write_phases();
    json_.key(format::kEvents);
    json_.begin_array();
    for (std::size_t i = 0; i < run_.events.size(); ++i) {
      if (run_.events[i].phase != run_.phase_in_making) write_event(run_.events[i]);
    }
    json_.end_array();
    json_.new_line();
    write_runtime_data();
    if (facts_.cross_check) write_cross_check(*facts_.cross_check);
    write_overhead();
    write_dropped();
    std::vector<std::string> not_seen = run_.not_seen;
    not_seen.insert(not_seen.end(), facts_.not_seen.begin(), facts_.not_seen.end());
    strings(format::kNotSeen, not_seen);
    strings(format::kWarnings, run_.warnings);
    json_.end_object();
    json_.new_line();
    return json_.str();
  }

 private:
  // The value of one attribute of an operation.
  void attribute(std::int64_t value) { json_.integer(value); }
  void attribute(const std::string& value) { json_.text(value); }
  void attribute(bool value) { json_.boolean(value); }
  void attribute(const std::vector<std::int64_t>& values) {
    json_.begin_array();
    for (const std::int64_t value : values)
      json_.integer(value);
    json_.end_array();
  }

  void text(const char* key, std::string_view value) {
    json_.key(key);
    json_.text(value);
  }
  void integer(const char* key, std::int64_t value) {
    json_.key(key);
    json_.integer(value);
  }
  void count(const char* key, const std::atomic<std::uint64_t>& value) {
    integer(key, static_cast<std::int64_t>(value.load(std::memory_order_relaxed)));
  }
  void number(const char* key, double value) {
    json_.key(key);
    json_.number(value);
  }
  void optional(const char* key, const std::optional<std::int64_t>& value) {
    if (value) integer(key, *value);
  }
  void strings(const char* key, const std::vector<std::string>& values) {
    json_.key(key);
    json_.begin_array();
    for (const auto& value : values)
      json_.text(value);
    json_.end_array();
  }
  void triple(const char* key, const std::array<unsigned, 3>& values) {
    json_.key(key);
    json_.begin_array();
    for (const unsigned value : values)
      json_.integer(value);
    json_.end_array();
  }

  void write_process() {
    text(format::kHostName, run_.host_name);
    optional(format::kRank, run_.rank);
    optional(format::kWorldSize, run_.world_size);
    optional(format::kLocalRank, run_.local_rank);
    integer(format::kProcessId, facts_.process_id);
    text(format::kCommand, run_.command);
    text(format::kStartedAt, run_.started_at);
    json_.key(format::kComplete);
    json_.boolean(facts_.complete);
  }

  void write_profiler() {
    json_.new_line();
    json_.key(format::kProfiler);
    json_.begin_object();
    text(format::kVersion, INLINE_PROF_VERSION);
    text(format::kMode, run_.mode);
    text(format::kPolicy, run_.policy);
    text(format::kBackend, run_.backend);
    text(format::kSchedule, run_.schedule);
    integer(format::kWarmupIterations, run_.warmup);
    integer(format::kRepeat, run_.repeat);
    text(format::kIterationSource, run_.iteration_source);
    number(format::kIterationConfidence, facts_.iteration_confidence);
    // Of one that no iteration came of, nothing.
    const bool is_period = run_.iteration_source != "none";
    if (is_period && run_.iteration_launches > 0)
      integer(format::kIterationLaunches, run_.iteration_launches);
    if (is_period && run_.other_period > 0) integer(format::kOtherPeriod, run_.other_period);
    text(format::kEventListHash, event_list_hash(run_.events));
    json_.end_object();
  }

  void write_devices() {
    json_.new_line();
    json_.key(format::kDevices);
    json_.begin_array();
    for (const DeviceInfo& device : run_.devices) {
      json_.begin_object();
      integer(format::kDeviceId, device.device_id);
      text(format::kName, device.name);
      text(format::kUuid, device.uuid);
      integer(format::kSmCount, device.sm_count);
      text(format::kComputeCapability, device.compute_capability);
      integer(format::kMemoryBytes, static_cast<std::int64_t>(device.memory_bytes));
      integer(format::kL2Bytes, device.l2_bytes);
      integer(format::kSmClockKhz, device.sm_clock_khz);
      integer(format::kMemoryClockKhz, device.memory_clock_khz);
      text(format::kDriverVersion, device.driver_version);
      text(format::kCudaVersion, device.cuda_version);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_libraries() {
    json_.key(format::kLibraries);
    json_.begin_object();
    for (const auto& [name, version] : facts_.libraries)
      text(name.c_str(), version);
    json_.end_object();
  }

  void distribution(const char* key, const Distribution& values) {
    json_.key(key);
    json_.begin_object();
    number(format::kMedian, values.median_us);
    number(format::kP05, values.p05_us);
    number(format::kP95, values.p95_us);
    integer(format::kCount, values.count);
    json_.end_object();
  }

  void write_calibrations() {
    json_.new_line();
    json_.key(format::kCalibration);
    json_.begin_array();
    for (const Calibration& calibration : run_.calibrations) {
      json_.begin_object();
      integer(format::kDeviceId, calibration.device_id);
      text(format::kState, calibration.state);
      distribution(format::kEmptyPairUs, calibration.empty_pair);
      if (calibration.empty_kernel_pair) {
        distribution(format::kEmptyKernelPairUs, *calibration.empty_kernel_pair);
      }
      if (calibration.added_kernel) {
        distribution(format::kAddedKernelUs, *calibration.added_kernel);
      }
      json_.end_object();
    }
    json_.end_array();
  }

  void write_launch_shape(const LaunchShape& shape) {
    triple(format::kGrid, shape.grid);
    triple(format::kBlock, shape.block);
    triple(format::kCluster, shape.cluster);
    integer(format::kStaticSharedBytes, shape.static_shared_bytes);
    integer(format::kDynamicSharedBytes, shape.dynamic_shared_bytes);
    integer(format::kRegisters, shape.registers);
    integer(format::kMaxBlocksPerSm, shape.max_blocks_per_sm);
  }

  void write_op(const Op& op) {
    json_.key(format::kOp);
    json_.begin_object();
    text(format::kKind, op.kind);
    for (const auto& [name, value] : op.attributes) {
      json_.key(name);
      std::visit([this](const auto& each) { attribute(each); }, value);
    }
    text(format::kSource, op.source);
    json_.end_object();
  }

  template <typename Write>
  void per_sample(const char* key, const EventRecord& event, std::uint32_t samples, Write write) {
    json_.key(key);
    json_.begin_array();
    for (std::uint32_t i = 0; i < samples; ++i)
      write(event.sample(i));
    json_.end_array();
  }

  // Left out where no thread has waited.
  void write_after_wait(const EventRecord& event, std::uint32_t samples) {
    bool any = false;
    for (std::uint32_t i = 0; i < samples; ++i)
      any = any || event.sample(i).after_wait_us >= 0;
    if (!any) return;
    per_sample(format::kAfterWaitUs, event, samples, [&](const Sample& sample) {
      if (sample.after_wait_us < 0) return json_.null();
      json_.number(sample.after_wait_us);
    });
  }

  // The original left these lists empty where no extra information was given.
  void extra_infos(const char* key, const EventRecord& event, std::uint32_t samples,
                   std::string ExtraInfos::*info) {
    const auto text_of = [info](const Sample& sample) {
      return sample.extra ? std::string_view((*sample.extra).*info) : std::string_view();
    };
    bool any = false;
    for (std::uint32_t i = 0; i < samples; ++i)
      any = any || !text_of(event.sample(i)).empty();
    per_sample(key, event, any ? samples : 0,
               [&](const Sample& sample) { json_.text(text_of(sample)); });
  }

  void write_cross_check_times(const EventRecord& event, std::uint32_t samples,
                               const std::unordered_map<std::uint32_t, double>& times_us) {
    per_sample(format::kCrossCheckTimesUs, event, samples, [&](const Sample& sample) {
      const auto seen = times_us.find(sample.correlation_id);
      if (seen == times_us.end()) return json_.null();
      json_.number(seen->second);
    });
  }

  void write_cross_check(const CrossCheck& check) {
    json_.key(format::kCrossCheck);
    json_.begin_object();
    text(format::kSource, "cupti");
    integer(format::kVersion, check.version);
    integer(format::kLaunches, static_cast<std::int64_t>(check.launches));
    count(format::kLaunchesSeenByUs, run_.launches_seen);
    integer(format::kDroppedRecords, static_cast<std::int64_t>(check.dropped_records));
    json_.end_object();
  }

  void write_event(const EventRecord& event) {
    json_.new_line();
    json_.begin_object();
    text(format::kEventName, event.event_name);
    text(format::kLayerName, event.layer_name);
    if (!run_.phases.empty()) integer(format::kPhase, event.phase);
    if (!event.class_name.empty()) text(format::kClass, event.class_name);
    text(format::kKernelName, event.kernel_names.empty() ? "" : event.kernel_names.front());
    strings(format::kKernelNames, event.kernel_names);
    integer(format::kDeviceId, event.device_id);
    text(format::kStream, hexadecimal(event.stream));
    integer(format::kStreamIndex, event.stream_index);
    integer(format::kStartIndex, event.start_index);
    // A label that was open when the application ended in the warm-up has no end yet.
    integer(format::kEndIndex, std::max(event.end_index, event.start_index));
    integer(format::kMetTimesWithinThisStream, event.occurrence);
    count(format::kCalls, event.calls);
    if (event.shape) write_launch_shape(*event.shape);
    json_.key(format::kInCudaGraph);
    json_.boolean(event.is_inside_graph() || event.has(Flag::kRecaptured));
    json_.key(format::kFlags);
    json_.begin_array();
    for (const auto& [flag, word] : kFlagWords) {
      if (event.has(flag)) json_.text(word);
    }
    json_.end_array();
    if (!event.reason.empty()) text(format::kReason, event.reason);
    if (event.op) write_op(*event.op);

    const std::uint32_t samples = event.sample_count();
    per_sample(format::kMeasuredTimesMs, event, samples,
               [&](const Sample& sample) { json_.number(sample.measured_ms); });
    per_sample(format::kIterStartToEventStartTimesMs, event, samples,
               [&](const Sample& sample) { json_.number(sample.offset_ms); });
    per_sample(format::kIterations, event, samples,
               [&](const Sample& sample) { json_.integer(sample.iteration); });
    per_sample(format::kTight, event, samples, [&](const Sample& sample) {
      if (sample.tight < 0) return json_.null();
      json_.boolean(sample.tight == 1);
    });
    write_after_wait(event, samples);
    if (facts_.cross_check) write_cross_check_times(event, samples, facts_.cross_check->times_us);
    extra_infos(format::kExtraInfosStart, event, samples, &ExtraInfos::start);
    extra_infos(format::kExtraInfosStop, event, samples, &ExtraInfos::stop);
    json_.end_object();
  }

  // Of a single phase the times are those of the run.
  void write_phase(const PhaseRecord& phase) {
    json_.new_line();
    json_.begin_object();
    std::int64_t iterations = 0;
    json_.key(format::kStretches);
    json_.begin_array();
    for (const auto& [first, last] : phase.stretches) {
      const std::int64_t end = last < first ? run_.last_iteration.load() : last;
      json_.begin_array();
      json_.integer(first);
      json_.integer(std::max(first, end));
      json_.end_array();
      iterations += std::max<std::int64_t>(end - first + 1, 0);
    }
    json_.end_array();
    integer(format::kIterationCount, iterations);
    number(format::kStartedAfterS, phase.started_after_s);
    text(format::kIterationSource, phase.source);
    number(format::kIterationConfidence, phase.confidence);
    text(format::kReason, phase.reason);
    integer(format::kKernelLaunches, phase.kernel_launches);
    integer(format::kGraphLaunches, phase.graph_launches);
    integer(format::kGraphKernels, phase.graph_kernels);
    json_.key(format::kMeasured);
    json_.boolean(phase.is_measured);
    if (run_.phases.size() > 1) {
      json_.key(format::kIterTimeMs);
      json_.begin_array();
      for (std::size_t i = 0; i < run_.iteration_times.size(); ++i) {
        if (phase.has(run_.iteration_times.iteration(i))) json_.number(run_.iteration_times[i]);
      }
      json_.end_array();
    }
    json_.end_object();
  }

  void write_phases() {
    if (run_.phases.empty()) return;
    json_.new_line();
    json_.key(format::kPhases);
    json_.begin_array();
    for (const PhaseRecord& phase : run_.phases)
      write_phase(phase);
    json_.end_array();
  }

  void write_runtime_data() {
    json_.key(format::kRuntimeData);
    json_.begin_array();
    for (const RuntimeData& data : run_.runtime_data) {
      json_.begin_object();
      text(format::kDataName, data.name);
      integer(format::kDeviceId, data.device_id);
      text(format::kStream, hexadecimal(data.stream));
      strings(format::kData, data.data);
      json_.end_object();
    }
    json_.end_array();
  }

  // If overhead was measured, the counts are those of its iterations.
  void write_overhead() {
    const OverheadMeasurement overhead = measure_overhead(run_.overhead_blocks);
    json_.key(format::kOverhead);
    json_.begin_object();
    if (overhead.groups > 0) {
      integer(format::kArmedIterations, overhead.armed_iterations);
      integer(format::kUnarmedIterations, overhead.unarmed_iterations);
    } else {
      count(format::kArmedIterations, run_.armed_iterations);
      count(format::kUnarmedIterations, run_.unarmed_iterations);
    }
    json_.key(format::kSlowdownPercent);
    if (overhead.slowdown_percent) {
      json_.number(*overhead.slowdown_percent);
    } else {
      json_.null();
    }
    json_.key(format::kSlowdownPercentCi95);
    if (overhead.ci95_percent) {
      json_.begin_array();
      json_.number(overhead.ci95_percent->first);
      json_.number(overhead.ci95_percent->second);
      json_.end_array();
    } else {
      json_.null();
    }
    json_.key(format::kIterationsNeeded);
    if (overhead.iterations_needed) {
      json_.integer(*overhead.iterations_needed);
    } else {
      json_.null();
    }
    text(format::kMethod, overhead_method(overhead));
    count(format::kLaunchesSeen, run_.launches_seen);
    count(format::kGraphLaunchesSeen, run_.graph_launches_seen);
    count(format::kHostBytes, run_.host_bytes);
    json_.end_object();
  }

  static std::string overhead_method(const OverheadMeasurement& overhead) {
    if (overhead.slowdown_percent) return "origin events, ABBA blocks";
    if (!overhead.iterations_needed)
      return "not measured: armed and unarmed iterations were not alternated";
    const bool is_one = overhead.groups == 1;
    return "not measured: " + std::to_string(overhead.groups) + (is_one ? " group" : " groups") +
           " of four blocks, armed and not, " + (is_one ? "is" : "are") + " too few; " +
           std::to_string(kFewestGroups) + " are needed";
  }

  void write_dropped() {
    json_.key(format::kDropped);
    json_.begin_object();
    count(format::kRingFull, run_.dropped.ring_full);
    count(format::kNotReadyAtExit, run_.dropped.not_ready_at_exit);
    integer(format::kCudaErrors, static_cast<std::int64_t>(facts_.cuda_errors));
    count(format::kCaptureSkipped, run_.dropped.capture_skipped);
    count(format::kStaleGraph, run_.dropped.stale_graph);
    count(format::kInterleavedLaunch, run_.dropped.interleaved_launch);
    count(format::kIrregularIteration, run_.dropped.irregular_iteration);
    count(format::kDestroyed, run_.dropped.destroyed);
    json_.end_object();
  }

  RunRecord& run_;
  const WriteFacts& facts_;
  JsonWriter json_;
};

}  // namespace

std::string prof_json(RunRecord& run, const WriteFacts& facts) {
  return ProfWriter(run, facts).write();
}

// G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash Algorithm",
// draft-eastlake-fnv: 64-bit offset basis and prime.
std::string event_list_hash(const EventList& events) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    }
    hash = (hash ^ 0xFFU) * 1099511628211ULL;  // "ab","c" differs from "a","bc"
  };
  // Devices by order of appearance: the rank chooses the device, and ranks must agree.
  std::vector<int> devices;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventRecord& event = events[i];
    mix(event.event_name);
    mix(event.layer_name);
    const auto known = std::find(devices.begin(), devices.end(), event.device_id);
    const auto device = static_cast<int>(known - devices.begin());
    if (known == devices.end()) devices.push_back(event.device_id);
    std::array<char, 48> place{};
    std::snprintf(place.data(), place.size(), "%d/%d/%d", event.occurrence, device,
                  event.stream_index);
    mix(place.data());
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

}  // namespace inline_prof::record
