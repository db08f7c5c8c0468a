// The first stage: what was measured, event by event.  Times are microseconds; an empty value is
// not known, and the row says why.
#pragma once

#include "join/rows/shared_text.hpp"
#include "join/rows/statistics.hpp"
#include "join/rows/verdict.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
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

// The answer of one model for a row, among all that were asked.
struct ModelTime {
  SharedText model;
  std::optional<double> predicted_us;
  std::optional<Interval> predicted_ci90_us;
  SharedText reason;  // why there is no time
};

// One event of one device.
struct Row {
  std::size_t profile = 0;  // index into the runs
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
  // Median of the late samples: the time since their thread waited for the device.
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
  // The part of corrected_us until the device that comes last to the collective is there.
  std::optional<double> waited_us;
  std::optional<double> flops;  // what the operation has to do at least; model/roofline.hpp
  std::optional<double> bytes;
  std::optional<double> peak_us;      // of its matrix products at the data sheet's peak
  std::optional<double> possible_us;  // of a bare bound: no kernel is faster
  std::optional<double> predicted_us;
  std::optional<Interval> predicted_ci90_us;
  // The time of the best kernel that is known for the operation, and how to get there.
  std::optional<double> attainable_us;
  SharedText remedy;
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
  std::vector<ModelTime> by_model;  // JoinOptions::each_model

  // Most samples are upper bounds.
  [[nodiscard]] bool is_upper_bound() const { return 2 * not_tight > samples; }
  // Returns corrected_us without what was waited for other ranks: predictions are held against it.
  [[nodiscard]] std::optional<double> working_us() const {
    return corrected_us ? std::optional(*corrected_us - waited_us.value_or(0.0)) : std::nullopt;
  }
};

using DeviceKey = std::pair<std::size_t, std::int64_t>;  // run, device_id

[[nodiscard]] inline DeviceKey device_of(const Row& row) {
  return {row.profile, row.device_id};
}

// One input file.
struct Run {
  read::Profile profile;  // its events are joined into rows, and gone unless they were asked for
  Iteration iteration;
  std::set<std::string> exchanges;    // communicators of its sends and receives
  std::vector<std::string> machines;  // ids, one for each of profile.devices; "" if not known
};

}  // namespace inline_prof::join
