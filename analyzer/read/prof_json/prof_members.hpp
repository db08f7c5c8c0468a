// The members of prof.json, one table an object.  Types are checked here; what needs more than one
// member (generations, lengths, ranges) is checked in prof_json.cpp.
#pragma once

#include "read/members.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace inline_prof::read {

// Returns the value that null in a list is read as.
template <typename Value>
[[nodiscard]] Value null_value() {
  if constexpr (std::is_same_v<Value, double>) return std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_same_v<Value, Tight>) return Tight::kUnknown;
  return {};
}

template <typename Value>
inline constexpr bool kIsMap = false;
template <typename Value>
inline constexpr bool kIsMap<format::Map<Value>> = true;

template <typename Node, typename Value>
void read_object(const Node& node, std::optional<Value>& target) {
  read_object(node, target.emplace());
}

// Reads a value that the file has as a `Value`, one of the types of prof_format.hpp.  Null leaves
// `target` as it is.
template <typename Value, typename Node, typename Target>
void read_value(Node& node, Target& target) {
  if constexpr (format::kIsNullable<Value>) {
    if (!node.is_null()) read_value<typename Value::value_type>(node, target);
  } else if constexpr (std::is_same_v<Value, format::Object>) {
    read_object(node, target);
  } else if constexpr (format::kIsNullable<Target>) {
    read_value<Value>(node, target.emplace());
  } else if constexpr (std::is_same_v<Value, format::Dim3>) {
    std::size_t count = 0;
    node.each_element([&](Node& element) {
      if (count == target.size()) element.fail("expected 3 numbers, found more");
      target[count++] = element.count();
    });
    if (count != target.size()) node.fail(fmt::format("expected 3 numbers, found {}", count));
  } else if constexpr (format::kIsList<Value>) {
    using Element = typename Target::value_type;
    const auto read = [](Node& element) {
      Element value = null_value<Element>();
      read_value<typename Value::value_type>(element, value);
      return value;
    };
    if constexpr (std::is_trivially_copyable_v<Element>) {
      target = read_list<Element>(node, read);
    } else {
      node.each_element([&](Node& element) { target.push_back(read(element)); });
    }
  } else if constexpr (kIsMap<Value>) {
    node.each_member([&](std::string_view key, Node& member) {
      for (const auto& [own, ignored] : target) {
        if (own == key) member.fail(kAppearsTwice);
      }
      target.emplace_back(std::string(key), typename Target::value_type::second_type{});
      read_value<typename Value::mapped_type>(member, target.back().second);
    });
  } else if constexpr (std::is_same_v<Target, Tight>) {
    target = node.boolean() ? Tight::kYes : Tight::kNo;
  } else if constexpr (std::is_same_v<Value, format::Text>) {
    target = node.text();
  } else if constexpr (std::is_same_v<Value, format::Real>) {
    target = node.number();
  } else if constexpr (std::is_same_v<Value, bool>) {
    target = node.boolean();
  } else {
    static_assert(std::is_same_v<Value, format::Count>);
    target = static_cast<Target>(node.count());
  }
}

// A row of a table of members: the field, and the target's member that holds its value, which may
// be a member of a member.
template <const auto& field, auto... place>
struct Row {
  template <typename Node, typename Target>
  constexpr operator Member<Node, Target>() const {  // NOLINT(google-explicit-constructor)
    return {field.key, [](Node& node, Target& target) {
              using Value = typename std::decay_t<decltype(field)>::Type;
              read_value<Value>(node, (target.*....*place));
            }};
  }
};
template <const auto& field, auto... place>
inline constexpr Row<field, place...> kRow{};

// A median of null is no distribution.
struct FoundDistribution {
  Distribution distribution;
  std::optional<double> median;
};

