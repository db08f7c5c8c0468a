// The first stage: what was measured, event by event.  Times are microseconds; an empty value is
// not known, and the row says why.
#pragma once

#include "base/median.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace inline_prof::join {

using base::Interval;
using base::kOutlierMads;
using base::median;
using base::median_and_interval95;
using base::median_in_place;
using base::median_interval95_of_sorted;
using base::median_of_sorted;
using base::median_spread;
using base::median_spread_of_sorted;
using base::MedianAndInterval;
using base::Spread;

[[nodiscard]] double mean(std::span<const double> values);

// Returns half the interval in per cent of `value`; empty if one of the two is empty, or the value
// is not above 0.
[[nodiscard]] std::optional<double> half_width_percent(const std::optional<double>& value,
                                                       const std::optional<Interval>& interval);

// How far predictions are from measured times, with e = predicted / measured - 1:
struct Errors {
  std::size_t rows = 0;
  double mape = 0.0;  // mean of |e|
  double gmae = 0.0;  // geometric mean of |e|; an |e| below 1e-6 counts as 1e-6, for its logarithm
  double bias = 0.0;  // mean of e: negative if predictions are too short
  double median_ratio = 0.0;  // median of measured / predicted
};

// Source of GMAE as a measure for kernel models: Z. Lin, L. Feng, E. K. Ardestani, J. Lee, J.
// Lundell, C. Kim, A. Kejariwal, J. D. Owens, "Building a Performance Model for Deep Learning
// Recommendation Model Training on GPUs", HiPC 2022, arXiv:2201.07821.  It is always the smaller of
// the two. Pairs without a positive measured time are left out.  Empty if no pair is left.
struct PredictedAndMeasured {
  double predicted = 0.0;
  double measured = 0.0;
};
[[nodiscard]] std::optional<Errors> prediction_errors(std::span<const PredictedAndMeasured> pairs);

// The time of an iteration, the same one for everything that speaks of it.

// Every report, gate, comparison and table of the dataset takes its time from here.
struct Iteration {
  std::optional<double> us;  // empty: not known, or 0, of which nothing is a share
  std::optional<Interval> ci95_us;
};

// Returns the median of one run's iterations.
[[nodiscard]] Iteration iteration_of(std::span<const double> times_ms);

// Returns the mean over devices.  Ranks of one run are slow together, so the ends of their
// intervals are averaged, too.  Empty if it is not known of one of them.
[[nodiscard]] Iteration mean_iteration(const std::vector<Iteration>& of_devices);

// A text that many rows have in common: a thousand ranks name the same layers.  It takes one
// pointer; every different text stays in memory until the program ends.
class SharedText {
 public:
  SharedText() : SharedText(std::string_view()) {}
  SharedText(std::string_view text);  // NOLINT(google-explicit-constructor): it is a text
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}

  operator const std::string&() const { return *text_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const std::string& str() const { return *text_; }
  [[nodiscard]] bool empty() const { return text_->empty(); }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.text_ == b.text_; }
  friend bool operator==(const SharedText& a, std::string_view b) { return *a.text_ == b; }
  friend bool operator==(const SharedText& a, const char* b) { return *a.text_ == b; }

 private:
  const std::string* text_;
};

// Hashes tuples of such texts and numbers; the place of a text stands for it.
struct SharedHash {
  std::size_t operator()(const SharedText& text) const noexcept {
    return std::hash<const void*>{}(&text.str());
  }
  std::size_t operator()(std::integral auto number) const noexcept {
    return static_cast<std::size_t>(number);
  }
  template <typename... Parts>
  std::size_t operator()(const std::tuple<Parts...>& parts) const noexcept {
    constexpr std::size_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    std::size_t all = 0;
    std::apply([&](const auto&... part) { ((all = (all ^ (*this)(part)) * odd), ...); }, parts);
    return all ^ (all >> 32);
  }
};

template <typename Json>
void to_json(Json& json, const SharedText& text) {
  json = text.str();
}

// As the reason why a row has no prediction.
inline constexpr std::string_view kMachineNotKnown = "machine not known";

// Only a prediction with an interval can call a row slow or fast; a bare bound can only say how far
// away the row is from it.
enum class Verdict : std::uint8_t {
  kNotMeasured,
  kNoPrediction,
  kImpossible,  // faster than its bound allows: bytes or time are wrong
  kAboveBound,  // the prediction is the least time there can be
  kUpperBound,  // longer than predicted, but the time holds some of the host's launching
  kExtrapolated,
  kAsPredicted,
  kSlower,
  kFaster
};

