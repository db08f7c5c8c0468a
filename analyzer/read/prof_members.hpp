// The members of prof.json, one table an object.  Types are checked here; what needs more than one
// member (generations, lengths, ranges) is checked in prof_reader.cpp.
#pragma once

#include "read/members.hpp"
#include "read/op_reader.hpp"
#include "read/profile.hpp"
#include "read/wanted.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <vector>

namespace inline_prof::read {

template <typename Node>
[[nodiscard]] std::vector<std::string> read_texts(const Node& node) {
  std::vector<std::string> texts;
  node.each_element([&](Node& element) { texts.push_back(element.text()); });
  return texts;
}

template <typename Node>
[[nodiscard]] std::array<std::int64_t, 3> read_dim3(const Node& node) {
  std::array<std::int64_t, 3> sizes{};
  std::size_t count = 0;
  node.each_element([&](Node& element) {
    if (count == sizes.size()) element.fail("expected 3 numbers, found more");
    sizes[count++] = element.count();
  });
  if (count != sizes.size()) node.fail(fmt::format("expected 3 numbers, found {}", count));
  return sizes;
}

template <typename Node>
[[nodiscard]] std::vector<Tight> read_tight(const Node& node) {
  return read_list<Tight>(node, [](Node& element) {
    if (element.is_null()) return Tight::kUnknown;
    return element.boolean() ? Tight::kYes : Tight::kNo;
  });
}

template <typename Node>
[[nodiscard]] std::vector<double> read_numbers(const Node& node) {
  return read_list<double>(node, [](Node& element) { return element.number(); });
}

// NaN for null: an offset that the injected library could not take.
template <typename Node>
[[nodiscard]] std::vector<double> read_offsets(const Node& node) {
  return read_list<double>(node, [](Node& element) {
    return element.is_null() ? std::numeric_limits<double>::quiet_NaN() : element.number();
  });
}

template <typename Node>
[[nodiscard]] std::vector<std::int64_t> read_counts(const Node& node) {
  return read_list<std::int64_t>(node, [](Node& element) { return element.count(); });
}

// Adds a member of an object whose keys are free.
template <typename Node, typename Value>
void add_unique(std::vector<std::pair<std::string, Value>>& members, std::string_view key,
                const Node& node, Value value) {
  for (const auto& [own, ignored] : members) {
    if (own == key) node.fail(kAppearsTwice);
  }
  members.emplace_back(key, std::move(value));
}

// A member that may be null: not known.
template <typename Node, typename Read>
auto read_optional(Node& node, Read read) -> std::optional<decltype(read(node))> {
  if (node.is_null()) return std::nullopt;
  return read(node);
}

// Empty for null, for {} and for a median of null: nothing was measured.
template <typename Node>
[[nodiscard]] std::optional<Distribution> read_distribution(Node& node) {
  struct Found {
    Distribution distribution;
    std::optional<double> median;
  };
  using M = Member<Node, Found>;
  static constexpr auto number_of = [](Node& v) { return v.number(); };
  static constexpr std::array members{
      M{format::kMedian, [](Node& v, Found& f) { f.median = read_optional(v, number_of); }},
      M{format::kP05, [](Node& v, Found& f) { f.distribution.p05 = read_optional(v, number_of); }},
      M{format::kP95, [](Node& v, Found& f) { f.distribution.p95 = read_optional(v, number_of); }},
      M{format::kCount, [](Node& v, Found& f) { f.distribution.count = v.count(); }},
  };
  if (node.is_null()) return std::nullopt;
  Found found;
  const Seen seen = read_members(node, members, found);
  if (!found.median) return std::nullopt;
  if (has(members, seen, format::kCount) && found.distribution.count == 0) return std::nullopt;
  if (*found.median < 0) node.fail(fmt::format("expected a median >= 0, found {}", *found.median));
  found.distribution.median = *found.median;
  return found.distribution;
}

template <typename Node>
[[nodiscard]] PairState read_pair_state(const Node& node) {
  const std::string state = node.text();
  if (state == format::kStateBusy) return PairState::kBusy;
  if (state == format::kStateIdle) return PairState::kIdle;
  if (state == format::kStateGraph) return PairState::kGraph;
  node.fail(fmt::format("expected \"busy\", \"idle\" or \"graph\", found \"{}\"", state));
}

template <typename Node>
[[nodiscard]] Calibration read_calibration(const Node& node) {
  using M = Member<Node, Calibration>;
  static constexpr std::array members{
      M{format::kDeviceId, [](Node& v, Calibration& c) { c.device_id = v.count(); }},
      M{format::kState, [](Node& v, Calibration& c) { c.state = read_pair_state(v); }},
      M{format::kEmptyPairUs,
        [](Node& v, Calibration& c) { c.empty_pair_us = read_distribution(v); }},
      M{format::kEmptyKernelPairUs,
        [](Node& v, Calibration& c) { c.empty_kernel_pair_us = read_distribution(v); }},
      M{format::kAddedKernelUs,
        [](Node& v, Calibration& c) { c.added_kernel_us = read_distribution(v); }},
  };
  Calibration calibration;
  const Seen seen = read_members(node, members, calibration);
  for (const char* key : {format::kDeviceId, format::kState}) {
    if (!has(members, seen, key)) node.fail(fmt::format("missing \"{}\"", key));
  }
  return calibration;
}

template <typename Node>
[[nodiscard]] Device read_device(const Node& node) {
  using M = Member<Node, Device>;
  static constexpr std::array members{
      M{format::kDeviceId, [](Node& v, Device& d) { d.device_id = v.count(); }},
      M{format::kName, [](Node& v, Device& d) { d.name = v.text(); }},
      M{format::kUuid, [](Node& v, Device& d) { d.uuid = v.text(); }},
      M{format::kSmCount, [](Node& v, Device& d) { d.sm_count = v.count(); }},
      M{format::kComputeCapability, [](Node& v, Device& d) { d.compute_capability = v.text(); }},
      M{format::kMemoryBytes, [](Node& v, Device& d) { d.memory_bytes = v.count(); }},
      M{format::kL2Bytes, [](Node& v, Device& d) { d.l2_bytes = v.count(); }},
      M{format::kSmClockKhz, [](Node& v, Device& d) { d.sm_clock_khz = v.count(); }},
      M{format::kMemoryClockKhz, [](Node& v, Device& d) { d.memory_clock_khz = v.count(); }},
      M{format::kMig, [](Node& v, Device& d) { d.mig = !v.is_null() && v.boolean(); }},
      M{format::kMpsPercent,
        [](Node& v, Device& d) {
          d.mps_percent = read_optional(v, [](Node& n) { return n.number(); });
        }},
      M{format::kDriverVersion, [](Node& v, Device& d) { d.driver_version = v.text(); }},
      M{format::kCudaVersion, [](Node& v, Device& d) { d.cuda_version = v.text(); }},
  };
  Device device;
  const Seen seen = read_members(node, members, device);
  if (!has(members, seen, format::kDeviceId)) node.fail("missing \"device_id\"");
  return device;
}

template <typename Node>
[[nodiscard]] ProfilerInfo read_profiler(const Node& node) {
  using M = Member<Node, ProfilerInfo>;
  static constexpr std::array members{
      M{format::kVersion, [](Node& v, ProfilerInfo& p) { p.version = v.text(); }},
      M{format::kMode, [](Node& v, ProfilerInfo& p) { p.mode = v.text(); }},
      M{format::kPolicy, [](Node& v, ProfilerInfo& p) { p.policy = v.text(); }},
      M{format::kBackend, [](Node& v, ProfilerInfo& p) { p.backend = v.text(); }},
      M{format::kSchedule,
        [](Node& v, ProfilerInfo& p) {
          if (!v.is_null()) p.schedule = v.text();
        }},
      M{format::kWarmupIterations,
        [](Node& v, ProfilerInfo& p) { p.warmup_iterations = v.count(); }},
      M{format::kRepeat, [](Node& v, ProfilerInfo& p) { p.repeat = v.count(); }},
      M{format::kIterationSource,
        [](Node& v, ProfilerInfo& p) {
          if (!v.is_null()) p.iteration_source = v.text();
        }},
      M{format::kIterationConfidence,
        [](Node& v, ProfilerInfo& p) {
          p.iteration_confidence = read_optional(v, [](Node& n) { return n.number(); });
        }},
      M{format::kIterationLaunches,
        [](Node& v, ProfilerInfo& p) { p.iteration_launches = v.count(); }},
      M{format::kOtherPeriod, [](Node& v, ProfilerInfo& p) { p.other_period = v.count(); }},
      M{format::kEventListHash, [](Node& v, ProfilerInfo& p) { p.event_list_hash = v.text(); }},
  };
  ProfilerInfo profiler;
  read_members(node, members, profiler);
  return profiler;
}

template <typename Node>
[[nodiscard]] std::pair<std::int64_t, std::int64_t> read_stretch(const Node& node) {
  std::vector<std::int64_t> ends;
  node.each_element([&](Node& end) { ends.push_back(end.count()); });
  if (ends.size() != 2 || ends[1] < ends[0]) node.fail("expected a first and a last iteration");
  return {ends[0], ends[1]};
}

template <typename Node>
[[nodiscard]] Phase read_phase(const Node& node) {
  using M = Member<Node, Phase>;
  static constexpr std::array members{
      M{format::kStretches,
        [](Node& v, Phase& p) {
          v.each_element([&](Node& n) { p.stretches.push_back(read_stretch(n)); });
        }},
      M{format::kIterationCount, [](Node& v, Phase& p) { p.iterations = v.count(); }},
      M{format::kIterationSource, [](Node& v, Phase& p) { p.iteration_source = v.text(); }},
      M{format::kIterationConfidence,
        [](Node& v, Phase& p) {
          p.iteration_confidence = read_optional(v, [](Node& n) { return n.number(); });
        }},
      M{format::kReason, [](Node& v, Phase& p) { p.reason = v.text(); }},
      M{format::kKernelLaunches, [](Node& v, Phase& p) { p.kernel_launches = v.count(); }},
      M{format::kGraphLaunches, [](Node& v, Phase& p) { p.graph_launches = v.count(); }},
      M{format::kGraphKernels, [](Node& v, Phase& p) { p.graph_kernels = v.count(); }},
      M{format::kMeasured, [](Node& v, Phase& p) { p.measured = v.boolean(); }},
      M{format::kIterTimeMs, [](Node& v, Phase& p) { p.iter_time_ms = read_numbers(v); }},
  };
  Phase phase;
  read_members(node, members, phase);
  return phase;
}

template <typename Node>
[[nodiscard]] Overhead read_overhead(const Node& node) {
  using M = Member<Node, Overhead>;
  static constexpr std::array members{
      M{format::kArmedIterations, [](Node& v, Overhead& o) { o.armed_iterations = v.count(); }},
      M{format::kUnarmedIterations, [](Node& v, Overhead& o) { o.unarmed_iterations = v.count(); }},
      M{format::kSlowdownPercent,
        [](Node& v, Overhead& o) {
          o.slowdown_percent = read_optional(v, [](Node& n) { return n.number(); });
        }},
      M{format::kSlowdownPercentCi95,
        [](Node& v, Overhead& o) {
          if (v.is_null()) return;
          std::vector<double> ends;
          v.each_element([&](Node& end) {
            if (!end.is_null()) ends.push_back(end.number());
          });
          if (ends.empty()) return;
          if (ends.size() != 2 || ends[0] > ends[1]) v.fail("expected [lower, upper] or null");
          o.slowdown_percent_ci95 = {ends[0], ends[1]};
        }},
      M{format::kIterationsNeeded,
        [](Node& v, Overhead& o) {
          o.iterations_needed = read_optional(v, [](Node& n) { return n.count(); });
        }},
      M{format::kMethod, [](Node& v, Overhead& o) { o.method = v.text(); }},
      M{format::kLaunchesSeen, [](Node& v, Overhead& o) { o.launches_seen = v.count(); }},
      M{format::kHostBytes, [](Node& v, Overhead& o) { o.host_bytes = v.count(); }},
  };
  Overhead overhead;
  read_members(node, members, overhead);
  return overhead;
}

template <typename Node>
[[nodiscard]] RuntimeData read_runtime_data(const Node& node) {
  using M = Member<Node, RuntimeData>;
  static constexpr std::array members{
      M{format::kDataName, [](Node& v, RuntimeData& r) { r.name = v.text(); }},
      M{format::kDeviceId, [](Node& v, RuntimeData& r) { r.device_id = v.count(); }},
      M{format::kStream, [](Node& v, RuntimeData& r) { r.stream = v.text(); }},
      M{format::kData, [](Node& v, RuntimeData& r) { r.data = read_texts(v); }},
  };
  RuntimeData data;
  read_members(node, members, data);
  return data;
}

// What an event's members say beside the event: its name stands under one key in generation 1 and
// under another one later, and which generation a file is may be known at its end only.
struct EventFacts {
  bool has_name = false;
  bool has_occurrence = false;
  bool has_first_name = false;  // under the key of generation 1
  bool has_first_occurrence = false;
  const char* missing = nullptr;  // the first required member, of all generations, that is absent
};

// `wanted` kWithoutOffsets leaves Event::offsets_ms empty and does not look into that list.
template <typename Node>
[[nodiscard]] EventFacts read_event(const Node& node, Event& event, Wanted wanted = Wanted::kAll) {
  using M = Member<Node, Event>;
  static constexpr std::array members{
      M{format::kMeasuredTimesMs, [](Node& v, Event& e) { e.measured_ms = read_numbers(v); }},
      M{format::kIterStartToEventStartTimesMs,
        [](Node& v, Event& e) { e.offsets_ms = read_offsets(v); }},
      M{format::kIterations, [](Node& v, Event& e) { e.iterations = read_counts(v); }},
      M{format::kTight, [](Node& v, Event& e) { e.tight = read_tight(v); }},
      M{format::kAfterWaitUs, [](Node& v, Event& e) { e.after_wait_us = read_offsets(v); }},
      M{format::kEventName, [](Node& v, Event& e) { e.name = v.text(); }},
      M{format::kName,
        [](Node& v, Event& e) {
          const std::string name = v.text();
          if (e.name.empty()) e.name = name;  // "event_name" wins, in either order
        }},
      M{format::kLayerName, [](Node& v, Event& e) { e.layer = v.text(); }},
      M{format::kPhase, [](Node& v, Event& e) { e.phase = static_cast<std::size_t>(v.count()); }},
      M{format::kClass, [](Node& v, Event& e) { e.event_class = v.text(); }},
      M{format::kKernelName, [](Node& v, Event& e) { e.kernel_name = v.text(); }},
      M{format::kKernelNames, [](Node& v, Event& e) { e.kernel_names = read_texts(v); }},
      M{format::kDeviceId, [](Node& v, Event& e) { e.device_id = v.count(); }},
      M{format::kStream, [](Node& v, Event& e) { e.stream = v.text(); }},
      M{format::kStreamIndex, [](Node& v, Event& e) { e.stream_index = v.count(); }},
      M{format::kStartIndex, [](Node& v, Event& e) { e.start_index = v.count(); }},
      M{format::kEndIndex, [](Node& v, Event& e) { e.end_index = v.count(); }},
      M{format::kMetTimesWithinThisStream, [](Node& v, Event& e) { e.occurrence = v.count(); }},
      M{format::kGeneration1Occurrence, [](Node& v, Event& e) { e.occurrence = v.count(); }},
      M{format::kCalls, [](Node& v, Event& e) { e.calls = v.count(); }},
      M{format::kInCudaGraph, [](Node& v, Event& e) { e.in_cuda_graph = v.boolean(); }},
      M{format::kFlags, [](Node& v, Event& e) { e.flags = read_texts(v); }},
      M{format::kReason, [](Node& v, Event& e) { e.reason = v.text(); }},
      M{format::kOp,
        [](Node& v, Event& e) {
          if (!v.is_null()) e.op = read_op(v);
        }},
      M{format::kGrid, [](Node& v, Event& e) { e.launch.grid = read_dim3(v); }},
      M{format::kBlock, [](Node& v, Event& e) { e.launch.block = read_dim3(v); }},
      M{format::kCluster, [](Node& v, Event& e) { e.launch.cluster = read_dim3(v); }},
      M{format::kStaticSharedBytes,
        [](Node& v, Event& e) { e.launch.static_shared_bytes = v.count(); }},
      M{format::kDynamicSharedBytes,
        [](Node& v, Event& e) { e.launch.dynamic_shared_bytes = v.count(); }},
      M{format::kRegisters, [](Node& v, Event& e) { e.launch.registers = v.count(); }},
      M{format::kMaxBlocksPerSm, [](Node& v, Event& e) { e.launch.max_blocks_per_sm = v.count(); }},
      M{format::kExtraInfosStart, [](Node& v, Event& e) { e.extra_infos_start = read_texts(v); }},
      M{format::kExtraInfosStop, [](Node& v, Event& e) { e.extra_infos_stop = read_texts(v); }},
  };
  static constexpr auto without_offsets = [] {
    auto rest = members;
    for (M& member : rest) {
      if (member.key == format::kIterStartToEventStartTimesMs) member.read = [](Node&, Event&) {};
    }
    return rest;
  }();
  const Seen seen = read_members(node, wanted == Wanted::kAll ? members : without_offsets, event);
  EventFacts facts;
  facts.has_name = has(members, seen, format::kEventName);
  facts.has_occurrence = has(members, seen, format::kMetTimesWithinThisStream);
  facts.has_first_name = has(members, seen, format::kName);
  facts.has_first_occurrence = has(members, seen, format::kGeneration1Occurrence);
  for (const char* key : {format::kDeviceId, format::kStream, format::kStartIndex,
                          format::kEndIndex, format::kMeasuredTimesMs}) {
    if (facts.missing == nullptr && !has(members, seen, key)) facts.missing = key;
  }
  return facts;
}

// A whole file, before its generation is known and its members are held against each other.
struct FoundProfile {
  Profile profile;
  std::optional<std::string> schema;
  std::vector<EventFacts> facts;  // of each event
  bool has_events = false;
  bool has_iter_time_ms = false;
};

template <typename Node>
[[nodiscard]] FoundProfile read_document(const Node& root) {
  using F = FoundProfile;
  using M = Member<Node, FoundProfile>;
  static constexpr std::array members{
      M{format::kSchema, [](Node& v, F& f) { f.schema = v.text(); }},
      M{format::kHostName, [](Node& v, F& f) { f.profile.host_name = v.text(); }},
      M{format::kRank,
        [](Node& v, F& f) {
          f.profile.rank = read_optional(v, [](Node& n) { return n.count(); });
        }},
      M{format::kWorldSize,
        [](Node& v, F& f) {
          f.profile.world_size = read_optional(v, [](Node& n) { return n.count(); });
        }},
      M{format::kLocalRank,
        [](Node& v, F& f) {
          f.profile.local_rank = read_optional(v, [](Node& n) { return n.count(); });
        }},
      M{format::kProcessId, [](Node& v, F& f) { f.profile.process_id = v.count(); }},
      M{format::kCommand, [](Node& v, F& f) { f.profile.command = v.text(); }},
      M{format::kStartedAt, [](Node& v, F& f) { f.profile.started_at = v.text(); }},
      M{format::kComplete, [](Node& v, F& f) { f.profile.complete = v.boolean(); }},
      M{format::kProfiler, [](Node& v, F& f) { f.profile.profiler = read_profiler(v); }},
      M{format::kDevices,
        [](Node& v, F& f) {
          v.each_element([&](Node& n) { f.profile.devices.push_back(read_device(n)); });
        }},
      M{format::kLibraries,
        [](Node& v, F& f) {
          v.each_member([&](std::string_view name, Node& version) {
            add_unique(f.profile.libraries, name, version, version.text());
          });
        }},
      M{format::kCalibration,
        [](Node& v, F& f) {
          v.each_element([&](Node& n) { f.profile.calibration.push_back(read_calibration(n)); });
        }},
      M{format::kIterTimeMs, [](Node& v, F& f) { f.profile.iter_time_ms = read_numbers(v); }},
      M{format::kPhases,
        [](Node& v, F& f) {
          v.each_element([&](Node& n) { f.profile.phases.push_back(read_phase(n)); });
        }},
      M{format::kEvents,
        [](Node& v, F& f) {
          v.each_element(
              [&](Node& n) { f.facts.push_back(read_event(n, f.profile.events.emplace_back())); });
        }},
      M{format::kRuntimeData,
        [](Node& v, F& f) {
          v.each_element([&](Node& n) { f.profile.runtime_data.push_back(read_runtime_data(n)); });
        }},
      M{format::kOverhead,
        [](Node& v, F& f) {
          if (!v.is_null()) f.profile.overhead = read_overhead(v);
        }},
      M{format::kDropped,
        [](Node& v, F& f) {
          v.each_member([&](std::string_view name, Node& count) {
            add_unique(f.profile.dropped, name, count, count.count());
          });
        }},
      M{format::kNotSeen, [](Node& v, F& f) { f.profile.not_seen = read_texts(v); }},
      M{format::kWarnings, [](Node& v, F& f) { f.profile.warnings = read_texts(v); }},
  };
  FoundProfile found;
  const Seen seen = read_members(root, members, found);
  found.has_events = has(members, seen, format::kEvents);
  found.has_iter_time_ms = has(members, seen, format::kIterTimeMs);
  return found;
}

}  // namespace inline_prof::read