// Leaves `target` empty for {} and for a median of null: nothing was measured.
template <typename Node>
void read_object(const Node& node, std::optional<Distribution>& target) {
  namespace fields = format::distribution;
  using F = FoundDistribution;
  using D = Distribution;
  static constexpr auto members = std::to_array<Member<Node, F>>({
      kRow<fields::kMedian, &F::median>,
      kRow<fields::kP05, &F::distribution, &D::p05>,
      kRow<fields::kP95, &F::distribution, &D::p95>,
      kRow<fields::kCount, &F::distribution, &D::count>,
  });
  F found;
  const Seen seen = read_members(node, members, found);
  if (!found.median) return;
  if (has(members, seen, fields::kCount.key) && found.distribution.count == 0) return;
  if (*found.median < 0) node.fail(fmt::format("expected a median >= 0, found {}", *found.median));
  found.distribution.median = *found.median;
  target = found.distribution;
}

template <typename Node>
void read_state(Node& node, Calibration& target) {
  const std::string state = node.text();
  if (state == format::kStateBusy) {
    target.state = PairState::kBusy;
  } else if (state == format::kStateIdle) {
    target.state = PairState::kIdle;
  } else if (state == format::kStateGraph) {
    target.state = PairState::kGraph;
  } else {
    node.fail(fmt::format("expected \"busy\", \"idle\" or \"graph\", found \"{}\"", state));
  }
}

template <typename Node>
void read_object(const Node& node, Calibration& calibration) {
  namespace fields = format::calibration;
  using T = Calibration;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kDeviceId, &T::device_id>,
      {fields::kState.key, read_state},
      kRow<fields::kEmptyPairUs, &T::empty_pair_us>,
      kRow<fields::kEmptyKernelPairUs, &T::empty_kernel_pair_us>,
      kRow<fields::kAddedKernelUs, &T::added_kernel_us>,
  });
  const Seen seen = read_members(node, members, calibration);
  for (const std::string_view key : {fields::kDeviceId.key, fields::kState.key}) {
    if (!has(members, seen, key)) node.fail(fmt::format("missing \"{}\"", key));
  }
}

template <typename Node>
void read_object(const Node& node, Device& device) {
  namespace fields = format::devices;
  using T = Device;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kDeviceId, &T::device_id>,
      kRow<fields::kName, &T::name>,
      kRow<fields::kUuid, &T::uuid>,
      kRow<fields::kSmCount, &T::sm_count>,
      kRow<fields::kComputeCapability, &T::compute_capability>,
      kRow<fields::kMemoryBytes, &T::memory_bytes>,
      kRow<fields::kL2Bytes, &T::l2_bytes>,
      kRow<fields::kSmClockKhz, &T::sm_clock_khz>,
      kRow<fields::kMemoryClockKhz, &T::memory_clock_khz>,
      kRow<fields::kMig, &T::mig>,
      kRow<fields::kMpsPercent, &T::mps_percent>,
      kRow<fields::kDriverVersion, &T::driver_version>,
      kRow<fields::kCudaVersion, &T::cuda_version>,
  });
  const Seen seen = read_members(node, members, device);
  if (!has(members, seen, fields::kDeviceId.key))
    node.fail(fmt::format("missing \"{}\"", fields::kDeviceId.key));
}

template <typename Node>
void read_object(const Node& node, ProfilerInfo& profiler) {
  namespace fields = format::profiler;
  using T = ProfilerInfo;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kVersion, &T::version>,
      kRow<fields::kMode, &T::mode>,
      kRow<fields::kPolicy, &T::policy>,
      kRow<fields::kBackend, &T::backend>,
      kRow<fields::kSchedule, &T::schedule>,
      kRow<fields::kWarmupIterations, &T::warmup_iterations>,
      kRow<fields::kRepeat, &T::repeat>,
      kRow<fields::kIterationSource, &T::iteration_source>,
      kRow<fields::kIterationConfidence, &T::iteration_confidence>,
      kRow<fields::kIterationLaunches, &T::iteration_launches>,
      kRow<fields::kOtherPeriod, &T::other_period>,
      kRow<fields::kEventListHash, &T::event_list_hash>,
  });
  read_members(node, members, profiler);
}

template <typename Node>
void read_stretches(Node& node, Phase& phase) {
  node.each_element([&](Node& stretch) {
    std::vector<std::int64_t> ends;
    stretch.each_element([&](Node& end) { ends.push_back(end.count()); });
    if (ends.size() != 2 || ends[1] < ends[0])
      stretch.fail("expected a first and a last iteration");
    phase.stretches.emplace_back(ends[0], ends[1]);
  });
}

