// The keys and fixed words of prof.json.  The only place where they are spelled: the injected
// library writes with them, the readers read with them.  Meaning and examples: docs/prof_json.md.
#pragma once

namespace inline_prof::format {

inline constexpr const char* kSchemaValue = "inline_prof/1";
inline constexpr const char* kSchemaFamily = "inline_prof/";  // what stands before the number
inline constexpr int kSchemaVersion = 1;

// Top level.
inline constexpr const char* kSchema = "schema";
inline constexpr const char* kHostName = "host_name";
inline constexpr const char* kRank = "rank";
inline constexpr const char* kWorldSize = "world_size";
inline constexpr const char* kLocalRank = "local_rank";
inline constexpr const char* kProcessId = "process_id";
inline constexpr const char* kCommand = "command";
inline constexpr const char* kStartedAt = "started_at";
inline constexpr const char* kComplete = "complete";
inline constexpr const char* kProfiler = "profiler";
inline constexpr const char* kDevices = "devices";
inline constexpr const char* kLibraries = "libraries";
inline constexpr const char* kCalibration = "calibration";
inline constexpr const char* kIterTimeMs = "iter_time_ms";
inline constexpr const char* kEvents = "events";
inline constexpr const char* kPhases = "phases";
inline constexpr const char* kRuntimeData = "runtime_data";
inline constexpr const char* kOverhead = "overhead";
inline constexpr const char* kDropped = "dropped";
inline constexpr const char* kCrossCheck = "witness";
inline constexpr const char* kNotSeen = "not_seen";
inline constexpr const char* kWarnings = "warnings";

// profiler
inline constexpr const char* kVersion = "version";
inline constexpr const char* kMode = "mode";
inline constexpr const char* kPolicy = "policy";
inline constexpr const char* kBackend = "backend";
inline constexpr const char* kSchedule = "schedule";
inline constexpr const char* kWarmupIterations = "warmup_iterations";
inline constexpr const char* kRepeat = "repeat";
inline constexpr const char* kIterationSource = "iteration_source";
inline constexpr const char* kIterationConfidence = "iteration_confidence";
inline constexpr const char* kIterationLaunches = "iteration_launches";
inline constexpr const char* kOtherPeriod = "other_period";
inline constexpr const char* kEventListHash = "event_list_hash";

// phases[]; iteration_source, iteration_confidence, reason and iter_time_ms are spelled elsewhere
inline constexpr const char* kStretches = "stretches";
inline constexpr const char* kIterationCount = "iterations";
inline constexpr const char* kStartedAfterS = "started_after_s";
inline constexpr const char* kKernelLaunches = "kernel_launches";
inline constexpr const char* kGraphLaunches = "graph_launches";
inline constexpr const char* kGraphKernels = "graph_kernels";
inline constexpr const char* kMeasured = "measured";

// devices[]
inline constexpr const char* kDeviceId = "device_id";
inline constexpr const char* kName = "name";
inline constexpr const char* kUuid = "uuid";
inline constexpr const char* kSmCount = "sm_count";
inline constexpr const char* kComputeCapability = "compute_capability";
inline constexpr const char* kMemoryBytes = "memory_bytes";
inline constexpr const char* kL2Bytes = "l2_bytes";
inline constexpr const char* kSmClockKhz = "sm_clock_khz";
inline constexpr const char* kMemoryClockKhz = "memory_clock_khz";
inline constexpr const char* kMig = "mig";
inline constexpr const char* kMpsPercent = "mps_percent";
inline constexpr const char* kDriverVersion = "driver_version";
inline constexpr const char* kCudaVersion = "cuda_version";

// calibration[]
inline constexpr const char* kState = "state";
inline constexpr const char* kStateBusy = "busy";
inline constexpr const char* kStateIdle = "idle";
inline constexpr const char* kStateGraph = "graph";
inline constexpr const char* kEmptyPairUs = "empty_pair_us";
inline constexpr const char* kEmptyKernelPairUs = "empty_kernel_pair_us";
inline constexpr const char* kAddedKernelUs = "added_kernel_us";
inline constexpr const char* kMedian = "median";
inline constexpr const char* kP05 = "p05";
inline constexpr const char* kP95 = "p95";
inline constexpr const char* kCount = "count";

// events[]
inline constexpr const char* kEventName = "event_name";
inline constexpr const char* kLayerName = "layer_name";
inline constexpr const char* kPhase = "phase";
inline constexpr const char* kClass = "class";
inline constexpr const char* kKernelName = "kernel_name";
inline constexpr const char* kKernelNames = "kernel_names";
inline constexpr const char* kStream = "stream";
inline constexpr const char* kStreamIndex = "stream_index";
inline constexpr const char* kStartIndex = "start_index";
inline constexpr const char* kEndIndex = "end_index";
inline constexpr const char* kMetTimesWithinThisStream = "met_times_within_this_stream";
inline constexpr const char* kCalls = "calls";
inline constexpr const char* kGrid = "grid";
inline constexpr const char* kBlock = "block";
inline constexpr const char* kCluster = "cluster";
inline constexpr const char* kStaticSharedBytes = "static_shared_bytes";
inline constexpr const char* kDynamicSharedBytes = "dynamic_shared_bytes";
inline constexpr const char* kRegisters = "registers";
inline constexpr const char* kMaxBlocksPerSm = "max_blocks_per_sm";
inline constexpr const char* kInCudaGraph = "in_cuda_graph";
inline constexpr const char* kFlags = "flags";
inline constexpr const char* kReason = "reason";
inline constexpr const char* kOp = "op";
inline constexpr const char* kKind = "kind";
inline constexpr const char* kSource = "source";
inline constexpr const char* kMeasuredTimesMs = "measured_times_ms";
inline constexpr const char* kIterStartToEventStartTimesMs = "iter_start_to_event_start_times_ms";
inline constexpr const char* kIterations = "iterations";
inline constexpr const char* kTight = "tight";
inline constexpr const char* kAfterWaitUs = "after_wait_us";
inline constexpr const char* kCrossCheckTimesUs = "witness_times_us";
inline constexpr const char* kExtraInfosStart = "extra_infos_start";
inline constexpr const char* kExtraInfosStop = "extra_infos_stop";

// events[].flags
inline constexpr const char* kFlagRegion = "region";
inline constexpr const char* kFlagGraphNode = "graph_node";
inline constexpr const char* kFlagGraphWhole = "graph_whole";
inline constexpr const char* kFlagGraphChild = "graph_child";
inline constexpr const char* kFlagRecaptured = "recaptured";
inline constexpr const char* kFlagPdlRemoved = "pdl_removed";
inline constexpr const char* kFlagNotMeasurable = "not_measurable";
// The run had no iteration boundary: samples are taken at any of the event's occurrences.
inline constexpr const char* kFlagAnyOccurrence = "any_occurrence";

// runtime_data[]
inline constexpr const char* kDataName = "data_name";
inline constexpr const char* kData = "data";

// witness; `source` and `version` as elsewhere
inline constexpr const char* kLaunches = "launches";
inline constexpr const char* kLaunchesSeenByUs = "launches_seen_by_us";
inline constexpr const char* kDroppedRecords = "dropped_records";

// overhead
inline constexpr const char* kArmedIterations = "armed_iterations";
inline constexpr const char* kUnarmedIterations = "unarmed_iterations";
inline constexpr const char* kSlowdownPercent = "slowdown_percent";
inline constexpr const char* kSlowdownPercentCi95 = "slowdown_percent_ci95";
inline constexpr const char* kIterationsNeeded = "iterations_needed";
inline constexpr const char* kMethod = "method";
inline constexpr const char* kGraphLaunchesSeen = "graph_launches_seen";
inline constexpr const char* kLaunchesSeen = "launches_seen";
inline constexpr const char* kHostBytes = "host_bytes";

// dropped
inline constexpr const char* kRingFull = "ring_full";
inline constexpr const char* kNotReadyAtExit = "not_ready_at_exit";
inline constexpr const char* kCudaErrors = "cuda_errors";
inline constexpr const char* kCaptureSkipped = "capture_skipped";
inline constexpr const char* kStaleGraph = "stale_graph";
inline constexpr const char* kInterleavedLaunch = "interleaved_launch";
inline constexpr const char* kIrregularIteration = "irregular_iteration";
inline constexpr const char* kDestroyed = "destroyed";

// Generation 1 (2021-02) wrote these two instead of event_name and met_times_within_this_stream.
inline constexpr const char* kGeneration1Occurrence = "same_name_events_occured_order_in_code";

}  // namespace inline_prof::format
