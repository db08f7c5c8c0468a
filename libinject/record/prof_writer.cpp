#include "record/prof_writer.hpp"

#include "record/json_writer.hpp"
#include "record/overhead_measurement.hpp"

#include <inline_prof/prof_format.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

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

// By FoundChange::Of.
constexpr std::array kNamesOfChanged{format::kOfEvent, format::kOfLayer, format::kOfIteration};

std::string hexadecimal(const void* pointer) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  return text.data();
}

class ProfWriter {
 public:
  ProfWriter(RunRecord& run, const WriteFacts& facts) : run_(run), facts_(facts) {}

  [[gnu::cold]] std::string write() {
    json_.reserve(facts_.expected_bytes);
    json_.begin_object();
    write(format::kSchema, format::kSchemaValue);
    write_process();
    write_profiler();
    write_devices();
    begin(format::kLibraries);
    for (const auto& [name, version] : facts_.libraries) {
      json_.key(name);
      json_.text(version);
    }
    json_.end_object();
    write_calibrations();
    json_.new_line();
    write_iteration_times([](std::int64_t) { return true; });
    write_phases();
    begin(format::kEvents);
    for (const EventRecord& event : run_.events) {
      if (event.phase != run_.phase_in_making) write_event(event);
    }
    json_.end_array();
    json_.new_line();
    write_runtime_data();
    if (facts_.cross_check) write_cross_check(*facts_.cross_check);
    write_overhead();
    write_dropped();
    if (run_.watch) write_history(*run_.watch);
    std::vector<std::string> not_seen = run_.not_seen;
    not_seen.insert(not_seen.end(), facts_.not_seen.begin(), facts_.not_seen.end());
    write(format::kNotSeen, not_seen);
    write(format::kWarnings, run_.warnings);
    json_.end_object();
    json_.new_line();
    return json_.take();
  }

 private:
  template <typename Value, typename Given>
  void write(const format::Field<Value>& field, const Given& given) {
    json_.key(field.key);
    json_.value<Value>(given);
  }
  void write(const format::Field<format::Count>& field, const std::atomic<std::uint64_t>& count) {
    write(field, count.load(std::memory_order_relaxed));
  }
  template <typename Value, typename Given>
  void write_if(const format::Field<Value>& field, const std::optional<Given>& given) {
    if (given) write(field, *given);
  }
  template <typename Value>
  void begin(const format::Field<Value>& field) {
    json_.key(field.key);
    if constexpr (format::kIsList<Value>) {
      json_.begin_array();
    } else {
      json_.begin_object();
    }
  }

  void write_process() {
    write(format::kHostName, run_.host_name);
    write_if(format::kRank, run_.rank);
    write_if(format::kWorldSize, run_.world_size);
    write_if(format::kLocalRank, run_.local_rank);
    write(format::kProcessId, facts_.process_id);
    write(format::kCommand, run_.command);
    write(format::kStartedAt, run_.started_at);
    write(format::kComplete, facts_.complete);
    if (facts_.simulated) write(format::kSimulated, true);
  }

  void write_profiler() {
    namespace profiler = format::profiler;
    json_.new_line();
    begin(format::kProfiler);
    write(profiler::kVersion, INLINE_PROF_VERSION);
    write(profiler::kMode, run_.mode);
    write(profiler::kPolicy, run_.policy);
    write(profiler::kBackend, run_.backend);
    write(profiler::kSchedule, run_.schedule);
    write(profiler::kWarmupIterations, run_.warmup);
    write(profiler::kRepeat, run_.repeat);
    write(profiler::kIterationSource, run_.iteration_source);
    write(profiler::kIterationConfidence, facts_.iteration_confidence);
    // Left out if the period was given up.
    const bool is_period = run_.iteration_source != "none";
    if (is_period && run_.iteration_launches > 0)
      write(profiler::kIterationLaunches, run_.iteration_launches);
    if (is_period && run_.other_period > 0) write(profiler::kOtherPeriod, run_.other_period);
    write(profiler::kEventListHash, event_list_hash(run_.events));
    json_.end_object();
  }