template <typename Node>
void read_object(const Node& node, Phase& phase) {
  namespace fields = format::phases;
  using T = Phase;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      {fields::kStretches.key, read_stretches},
      kRow<fields::kIterations, &T::iterations>,
      kRow<fields::kIterationSource, &T::iteration_source>,
      kRow<fields::kIterationConfidence, &T::iteration_confidence>,
      kRow<fields::kReason, &T::reason>,
      kRow<fields::kKernelLaunches, &T::kernel_launches>,
      kRow<fields::kGraphLaunches, &T::graph_launches>,
      kRow<fields::kGraphKernels, &T::graph_kernels>,
      kRow<fields::kMeasured, &T::measured>,
      kRow<fields::kIterTimeMs, &T::iter_time_ms>,
  });
  read_members(node, members, phase);
}

// Reads [lower, upper]; empty for null and for ends of null if there may be none.
template <typename Node>
std::optional<std::pair<double, double>> read_ends(Node& node, bool may_be_null) {
  if (may_be_null && node.is_null()) return std::nullopt;
  std::vector<double> ends;
  node.each_element([&](Node& end) {
    if (!may_be_null || !end.is_null()) ends.push_back(end.number());
  });
  if (may_be_null && ends.empty()) return std::nullopt;
  if (ends.size() != 2 || ends[0] > ends[1])
    node.fail(may_be_null ? "expected [lower, upper] or null" : "expected [lower, upper]");
  return std::pair(ends[0], ends[1]);
}

template <typename Node>
void read_object(const Node& node, Overhead& overhead) {
  namespace fields = format::overhead;
  using T = Overhead;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kArmedIterations, &T::armed_iterations>,
      kRow<fields::kUnarmedIterations, &T::unarmed_iterations>,
      kRow<fields::kSlowdownPercent, &T::slowdown_percent>,
      {fields::kSlowdownPercentCi95.key,
       [](Node& v, T& o) { o.slowdown_percent_ci95 = read_ends(v, true); }},
      kRow<fields::kIterationsNeeded, &T::iterations_needed>,
      kRow<fields::kMethod, &T::method>,
      kRow<fields::kLaunchesSeen, &T::launches_seen>,
      kRow<fields::kHostBytes, &T::host_bytes>,
  });
  read_members(node, members, overhead);
}

template <typename Node>
void read_object(const Node& node, RuntimeData& data) {
  namespace fields = format::runtime_data;
  using T = RuntimeData;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kDataName, &T::name>,
      kRow<fields::kDeviceId, &T::device_id>,
      kRow<fields::kStream, &T::stream>,
      kRow<fields::kData, &T::data>,
  });
  read_members(node, members, data);
}

template <typename Node>
void read_object(const Node& node, Op& op) {
  op = read_op(node);
}

// Bins as the file has them: columns, one entry a bin.
struct BinColumns {
  std::vector<double> start_s;
  std::vector<double> end_s;
  std::vector<std::int64_t> first_iteration;
  std::vector<std::int64_t> last_iteration;
  std::vector<std::int64_t> first_bucket;
  std::vector<std::vector<std::int64_t>> counts;
};

// Fails unless a list has an entry for each bin or reading.
template <typename Node>
void check_length(const Node& node, std::string_view key, std::size_t found,
                  std::string_view first_key, std::size_t expected) {
  if (found == expected) return;
  node.fail(fmt::format("expected {} values in \"{}\", one for each of \"{}\", found {}", expected,
                        key, first_key, found));
}

// Fails unless no time lies before the one in front of it.
template <typename Node>
void check_times_rise(const Node& node, std::string_view key, const std::vector<double>& times) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double least = i == 0 ? 0.0 : times[i - 1];
    if (!(times[i] >= least))
      node.fail(fmt::format("expected value {} of \"{}\" to be {:g} at least, found {:g}", i, key,
                            least, times[i]));
  }
}

