// The fields of prof.json: the only place where their keys are spelled. The injected library writes
// with them, the readers read with them, and a test compares them with docs/schemas. Meaning and
// examples: docs/prof_json.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::format {

// A member of a JSON object.  `Value` is its C++ type: an optional one may be null, an Object has
// fields of its own, and the keys of a map are free.
template <typename Value>
struct Field {
  using Type = Value;
  std::string_view key;
  std::string_view unit = {};
};

struct Object {};
using Count = std::int64_t;  // an integer >= 0
using Real = double;
using Text = std::string;
using Dim3 = std::array<Count, 3>;
template <typename Value>
using Nullable = std::optional<Value>;
template <typename Value>
using List = std::vector<Value>;
template <typename Value>
using Map = std::map<Text, Value>;

template <typename Value>
inline constexpr bool kIsNullable = false;
template <typename Value>
inline constexpr bool kIsNullable<Nullable<Value>> = true;
template <typename Value>
inline constexpr bool kIsList = false;
template <typename Value>
inline constexpr bool kIsList<List<Value>> = true;
template <typename Value, std::size_t N>
inline constexpr bool kIsList<std::array<Value, N>> = true;

inline constexpr const char* kSchemaValue = "inline_prof/1";
inline constexpr const char* kSchemaFamily = "inline_prof/";  // what stands before the number
inline constexpr int kSchemaVersion = 1;

// Top level.
inline constexpr Field<Text> kSchema{"schema"};
inline constexpr Field<Text> kHostName{"host_name"};
inline constexpr Field<Nullable<Count>> kRank{"rank"};
inline constexpr Field<Nullable<Count>> kWorldSize{"world_size"};
inline constexpr Field<Nullable<Count>> kLocalRank{"local_rank"};
inline constexpr Field<Count> kProcessId{"process_id"};
inline constexpr Field<Text> kCommand{"command"};
inline constexpr Field<Text> kStartedAt{"started_at"};
inline constexpr Field<bool> kComplete{"complete"};
inline constexpr Field<bool> kSimulated{"simulated"};
inline constexpr Field<Object> kProfiler{"profiler"};
inline constexpr Field<List<Object>> kDevices{"devices"};
inline constexpr Field<Map<Text>> kLibraries{"libraries"};
inline constexpr Field<List<Object>> kCalibration{"calibration"};
inline constexpr Field<List<Real>> kIterTimeMs{"iter_time_ms", "ms"};
inline constexpr Field<List<Object>> kPhases{"phases"};
inline constexpr Field<List<Object>> kEvents{"events"};
inline constexpr Field<List<Object>> kRuntimeData{"runtime_data"};
inline constexpr Field<Nullable<Object>> kOverhead{"overhead"};
inline constexpr Field<Object> kCrossCheck{"cross_check"};
inline constexpr Field<Map<Count>> kDropped{"dropped"};
inline constexpr Field<Object> kHistory{"history"};
inline constexpr Field<List<Text>> kNotSeen{"not_seen"};
inline constexpr Field<List<Text>> kWarnings{"warnings"};

namespace profiler {
inline constexpr Field<Text> kVersion{"version"};
inline constexpr Field<Text> kMode{"mode"};
inline constexpr Field<Text> kPolicy{"policy"};
inline constexpr Field<Text> kBackend{"backend"};
inline constexpr Field<Nullable<Text>> kSchedule{"schedule"};
inline constexpr Field<Count> kWarmupIterations{"warmup_iterations"};
inline constexpr Field<Count> kRepeat{"repeat"};
inline constexpr Field<Nullable<Text>> kIterationSource{"iteration_source"};
inline constexpr Field<Nullable<Real>> kIterationConfidence{"iteration_confidence"};
inline constexpr Field<Count> kIterationLaunches{"iteration_launches"};
inline constexpr Field<Count> kOtherPeriod{"other_period"};
inline constexpr Field<Text> kEventListHash{"event_list_hash"};
}  // namespace profiler

