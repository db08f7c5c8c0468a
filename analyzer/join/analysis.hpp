// What the join of measured times and predictions gives: plain values, computed once, for every
// report.  Times are microseconds; an empty value is not known, and the row says why.
#pragma once

#include "join/shared_text.hpp"
#include "join/statistics.hpp"
#include "join/verdict.hpp"
#include "read/profile.hpp"
#include "read/work_graph.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// The same operation measured alone on the GPU, beside the run and the prediction.
struct Isolated {
  double alone_us = 0.0;
  Interval alone_ci95_us;
  std::string kernel_name;   // that ran alone; empty if not known
  bool is_stand_in = false;  // a kernel of prof-model measure in place of the run's own
  std::string cause;         // of the difference: words for a reader
};

// One event of one device.
struct Row {
  std::size_t profile = 0;  // index into Analysis::runs
  SharedText layer;
  SharedText event;
  SharedText kernel_name;
  std::int64_t device_id = 0;
  std::int64_t stream_index = 0;
  std::int64_t start_index = 0;
  std::int64_t end_index = 0;
  std::int64_t occurrence = 0;
  std::int64_t calls = 1;  // in an iteration; for any_occurrence: in the whole run
  bool any_occurrence = false;
  bool is_graph_node = false;    // of a CUDA graph, which may run others beside it
  bool overlap_removed = false;  // the kernel may overlap with a neighbour, but not while timed
  bool is_region = false;        // encloses other rows on its stream
  bool is_one_launch = false;    // of one kernel, and nothing else
  std::optional<std::size_t> parent;  // the smallest row that encloses this one; index into rows

  std::size_t samples = 0;
  std::size_t not_tight = 0;  // samples that are upper bounds: the GPU had caught up with the host
  std::size_t late = 0;       // samples whose launch, or replay of a graph, found its stream empty
  std::size_t queued = 0;     // samples whose launch stood in the queue; of others it is not known
  // Of the late samples: since their thread waited for the device; median.
  std::optional<double> after_wait_us;
  std::optional<double> raw_us;
  std::optional<Interval> raw_ci95_us;
  std::optional<Spread> raw_spread_us;
  std::optional<double> corrected_us;  // raw less what the event pair adds, at least 0
  std::optional<double> mean_us;       // corrected
  double bias_us = 0.0;
  std::optional<double> offset_us;  // median start within the iteration
  std::optional<Interval> offset_ci95_us;
  // The same as a mean, by the parts of the samples' own iterations: unlike medians, means of one
  // iteration add up.  Empty where the iterations' times cannot be told apart.
  std::optional<double> mean_offset_us;
  std::optional<double> in_iteration_us;  // corrected time of all its calls in one iteration

  SharedText op_kind;  // empty if what it computes is not known
  SharedText source;   // the call or operator that said what it computes; may be empty
  SharedText meeting;  // of a collective: equal on all ranks that take part in it; else empty
  // Of corrected_us: until the device that comes last to the collective is there.
  std::optional<double> waited_us;
  std::optional<double> flops;  // what the operation has to do at least; model/roofline.hpp
  std::optional<double> bytes;
  std::optional<double> predicted_us;
  std::optional<Interval> predicted_ci90_us;
  std::optional<double> vendor_estimate_us;  // JoinOptions::peer
  bool is_sum_of_children = false;           // the prediction; such rows stay out of the errors
  bool is_extrapolated = false;  // nothing was measured that is like this row's operation
  SharedText bound;
  SharedText model;                // "gemm"
  SharedText parameters;           // what they were fitted on, "h200-sxm-141gb bf16"; may be empty
  std::optional<double> p_slower;  // one-sided: that chance alone gives a time as long, or as short
  std::optional<double> p_faster;
  SharedText reason;                // why there is no prediction
  SharedText unmeasured_reason;     // why there is no sample; empty if the file does not say
  std::optional<double> ratio;      // corrected / predicted
  std::optional<double> raw_ratio;  // raw / predicted
  Verdict verdict = Verdict::kNotMeasured;
  std::optional<Isolated> isolated;

  // Most samples are upper bounds.
  [[nodiscard]] bool is_upper_bound() const { return 2 * not_tight > samples; }
  // What a prediction is held against: corrected_us without what was waited for other ranks.
  [[nodiscard]] std::optional<double> working_us() const {
    return corrected_us ? std::optional(*corrected_us - waited_us.value_or(0.0)) : std::nullopt;
  }
};

// The rows of one event on all devices, as the table shows them.
struct MergedRow {
  std::string layer;
  std::string event;
  std::int64_t occurrence = 0;
  std::int64_t calls = 1;
  bool is_region = false;
  bool is_one_launch = false;
  std::optional<std::size_t> parent;  // index into merged
  std::string source;                 // Row::source, where all devices have the same
  std::vector<std::size_t> rows;      // at least one; the devices

  std::size_t samples = 0;
  std::size_t not_tight = 0;
  std::optional<double> raw_us;  // of the samples of all devices together
  std::optional<Interval> raw_ci95_us;
  std::size_t outliers = 0;  // of each device's samples among its own
  std::optional<double> corrected_us;
  std::optional<double> waited_us;        // of it, for other ranks
  double working_part = 1.0;              // of the devices' times, without what they wait
  std::optional<double> slowest_us;       // corrected, of the slowest device
  std::optional<double> in_iteration_us;  // mean over devices
  std::optional<double> share_percent;    // of the iteration, mean over devices
  std::optional<double> predicted_us;     // mean over devices
  std::optional<Interval> predicted_ci90_us;
  std::optional<double> vendor_estimate_us;  // mean over devices
  std::string bound;
  std::string model;
  std::string parameters;
  std::string reason;
  std::optional<double> ratio;
  std::optional<double> raw_ratio;
  Verdict verdict = Verdict::kNotMeasured;
  std::optional<Isolated> isolated;  // of the device that takes longest