template <typename Node>
void read_object(const Node& node, std::vector<watch::Bin>& bins) {
  namespace fields = format::bins;
  using T = BinColumns;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kStartS, &T::start_s>,
      kRow<fields::kEndS, &T::end_s>,
      kRow<fields::kFirstIteration, &T::first_iteration>,
      kRow<fields::kLastIteration, &T::last_iteration>,
      kRow<fields::kFirstBucket, &T::first_bucket>,
      kRow<fields::kCounts, &T::counts>,
  });
  T columns;
  read_members(node, members, columns);
  const std::size_t count = columns.start_s.size();
  const auto check = [&](std::string_view key, std::size_t found) {
    check_length(node, key, found, fields::kStartS.key, count);
  };
  check(fields::kEndS.key, columns.end_s.size());
  check(fields::kFirstIteration.key, columns.first_iteration.size());
  check(fields::kLastIteration.key, columns.last_iteration.size());
  check(fields::kFirstBucket.key, columns.first_bucket.size());
  check(fields::kCounts.key, columns.counts.size());
  check_times_rise(node, fields::kStartS.key, columns.start_s);
  using Sketch = watch::QuantileSketch;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(columns.end_s[i] >= columns.start_s[i]) ||
        columns.last_iteration[i] < columns.first_iteration[i])
      node.fail(fmt::format("bin {} ends before it begins", i));
    const std::int64_t first = columns.first_bucket[i];
    if (first < Sketch::kLowestBucket || first > Sketch::kHighestBucket ||
        first + std::ssize(columns.counts[i]) - 1 > Sketch::kHighestBucket)
      node.fail(fmt::format("bin {}: expected buckets from {} to {}", i, Sketch::kLowestBucket,
                            Sketch::kHighestBucket));
    std::vector<std::uint32_t> counts;
    for (const std::int64_t number : columns.counts[i]) {
      if (number > std::numeric_limits<std::uint32_t>::max())
        node.fail(fmt::format("bin {}: expected a count below 2^32, found {}", i, number));
      counts.push_back(static_cast<std::uint32_t>(number));
    }
    bins.push_back({columns.start_s[i], columns.end_s[i], columns.first_iteration[i],
                    columns.last_iteration[i],
                    Sketch::from(static_cast<int>(first), std::move(counts))});
  }
}

// Readings as the file has them: columns, one entry a reading, in the order of kMachineColumns.
struct ReadingColumns {
  std::int64_t device_id = 0;
  std::vector<double> time_s;
  std::array<std::vector<double>, watch::kMachineColumns.size()> values;
};

// The row of a table of members for column `number`.
template <const auto& field, std::size_t number, typename Node>
constexpr Member<Node, ReadingColumns> reading_row() {
  static_assert(field.key == watch::kMachineColumns[number].key);
  return {field.key, [](Node& node, ReadingColumns& target) {
            using Value = typename std::decay_t<decltype(field)>::Type;
            read_value<Value>(node, target.values[number]);
          }};
}

template <typename Node>
void read_object(const Node& node, DeviceReadings& device) {
  namespace fields = format::machine;
  using T = ReadingColumns;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kDeviceId, &T::device_id>,
      kRow<fields::kTimeS, &T::time_s>,
      reading_row<fields::kSmClockMhz, 0, Node>(),
      reading_row<fields::kMemoryClockMhz, 1, Node>(),
      reading_row<fields::kPowerW, 2, Node>(),
      reading_row<fields::kTemperatureC, 3, Node>(),
      reading_row<fields::kThrottleReasons, 4, Node>(),
      reading_row<fields::kEccErrors, 5, Node>(),
      reading_row<fields::kNvlinkErrors, 6, Node>(),
  });
  T columns;
  read_members(node, members, columns);
  device.device_id = columns.device_id;
  check_times_rise(node, fields::kTimeS.key, columns.time_s);
  for (const double time_s : columns.time_s)
    device.readings.emplace_back().time_s = time_s;
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    const std::vector<double>& values = columns.values[i];
    const watch::MachineColumn& column = watch::kMachineColumns[i];
    if (!values.empty())  // a reading that the driver does not have
      check_length(node, column.key, values.size(), fields::kTimeS.key, columns.time_s.size());
    for (std::size_t k = 0; k < values.size(); ++k)
      device.readings[k].*column.value = values[k];
  }
}