namespace phases {
inline constexpr Field<List<std::array<Count, 2>>> kStretches{"stretches"};
inline constexpr Field<Count> kIterations{"iterations"};
inline constexpr Field<Real> kStartedAfterS{"started_after_s", "s"};
inline constexpr Field<Text> kIterationSource{"iteration_source"};
inline constexpr Field<Nullable<Real>> kIterationConfidence{"iteration_confidence"};
inline constexpr Field<Text> kReason{"reason"};
inline constexpr Field<Count> kKernelLaunches{"kernel_launches"};
inline constexpr Field<Count> kGraphLaunches{"graph_launches"};
inline constexpr Field<Count> kGraphKernels{"graph_kernels"};
inline constexpr Field<bool> kMeasured{"measured"};
inline constexpr Field<List<Real>> kIterTimeMs{"iter_time_ms", "ms"};
}  // namespace phases

namespace devices {
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<Text> kName{"name"};
inline constexpr Field<Text> kUuid{"uuid"};
inline constexpr Field<Count> kSmCount{"sm_count"};
inline constexpr Field<Text> kComputeCapability{"compute_capability"};
inline constexpr Field<Count> kMemoryBytes{"memory_bytes", "bytes"};
inline constexpr Field<Count> kL2Bytes{"l2_bytes", "bytes"};
inline constexpr Field<Count> kSmClockKhz{"sm_clock_khz", "khz"};
inline constexpr Field<Count> kMemoryClockKhz{"memory_clock_khz", "khz"};
inline constexpr Field<Nullable<bool>> kMig{"mig"};
inline constexpr Field<Nullable<Real>> kMpsPercent{"mps_percent", "percent"};
inline constexpr Field<Text> kDriverVersion{"driver_version"};
inline constexpr Field<Text> kCudaVersion{"cuda_version"};
}  // namespace devices

namespace calibration {
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<Text> kState{"state"};
inline constexpr Field<Nullable<Object>> kEmptyPairUs{"empty_pair_us", "us"};
inline constexpr Field<Nullable<Object>> kEmptyKernelPairUs{"empty_kernel_pair_us", "us"};
inline constexpr Field<Nullable<Object>> kAddedKernelUs{"added_kernel_us", "us"};
}  // namespace calibration

// The distributions of a calibration.
namespace distribution {
inline constexpr Field<Nullable<Real>> kMedian{"median", "us"};
inline constexpr Field<Nullable<Real>> kP05{"p05", "us"};
inline constexpr Field<Nullable<Real>> kP95{"p95", "us"};
inline constexpr Field<Count> kCount{"count"};
}  // namespace distribution

namespace events {
inline constexpr Field<Text> kEventName{"event_name"};
inline constexpr Field<Text> kLayerName{"layer_name"};
inline constexpr Field<Count> kPhase{"phase"};
inline constexpr Field<Text> kClass{"class"};
inline constexpr Field<Text> kKernelName{"kernel_name"};
inline constexpr Field<List<Text>> kKernelNames{"kernel_names"};
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<Text> kStream{"stream"};
inline constexpr Field<Count> kStreamIndex{"stream_index"};
inline constexpr Field<Count> kStartIndex{"start_index"};
inline constexpr Field<Count> kEndIndex{"end_index"};
inline constexpr Field<Count> kMetTimesWithinThisStream{"met_times_within_this_stream"};
inline constexpr Field<Count> kCalls{"calls"};
inline constexpr Field<Dim3> kGrid{"grid"};
inline constexpr Field<Dim3> kBlock{"block"};
inline constexpr Field<Dim3> kCluster{"cluster"};
inline constexpr Field<Count> kStaticSharedBytes{"static_shared_bytes", "bytes"};
inline constexpr Field<Count> kDynamicSharedBytes{"dynamic_shared_bytes", "bytes"};
inline constexpr Field<Count> kRegisters{"registers"};
inline constexpr Field<Count> kMaxBlocksPerSm{"max_blocks_per_sm"};
inline constexpr Field<bool> kInCudaGraph{"in_cuda_graph"};
inline constexpr Field<List<Text>> kFlags{"flags"};
inline constexpr Field<Text> kReason{"reason"};
inline constexpr Field<Nullable<Object>> kOp{"op"};
inline constexpr Field<List<Real>> kMeasuredTimesMs{"measured_times_ms", "ms"};
inline constexpr Field<List<Nullable<Real>>> kIterStartToEventStartTimesMs{
    "iter_start_to_event_start_times_ms", "ms"};
inline constexpr Field<List<Count>> kIterations{"iterations"};
inline constexpr Field<List<Nullable<bool>>> kTight{"tight"};
inline constexpr Field<List<Nullable<Real>>> kAfterWaitUs{"after_wait_us", "us"};
inline constexpr Field<List<Nullable<Real>>> kCrossCheckTimesUs{"cross_check_times_us", "us"};
inline constexpr Field<List<Text>> kExtraInfosStart{"extra_infos_start"};
inline constexpr Field<List<Text>> kExtraInfosStop{"extra_infos_stop"};
inline constexpr Field<Object> kHistory{"history"};
}  // namespace events