// Doubts about a comparison that the two times do not show.
struct Doubts {
  bool is_extrapolated = false;
  bool is_finding = true;  // outside the interval is more than chance does to one of many rows
  bool may_hold_launching = false;  // the measured time
};

// Judges a measured time that has a prediction.
[[nodiscard]] Verdict judge(double corrected_us, double predicted_us,
                            const std::optional<Interval>& predicted_ci90_us, const Doubts& doubts);

// Whether `us`, the row's time, may: a launch that finds its stream empty begins between the pair
// of events, and not before it, so its time may be what the host took to launch.  A kernel's own
// launch takes no longer than 10 us between its pair: a driver's call takes 2 to 5.
template <typename AnyRow>
[[nodiscard]] bool may_hold_launching(const AnyRow& row, double us) {
  constexpr double longest_launch_us = 10.0;
  return row.is_upper_bound() && !(row.is_one_launch && us > *row.predicted_us + longest_launch_us);
}

// For a reader: "slower", "1.5 of bound" for a ratio of 1.5, "no prediction: REASON".
[[nodiscard]] std::string verdict_text(Verdict verdict, const std::optional<double>& ratio,
                                       const std::string& reason);

// Takes a Row or a MergedRow.
template <typename AnyRow>
[[nodiscard]] std::string verdict_text(const AnyRow& row) {
  return verdict_text(row.verdict, row.ratio, row.reason);
}

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
  SharedText sizes;    // read::sizes_text
  SharedText source;   // the call or operator that said what it computes; may be empty
  SharedText meeting;  // of a collective: equal on all ranks that take part in it; else empty
  // The part of corrected_us until the device that comes last to the collective is there.
  std::optional<double> waited_us;
  std::optional<double> flops;  // what the operation has to do at least; model/roofline.hpp
  std::optional<double> bytes;
  std::optional<double> peak_us;      // of its matrix products at the data sheet's peak
  std::optional<double> possible_us;  // no kernel is faster
  SharedText possible_bound;          // "memory" or "compute"
  std::optional<double> predicted_us;
  std::optional<Interval> predicted_ci90_us;
  // The time of the best kernel that is known for the operation, and how to get there.
  std::optional<double> attainable_us;
  SharedText remedy;
  bool is_sum_of_children = false;  // the prediction; such rows stay out of the errors
  bool is_extrapolated = false;     // nothing was measured that is like this row's operation
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
  std::string event_list;             // event_list_of()
  std::set<std::string> kernels;      // names, of a file without a hash of its event list
  std::vector<std::string> machines;  // ids, one for each of profile.devices; "" if not known
};

// Sets `parent` and `is_region` of every row: a row encloses those whose index range lies within
// its own, on the same device and stream of the same run.  Of two equal ranges the first row
// encloses. Ranges that overlap only in part enclose nothing.
void find_nesting(std::vector<Row>& rows);

// The rows that `parent` says stand directly below each row.
[[nodiscard]] std::vector<std::vector<std::size_t>> children_of(const std::vector<Row>& rows);
// All rows, inner ones before those around them: how deep rows are nested is the file's affair.
[[nodiscard]] std::vector<std::size_t> inner_first(
    const std::vector<std::vector<std::size_t>>& children, const std::vector<Row>& rows);

[[nodiscard]] bool is_collective(const read::Event& event);

// A send, a receive, or a group of these: it waits for its partner alone, and no two ranks make the
// same.
[[nodiscard]] bool is_point_to_point(const read::Op& op);

// "COMM SEQUENCE" of a collective, the same on every rank that takes part; empty if the file does
// not say both.
[[nodiscard]] std::string communicator_of(const read::Op& op);

// The communicators of the sends and receives, as far as the file says them.
[[nodiscard]] std::set<std::string> exchanges_of(const read::Profile& profile);

// Identifies the events in any order, in which ranks need not meet them.  Empty if the file has no
// hash of its event list, or several phases, all of which ranks need not have met.
[[nodiscard]] std::string event_list_of(const read::Profile& profile);

// The kernels, each with its layer, of a file that has no hash of its event list; else nothing.
[[nodiscard]] std::set<std::string> kernels_of(const read::Profile& profile);

// Returns "Block_*/Linear_*" for "Block_12/Linear_36" and "blocks.*.attn" for "blocks.3.attn":
// layers that differ in their numbers only have one pattern.
[[nodiscard]] std::string layer_pattern(std::string_view layer);

}  // namespace inline_prof::join

template <>
struct fmt::formatter<inline_prof::join::SharedText> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const inline_prof::join::SharedText& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