  // How much shorter the iteration would be if this took what is predicted for it, on all devices;
  // 0 where it is hidden behind something else, or no slower than predicted.
  std::optional<double> saved_us_if_predicted;
  std::optional<double> iteration_us_if_predicted;  // what is left of it

  // Most samples are upper bounds.
  [[nodiscard]] bool is_upper_bound() const { return 2 * not_tight > samples; }
};

// How one iteration divides up.  Each number as a mean over devices.
struct Shares {
  double predicted = 0.0;
  double measured = 0.0;  // without a prediction
  double seen = 0.0;      // but not measured
  double idle = 0.0;      // or not seen
};

// What a device waits for while it is idle; the words are in idle.cpp.
enum class IdleReason : std::uint8_t {
  kLaunchingThread,    // the launch came late
  kBetweenIterations,  // that of an iteration's first work did
  kSynchronisation,    // the launch came late, its thread had waited for the device
  kOtherStreams,       // or ranks: the launch stood in the queue
  kStarts,             // the same, for no longer than the device takes to begin
  kNotKnown,
};
inline constexpr std::size_t kIdleReasons = 6;

// Idle time before the launches of one layer, or of one event without one.
struct IdleBehind {
  std::string place;
  double us = 0.0;
};

struct IdlePart {
  IdleReason reason = IdleReason::kNotKnown;
  double us = 0.0;  // of an iteration
  std::optional<Interval> ci95_us;
  std::vector<IdleBehind> behind;  // the largest first
};

// Of one device; the parts add up.
struct Idle {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  double idle_us = 0.0;  // Shares::idle
  std::array<IdlePart, kIdleReasons> parts{};
};

// What a device waits in collectives for the one that comes last to them, in an iteration.
struct RankWait {
  std::size_t profile = 0;
  std::int64_t device_id = 0;
  std::size_t for_profile = 0;
  std::int64_t for_device_id = 0;
  double us = 0.0;
  double exposed_us = 0.0;  // of it, with nothing else to do
};

// Kernels of CUDA graphs that overlap by programmatic dependent launch, per iteration: the sum of
// their times, each timed without its overlap, and the replays they are part of.
struct Overlap {
  double one_by_one_us = 0.0;
  double together_us = 0.0;
};

// One input file.
struct Run {
  read::Profile profile;  // its events are joined into rows, and gone unless they were asked for
  std::optional<double> iteration_us;
  std::optional<Interval> iteration_ci95_us;
  std::vector<std::string> machines;  // ids, one for each of profile.devices; "" if not known
};

struct Analysis {
  std::vector<Run> runs;
  std::vector<Row> rows;
  std::vector<MergedRow> merged;  // in order of their first start
  // Corrected samples of each row, for reports that show them; empty unless they were asked for.
  std::vector<std::vector<double>> samples_us;
  std::string machine;         // id; several joined by ","; empty if none is known
  std::string machine_reason;  // why a machine is not known
  double event_bias_us = 0.0;  // median over the measured rows
  // calibration, chain, closure, given, off, none; several joined by ","
  std::string event_bias_source;
  std::string event_bias_detail;  // words about it; may be empty
  // Pair around an empty kernel less one around nothing, or by chain; reported only.
  std::optional<double> kernel_floor_us;
  std::size_t iterations = 0;          // of all runs
  std::optional<double> iteration_us;  // mean over devices
  std::optional<Interval> iteration_ci95_us;
  std::optional<Shares> shares_percent;
  std::optional<Shares> shares_us;
  std::string shares_reason;               // why there are none
  std::vector<Idle> idle;                  // of the devices for which it is known
  std::vector<RankWait> rank_waits;        // of several files; they are times of rows, not idle
  read::WorkGraph works;                   // the outermost rows, and what each seems to wait for
  std::optional<double> longest_path_us;   // through the works
  std::optional<double> all_predicted_us;  // that, if every row met its prediction
  // The longest path through the predictions, measured times where there are none; and through the
  // ends of their intervals.  What the host launches late stays where it is.
  std::optional<double> predicted_path_us;
  std::optional<Interval> predicted_path_ci90_us;
  double predicted_part = 0.0;            // of the works' time: 1 where all have a prediction
  std::string longest_path_reason;        // why there is none
  std::vector<std::size_t> worth_fixing;  // indices into merged, those that save most first
  std::optional<Overlap> overlap;         // if all parts of such a graph were measured
  std::optional<Errors> errors;
  std::optional<Errors> uncorrected_errors;  // the same rows, with raw times
  std::string vendor;                        // who made the estimates; empty: none
  std::optional<Errors> vendor_errors;       // of them, and ours on the same rows
  std::optional<Errors> errors_beside_vendor;
  std::size_t samples = 0;
  std::size_t outliers = 0;                 // of `samples`, see Spread
  std::size_t unmeasured_events = 0;        // seen but not measured
  std::size_t unmeasured_without_time = 0;  // of these, those of unknown duration: in `idle`
  std::map<std::string, std::size_t> unmeasured_reasons;  // of these, where the file says why
  std::size_t dropped_offsets = 0;
  std::size_t negative_times = 0;
  std::vector<std::string> warnings;
};

}  // namespace inline_prof::join