// A run that is watched.  Times are since `started_at`.
namespace history {
inline constexpr Field<Real> kBudget{"budget"};
inline constexpr Field<Count> kSeed{"seed"};
inline constexpr Field<Real> kFalseAlarmsPerMonth{"false_alarms_per_month"};
inline constexpr Field<Real> kRelativeError{"relative_error"};
inline constexpr Field<Real> kStartedS{"started_s", "s"};
inline constexpr Field<Real> kUntilS{"until_s", "s"};
inline constexpr Field<Count> kPairs{"pairs"};
inline constexpr Field<Nullable<Real>> kPairCostUs{"pair_cost_us", "us"};
inline constexpr Field<Nullable<Real>> kCostShare{"cost_share"};
inline constexpr Field<Object> kIteration{"iteration"};
inline constexpr Field<List<Object>> kMachine{"machine"};
inline constexpr Field<List<Object>> kChanges{"changes"};
}  // namespace history

// The times of an event or of the iteration, in bins of time: counts of a quantile sketch's
// buckets.
namespace bins {
inline constexpr Field<List<Real>> kStartS{"start_s", "s"};
inline constexpr Field<List<Real>> kEndS{"end_s", "s"};
inline constexpr Field<List<Count>> kFirstIteration{"first_iteration"};
inline constexpr Field<List<Count>> kLastIteration{"last_iteration"};
inline constexpr Field<List<Count>> kFirstBucket{"first_bucket"};
inline constexpr Field<List<List<Count>>> kCounts{"counts"};
}  // namespace bins

// Readings of a device, one element each.
namespace machine {
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<List<Real>> kTimeS{"time_s", "s"};
inline constexpr Field<List<Nullable<Real>>> kSmClockMhz{"sm_clock_mhz"};
inline constexpr Field<List<Nullable<Real>>> kMemoryClockMhz{"memory_clock_mhz"};
inline constexpr Field<List<Nullable<Real>>> kPowerW{"power_w"};
inline constexpr Field<List<Nullable<Real>>> kTemperatureC{"temperature_c"};
inline constexpr Field<List<Nullable<Count>>> kThrottleReasons{"throttle_reasons"};
inline constexpr Field<List<Nullable<Count>>> kEccErrors{"ecc_errors"};
inline constexpr Field<List<Nullable<Count>>> kNvlinkErrors{"nvlink_errors"};
}  // namespace machine

namespace changes {
inline constexpr Field<Text> kOf{"of"};
inline constexpr Field<Count> kEvent{"event"};
inline constexpr Field<Text> kLayerName{"layer_name"};
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<Real> kBeganS{"began_s", "s"};
inline constexpr Field<Real> kDetectedS{"detected_s", "s"};
inline constexpr Field<Count> kBeganIteration{"began_iteration"};
inline constexpr Field<Real> kBeforeUs{"before_us", "us"};
inline constexpr Field<Real> kAfterUs{"after_us", "us"};
inline constexpr Field<Real> kRatio{"ratio"};
inline constexpr Field<std::array<Real, 2>> kRatioCi95{"ratio_ci95"};
inline constexpr Field<Text> kReason{"reason"};
}  // namespace changes