template <typename Node>
void read_object(const Node& node, FoundChange& change) {
  namespace fields = format::changes;
  using T = FoundChange;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kOf, &T::of>,
      kRow<fields::kEvent, &T::event>,
      kRow<fields::kLayerName, &T::layer>,
      kRow<fields::kDeviceId, &T::device_id>,
      kRow<fields::kBeganS, &T::began_s>,
      kRow<fields::kDetectedS, &T::detected_s>,
      kRow<fields::kBeganIteration, &T::began_iteration>,
      kRow<fields::kBeforeUs, &T::before_us>,
      kRow<fields::kAfterUs, &T::after_us>,
      kRow<fields::kRatio, &T::ratio>,
      {fields::kRatioCi95.key, [](Node& v, T& c) { c.ratio_ci95 = *read_ends(v, false); }},
      kRow<fields::kReason, &T::reason>,
  });
  read_members(node, members, change);
  if (!(change.ratio > 0))
    node.fail(fmt::format("expected a ratio above 0, found {}", change.ratio));
}

template <typename Node>
void read_object(const Node& node, Watched& watched) {
  namespace fields = format::history;
  using T = Watched;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kBudget, &T::budget>,
      kRow<fields::kFalseAlarmsPerMonth, &T::false_alarms_per_month>,
      kRow<fields::kStartedS, &T::started_s>,
      kRow<fields::kUntilS, &T::until_s>,
      kRow<fields::kPairs, &T::pairs>,
      kRow<fields::kPairCostUs, &T::pair_cost_us>,
      kRow<fields::kCostShare, &T::cost_share>,
      kRow<fields::kIteration, &T::iteration>,
      kRow<fields::kMachine, &T::machine>,
      kRow<fields::kChanges, &T::changes>,
  });
  read_members(node, members, watched);
}

// Facts about an event's members.  Its name stands under one key in generation 1 and under another
// one later, and which generation a file is may be known at its end only.
struct EventFacts {
  bool has_name = false;
  bool has_occurrence = false;
  bool has_first_name = false;  // under the key of generation 1
  bool has_first_occurrence = false;
  std::string_view missing;  // the first required member, of all generations, that is absent
};