  void write_devices() {
    namespace devices = format::devices;
    json_.new_line();
    begin(format::kDevices);
    for (const DeviceInfo& device : run_.devices) {
      json_.begin_object();
      write(devices::kDeviceId, device.device_id);
      write(devices::kName, device.name);
      write(devices::kUuid, device.uuid);
      write(devices::kSmCount, device.sm_count);
      write(devices::kComputeCapability, device.compute_capability);
      write(devices::kMemoryBytes, device.memory_bytes);
      write(devices::kL2Bytes, device.l2_bytes);
      write(devices::kSmClockKhz, device.sm_clock_khz);
      write(devices::kMemoryClockKhz, device.memory_clock_khz);
      write(devices::kDriverVersion, device.driver_version);
      write(devices::kCudaVersion, device.cuda_version);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_distribution(const format::Field<format::Nullable<format::Object>>& field,
                          const std::optional<Distribution>& values) {
    if (!values) return;
    begin(field);
    write(format::distribution::kMedian, values->median_us);
    write(format::distribution::kP05, values->p05_us);
    write(format::distribution::kP95, values->p95_us);
    write(format::distribution::kCount, values->count);
    json_.end_object();
  }

  void write_calibrations() {
    json_.new_line();
    begin(format::kCalibration);
    for (const Calibration& calibration : run_.calibrations) {
      json_.begin_object();
      write(format::calibration::kDeviceId, calibration.device_id);
      write(format::calibration::kState, calibration.state);
      write_distribution(format::calibration::kEmptyPairUs, calibration.empty_pair);
      write_distribution(format::calibration::kEmptyKernelPairUs, calibration.empty_kernel_pair);
      write_distribution(format::calibration::kAddedKernelUs, calibration.added_kernel);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_launch_shape(const LaunchShape& shape) {
    write(format::events::kGrid, shape.grid);
    write(format::events::kBlock, shape.block);
    write(format::events::kCluster, shape.cluster);
    write(format::events::kStaticSharedBytes, shape.static_shared_bytes);
    write(format::events::kDynamicSharedBytes, shape.dynamic_shared_bytes);
    write(format::events::kRegisters, shape.registers);
    write(format::events::kMaxBlocksPerSm, shape.max_blocks_per_sm);
  }

  void write_op(const Op& op) {
    begin(format::events::kOp);
    write(format::op::kKind, op.kind);
    for (const auto& [name, value] : op.attributes) {
      json_.key(name);
      std::visit([this](const auto& each) { json_.value<std::decay_t<decltype(each)>>(each); },
                 value);
    }
    write(format::op::kSource, op.source);
    json_.end_object();
  }

  // Leaves the list out if no thread has waited.
  void write_after_wait(std::span<const Sample> samples) {
    const auto has_waited = [](const Sample& sample) { return sample.after_wait_us >= 0; };
    if (std::ranges::none_of(samples, has_waited)) return;
    write_column(format::events::kAfterWaitUs, samples, [&](const Sample& sample) {
      return has_waited(sample) ? std::optional(sample.after_wait_us) : std::nullopt;
    });
  }

  // The original profiler left these lists empty where no extra information was given.
  void extra_infos(const format::Field<format::List<format::Text>>& field,
                   std::span<const Sample> samples, std::string ExtraInfos::*info) {
    const auto text_of = [info](const Sample& sample) {
      return sample.extra ? std::string_view((*sample.extra).*info) : std::string_view();
    };
    const bool any = std::ranges::any_of(
        samples, [&](const Sample& sample) { return !text_of(sample).empty(); });
    write_column(field, any ? samples : std::span<const Sample>(), text_of);
  }

  void write_cross_check(const CrossCheck& check) {
    begin(format::kCrossCheck);
    write(format::cross_check::kSource, "cupti");
    write(format::cross_check::kVersion, check.version);
    write(format::cross_check::kLaunches, check.launches);
    write(format::cross_check::kLaunchesSeenByUs, run_.launches_seen);
    write(format::cross_check::kDroppedRecords, check.dropped_records);
    json_.end_object();
  }

  void write_event(const EventRecord& event) {
    namespace events = format::events;
    json_.new_line();
    json_.begin_object();
    write(events::kEventName, event.event_name);
    write(events::kLayerName, event.layer_name);
    if (!run_.phases.empty()) write(events::kPhase, event.phase);
    if (!event.class_name.empty()) write(events::kClass, event.class_name);
    write(events::kKernelName, event.kernel_names.empty() ? "" : event.kernel_names.front());
    write(events::kKernelNames, event.kernel_names);
    write(events::kDeviceId, event.device_id);
    write(events::kStream, hexadecimal(event.stream));
    write(events::kStreamIndex, event.stream_index);
    write(events::kStartIndex, event.start_index);
    // A label that was open when the application ended in the warm-up has no end yet.
    write(events::kEndIndex, std::max(event.end_index, event.start_index));
    write(events::kMetTimesWithinThisStream, event.occurrence);
    write(events::kCalls, event.calls);
    if (event.shape) write_launch_shape(*event.shape);
    write(events::kInCudaGraph, event.is_inside_graph() || event.has(Flag::kRecaptured));
    begin(events::kFlags);
    for (const auto& [flag, word] : kFlagWords) {
      if (event.has(flag)) json_.text(word);
    }
    if (event.has_other_grids.load(std::memory_order_relaxed)) json_.text(format::kFlagOtherGrids);
    json_.end_array();
    if (!event.reason.empty()) write(events::kReason, event.reason);
    if (event.op) write_op(*event.op);

    const auto samples = event.samples();
    write_column(events::kMeasuredTimesMs, samples, &Sample::measured_ms);
    write_column(events::kIterStartToEventStartTimesMs, samples, &Sample::offset_ms);
    write_column(events::kIterations, samples, &Sample::iteration);
    write_column(events::kTight, samples, [](const Sample& sample) {
      return sample.tight < 0 ? std::nullopt : std::optional(sample.tight == 1);
    });
    write_after_wait(samples);
    if (facts_.cross_check) {
      write_column(events::kCrossCheckTimesUs, samples, [&](const Sample& sample) {
        const auto seen = facts_.cross_check->times_us.find(sample.correlation_id);
        return seen == facts_.cross_check->times_us.end() ? std::nullopt
                                                          : std::optional(seen->second);
      });
    }
    extra_infos(events::kExtraInfosStart, samples, &ExtraInfos::start);
    extra_infos(events::kExtraInfosStop, samples, &ExtraInfos::stop);
    if (event.history) write_bins(events::kHistory, *event.history);
    json_.end_object();
  }

  template <typename IsWanted>
  void write_iteration_times(IsWanted is_wanted) {
    begin(format::kIterTimeMs);
    for (std::size_t i = 0; i < run_.iteration_times.size(); ++i) {
      if (is_wanted(run_.iteration_times.iteration(i))) json_.number(run_.iteration_times[i]);
    }
    json_.end_array();
  }

  // The times of a single phase are those of the run.
  void write_phase(const PhaseRecord& phase) {
    namespace phases = format::phases;
    json_.new_line();
    json_.begin_object();
    std::int64_t iterations = -phase.passes_left_out;
    std::vector<std::array<std::int64_t, 2>> stretches;
    for (const auto& [first, last] : phase.stretches) {
      const std::int64_t end = last < first ? run_.last_iteration.load() : last;
      stretches.push_back({first, std::max(first, end)});
      iterations += std::max<std::int64_t>(end - first + 1, 0);
    }
    write(phases::kStretches, stretches);
    write(phases::kIterations, std::max<std::int64_t>(iterations, 0));
    write(phases::kStartedAfterS, phase.started_after_s);
    write(phases::kIterationSource, phase.source);
    write(phases::kIterationConfidence, phase.confidence);
    write(phases::kReason, phase.reason);
    write(phases::kKernelLaunches, phase.kernel_launches);
    write(phases::kGraphLaunches, phase.graph_launches);
    write(phases::kGraphKernels, phase.graph_kernels);
    write(phases::kMeasured, phase.is_measured);
    if (run_.phases.size() > 1)
      write_iteration_times([&](std::int64_t iteration) { return phase.has(iteration); });
    json_.end_object();
  }

  void write_phases() {
    if (run_.phases.empty()) return;
    json_.new_line();
    begin(format::kPhases);
    for (const PhaseRecord& phase : run_.phases)
      write_phase(phase);
    json_.end_array();
  }

  void write_runtime_data() {
    begin(format::kRuntimeData);
    for (const RuntimeData& data : run_.runtime_data) {
      json_.begin_object();
      write(format::runtime_data::kDataName, data.name);
      write(format::runtime_data::kDeviceId, data.device_id);
      write(format::runtime_data::kStream, hexadecimal(data.stream));
      write(format::runtime_data::kData, data.data);
      json_.end_object();
    }
    json_.end_array();
  }

  // If overhead was measured, the counts are those of its iterations.
  void write_overhead() {
    namespace fields = format::overhead;
    const OverheadMeasurement overhead = measure_overhead(run_.overhead_blocks);
    begin(format::kOverhead);
    if (overhead.groups > 0) {
      write(fields::kArmedIterations, overhead.armed_iterations);
      write(fields::kUnarmedIterations, overhead.unarmed_iterations);
    } else {
      write(fields::kArmedIterations, run_.armed_iterations);
      write(fields::kUnarmedIterations, run_.unarmed_iterations);
    }
    write(fields::kSlowdownPercent, overhead.slowdown_percent);
    std::optional<std::array<double, 2>> ci95;
    if (overhead.ci95_percent) ci95 = {overhead.ci95_percent->first, overhead.ci95_percent->second};
    write(fields::kSlowdownPercentCi95, ci95);
    write(fields::kIterationsNeeded, overhead.iterations_needed);
    write(fields::kMethod, overhead_method(overhead));
    write(fields::kLaunchesSeen, run_.launches_seen);
    write(fields::kGraphLaunchesSeen, run_.graph_launches_seen);
    write(fields::kHostBytes, run_.host_bytes);
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
    begin(format::kDropped);
    write(format::dropped::kRingFull, run_.dropped.ring_full);
    write(format::dropped::kNotReadyAtExit, run_.dropped.not_ready_at_exit);
    write(format::dropped::kCudaErrors, facts_.cuda_errors);
    write(format::dropped::kCaptureSkipped, run_.dropped.capture_skipped);
    write(format::dropped::kStaleGraph, run_.dropped.stale_graph);
    write(format::dropped::kInterleavedLaunch, run_.dropped.interleaved_launch);
    write(format::dropped::kIrregularIteration, run_.dropped.irregular_iteration);
    write(format::dropped::kDestroyed, run_.dropped.destroyed);
    json_.end_object();
  }

  // Each column is a list with one element for each sample, bin or reading.
  template <typename Value, typename Rows, typename ValueOf>
  void write_column(const format::Field<format::List<Value>>& field, const Rows& rows,
                    ValueOf value_of) {
    begin(field);
    for (const auto& row : rows)
      json_.value<Value>(std::invoke(value_of, row));
    json_.end_array();
  }

  void write_bins(const format::Field<format::Object>& field, const watch::History& history) {
    namespace bins = format::bins;
    const auto& all = history.bins();
    begin(field);
    write_column(bins::kStartS, all, &watch::Bin::start_s);
    write_column(bins::kEndS, all, &watch::Bin::end_s);
    write_column(bins::kFirstIteration, all, &watch::Bin::first_iteration);
    write_column(bins::kLastIteration, all, &watch::Bin::last_iteration);
    write_column(bins::kFirstBucket, all, [](const watch::Bin& bin) {
      return static_cast<std::int64_t>(bin.sketch.first_bucket());
    });
    write_column(
        bins::kCounts, all,
        [](const watch::Bin& bin) -> const auto& { return bin.sketch.counts(); });
    json_.end_object();
  }

  // Gives the value of a reading; none where it is not known.
  template <typename Value>
  static auto known(double watch::MachineReading::*value) {
    return [value](const watch::MachineReading& reading) {
      const double known = reading.*value;
      return std::isnan(known) ? std::nullopt : std::optional(static_cast<Value>(known));
    };
  }

  void write_machine(const MachineHistory& history) {
    namespace machine = format::machine;
    using Reading = watch::MachineReading;
    const auto all = history.readings.readings();
    json_.new_line();
    json_.begin_object();
    write(machine::kDeviceId, history.device_id);
    write_column(machine::kTimeS, all, &Reading::time_s);
    write_column(machine::kSmClockMhz, all, known<double>(&Reading::sm_clock_mhz));
    write_column(machine::kMemoryClockMhz, all, known<double>(&Reading::memory_clock_mhz));
    write_column(machine::kPowerW, all, known<double>(&Reading::power_w));
    write_column(machine::kTemperatureC, all, known<double>(&Reading::temperature_c));
    write_column(machine::kThrottleReasons, all, known<std::int64_t>(&Reading::throttle_reasons));
    write_column(machine::kEccErrors, all, known<std::int64_t>(&Reading::ecc_errors));
    write_column(machine::kNvlinkErrors, all, known<std::int64_t>(&Reading::nvlink_errors));
    json_.end_object();
  }

  // Returns the event's place in the file's list; below 0 if it is not in it any more.
  [[nodiscard]] std::int64_t place_of(const EventRecord* wanted) const {
    std::int64_t place = 0;
    for (const EventRecord& event : run_.events) {
      if (event.phase == run_.phase_in_making) continue;
      if (&event == wanted) return place;
      ++place;
    }
    return -1;
  }

  void write_change(const FoundChange& found) {
    namespace changes = format::changes;
    const std::int64_t place = found.event == nullptr ? -1 : place_of(found.event);
    if (found.of == FoundChange::Of::kEvent && place < 0) return;
    json_.new_line();
    json_.begin_object();
    write(changes::kOf, kNamesOfChanged[static_cast<std::size_t>(found.of)]);
    if (place >= 0) write(changes::kEvent, place);
    if (!found.layer_name.empty()) write(changes::kLayerName, found.layer_name);
    write(changes::kDeviceId, found.device_id);
    write(changes::kBeganS, found.change.began_s);
    write(changes::kDetectedS, found.change.detected_s);
    write(changes::kBeganIteration, found.change.began_iteration);
    write(changes::kBeforeUs, found.change.before_ns * 1e-3);
    write(changes::kAfterUs, found.change.after_ns * 1e-3);
    write(changes::kRatio, found.change.ratio);
    write(changes::kRatioCi95, std::array{found.change.ratio_low, found.change.ratio_high});
    write(changes::kReason, found.reason);
    json_.end_object();
  }

  void write_history(const WatchRecord& watch) {
    namespace history = format::history;
    json_.new_line();
    begin(format::kHistory);
    write(history::kBudget, watch.budget);
    write(history::kSeed, watch.seed);
    write(history::kFalseAlarmsPerMonth, watch.false_alarms_per_month);
    write(history::kRelativeError, watch::QuantileSketch::kRelativeError);
    write(history::kStartedS, watch.started_s);
    write(history::kUntilS, watch.until_s);
    write(history::kPairs, watch.pairs);
    write(history::kPairCostUs,
          watch.pair_cost_us > 0 ? std::optional(watch.pair_cost_us) : std::nullopt);
    write(history::kCostShare, watch.cost_share);
    write_bins(history::kIteration, watch.iteration);
    begin(history::kMachine);
    for (const MachineHistory& each : watch.machine)
      write_machine(each);
    json_.end_array();
    begin(history::kChanges);
    for (const FoundChange& found : watch.changes)
      write_change(found);
    json_.end_array();
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
    for (const char byte : bytes)
      hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    hash = (hash ^ 0xFFU) * 1099511628211ULL;  // "ab","c" differs from "a","bc"
  };
  // Devices count by order of appearance: the rank chooses the device, and ranks must agree.
  std::vector<int> devices;
  for (const EventRecord& event : events) {
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