// The attributes of an operation stand beside these two.
namespace op {
inline constexpr Field<Text> kKind{"kind"};
inline constexpr Field<Text> kSource{"source"};
}  // namespace op

namespace runtime_data {
inline constexpr Field<Text> kDataName{"data_name"};
inline constexpr Field<Count> kDeviceId{"device_id"};
inline constexpr Field<Text> kStream{"stream"};
inline constexpr Field<List<Text>> kData{"data"};
}  // namespace runtime_data

namespace cross_check {
inline constexpr Field<Text> kSource{"source"};
inline constexpr Field<Count> kVersion{"version"};
inline constexpr Field<Count> kLaunches{"launches"};
inline constexpr Field<Count> kLaunchesSeenByUs{"launches_seen_by_us"};
inline constexpr Field<Count> kDroppedRecords{"dropped_records"};
}  // namespace cross_check

namespace overhead {
inline constexpr Field<Count> kArmedIterations{"armed_iterations"};
inline constexpr Field<Count> kUnarmedIterations{"unarmed_iterations"};
inline constexpr Field<Nullable<Real>> kSlowdownPercent{"slowdown_percent", "percent"};
inline constexpr Field<Nullable<std::array<Nullable<Real>, 2>>> kSlowdownPercentCi95{
    "slowdown_percent_ci95", "percent"};
inline constexpr Field<Nullable<Count>> kIterationsNeeded{"iterations_needed"};
inline constexpr Field<Text> kMethod{"method"};
inline constexpr Field<Count> kLaunchesSeen{"launches_seen"};
inline constexpr Field<Count> kGraphLaunchesSeen{"graph_launches_seen"};
inline constexpr Field<Count> kHostBytes{"host_bytes", "bytes"};
}  // namespace overhead

namespace dropped {
inline constexpr Field<Count> kRingFull{"ring_full"};
inline constexpr Field<Count> kNotReadyAtExit{"not_ready_at_exit"};
inline constexpr Field<Count> kCudaErrors{"cuda_errors"};
inline constexpr Field<Count> kCaptureSkipped{"capture_skipped"};
inline constexpr Field<Count> kStaleGraph{"stale_graph"};
inline constexpr Field<Count> kInterleavedLaunch{"interleaved_launch"};
inline constexpr Field<Count> kIrregularIteration{"irregular_iteration"};
inline constexpr Field<Count> kDestroyed{"destroyed"};
}  // namespace dropped

// Generation 1 (2021-02) wrote these two instead of event_name and met_times_within_this_stream.
namespace generation1 {
inline constexpr Field<Text> kName{"name"};
inline constexpr Field<Count> kOccurrence{"same_name_events_occured_order_in_code"};
}  // namespace generation1

// Values of the field `state` of a calibration.
inline constexpr const char* kStateBusy = "busy";
inline constexpr const char* kStateIdle = "idle";
inline constexpr const char* kStateGraph = "graph";

// Values of the field `of` of a change.
inline constexpr const char* kOfEvent = "event";
inline constexpr const char* kOfLayer = "layer";
inline constexpr const char* kOfIteration = "iteration";

// Values in the field `flags` of an event.
inline constexpr const char* kFlagGraphNode = "graph_node";
inline constexpr const char* kFlagGraphWhole = "graph_whole";
inline constexpr const char* kFlagGraphChild = "graph_child";
inline constexpr const char* kFlagRecaptured = "recaptured";
inline constexpr const char* kFlagPdlRemoved = "pdl_removed";
inline constexpr const char* kFlagNotMeasurable = "not_measurable";
// The run had no iteration boundary: samples are taken at any of the event's occurrences.
inline constexpr const char* kFlagAnyOccurrence = "any_occurrence";
// Some samples are of launches with another grid than the event's, so its operation is not theirs.
inline constexpr const char* kFlagOtherGrids = "other_grids";

}  // namespace inline_prof::format