// `wanted` kWithoutOffsets leaves Event::offsets_ms empty and does not look into that list.
template <typename Node>
[[nodiscard]] EventFacts read_event(const Node& node, Event& event, Wanted wanted = Wanted::kAll) {
  namespace fields = format::events;
  using T = Event;
  static constexpr auto members = std::to_array<Member<Node, T>>({
      kRow<fields::kMeasuredTimesMs, &T::measured_ms>,
      kRow<fields::kIterStartToEventStartTimesMs, &T::offsets_ms>,
      kRow<fields::kIterations, &T::iterations>,
      kRow<fields::kTight, &T::tight>,
      kRow<fields::kAfterWaitUs, &T::after_wait_us>,
      kRow<fields::kEventName, &T::name>,
      {format::generation1::kName.key,
       [](Node& v, Event& e) {
         const std::string name = v.text();
         if (e.name.empty()) e.name = name;  // "event_name" wins, in either order
       }},
      kRow<fields::kLayerName, &T::layer>,
      kRow<fields::kPhase, &T::phase>,
      kRow<fields::kClass, &T::event_class>,
      kRow<fields::kKernelName, &T::kernel_name>,
      kRow<fields::kKernelNames, &T::kernel_names>,
      kRow<fields::kDeviceId, &T::device_id>,
      kRow<fields::kStream, &T::stream>,
      kRow<fields::kStreamIndex, &T::stream_index>,
      kRow<fields::kStartIndex, &T::start_index>,
      kRow<fields::kEndIndex, &T::end_index>,
      kRow<fields::kMetTimesWithinThisStream, &T::occurrence>,
      kRow<format::generation1::kOccurrence, &T::occurrence>,
      kRow<fields::kCalls, &T::calls>,
      kRow<fields::kInCudaGraph, &T::in_cuda_graph>,
      kRow<fields::kFlags, &T::flags>,
      kRow<fields::kReason, &T::reason>,
      kRow<fields::kOp, &T::op>,
      kRow<fields::kGrid, &T::launch, &LaunchShape::grid>,
      kRow<fields::kBlock, &T::launch, &LaunchShape::block>,
      kRow<fields::kCluster, &T::launch, &LaunchShape::cluster>,
      kRow<fields::kStaticSharedBytes, &T::launch, &LaunchShape::static_shared_bytes>,
      kRow<fields::kDynamicSharedBytes, &T::launch, &LaunchShape::dynamic_shared_bytes>,
      kRow<fields::kRegisters, &T::launch, &LaunchShape::registers>,
      kRow<fields::kMaxBlocksPerSm, &T::launch, &LaunchShape::max_blocks_per_sm>,
      kRow<fields::kExtraInfosStart, &T::extra_infos_start>,
      kRow<fields::kExtraInfosStop, &T::extra_infos_stop>,
      kRow<fields::kHistory, &T::history>,
  });
  static constexpr auto without_offsets = [] {
    auto rest = members;
    for (auto& member : rest) {
      if (member.key == fields::kIterStartToEventStartTimesMs.key)
        member.read = [](Node&, Event&) {};
    }
    return rest;
  }();
  const Seen seen = read_members(node, wanted == Wanted::kAll ? members : without_offsets, event);
  EventFacts facts;
  facts.has_name = has(members, seen, fields::kEventName.key);
  facts.has_occurrence = has(members, seen, fields::kMetTimesWithinThisStream.key);
  facts.has_first_name = has(members, seen, format::generation1::kName.key);
  facts.has_first_occurrence = has(members, seen, format::generation1::kOccurrence.key);
  for (const std::string_view key :
       {fields::kDeviceId.key, fields::kStream.key, fields::kStartIndex.key, fields::kEndIndex.key,
        fields::kMeasuredTimesMs.key}) {
    if (facts.missing.empty() && !has(members, seen, key)) facts.missing = key;
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
  static constexpr auto members = std::to_array<Member<Node, F>>({
      kRow<format::kSchema, &F::schema>,
      kRow<format::kHostName, &F::profile, &Profile::host_name>,
      kRow<format::kRank, &F::profile, &Profile::rank>,
      kRow<format::kWorldSize, &F::profile, &Profile::world_size>,
      kRow<format::kLocalRank, &F::profile, &Profile::local_rank>,
      kRow<format::kProcessId, &F::profile, &Profile::process_id>,
      kRow<format::kCommand, &F::profile, &Profile::command>,
      kRow<format::kStartedAt, &F::profile, &Profile::started_at>,
      kRow<format::kComplete, &F::profile, &Profile::complete>,
      kRow<format::kSimulated, &F::profile, &Profile::simulated>,
      kRow<format::kProfiler, &F::profile, &Profile::profiler>,
      kRow<format::kDevices, &F::profile, &Profile::devices>,
      kRow<format::kLibraries, &F::profile, &Profile::libraries>,
      kRow<format::kCalibration, &F::profile, &Profile::calibration>,
      kRow<format::kIterTimeMs, &F::profile, &Profile::iter_time_ms>,
      kRow<format::kPhases, &F::profile, &Profile::phases>,
      {format::kEvents.key,
        [](Node& v, F& f) {
          v.each_element(
              [&](Node& n) { f.facts.push_back(read_event(n, f.profile.events.emplace_back())); });
        }},
      kRow<format::kRuntimeData, &F::profile, &Profile::runtime_data>,
      kRow<format::kOverhead, &F::profile, &Profile::overhead>,
      kRow<format::kDropped, &F::profile, &Profile::dropped>,
      kRow<format::kNotSeen, &F::profile, &Profile::not_seen>,
      kRow<format::kWarnings, &F::profile, &Profile::warnings>,
      kRow<format::kHistory, &F::profile, &Profile::watched>,
  });
  F found;
  const Seen seen = read_members(root, members, found);
  found.has_events = has(members, seen, format::kEvents.key);
  found.has_iter_time_ms = has(members, seen, format::kIterTimeMs.key);
  return found;
}

}  // namespace inline_prof::read
