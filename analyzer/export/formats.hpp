// Formats for programs, all but the dataset (export/dataset.hpp).
#pragma once

#include "join/analysis.hpp"
#include "join/compare/compare.hpp"
#include "join/ranks/ranks.hpp"
#include "join/ranks/scaling.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace inline_prof::exports {

// The report, schema "inline_prof_report/1" (docs/schemas/report.schema.json).
[[nodiscard]] std::string json_report(const join::Analysis& analysis);

// Comma-separated values (RFC 4180, lines end with \n), a line for each event of each device, in
// order of their start; unknown values are empty fields.
[[nodiscard]] std::string csv_report(const join::Analysis& analysis);

// A mean iteration in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing
// open: a process for each device of each file, a thread for each lane of a stream, and beside it
// one with what was predicted.  It is put together from medians, not from one iteration.
//
// Source of the format: "Trace Event Format", Google, 2016; complete events ("ph": "X"), times in
// microseconds.
[[nodiscard]] std::string perfetto_report(const join::Analysis& analysis);

// The trace as it was, with what is predicted for each kernel, copy and fill in its args.  The rows
// of `analysis` are those of this trace alone.
[[nodiscard]] std::string augmented_trace(const read::torch_trace::TracedWorks& trace,
                                          const join::Analysis& analysis);

// Gauges for node_exporter's textfile collector: the iteration, its shares, the measured overhead,
// and time and ratio of every layer.  Prometheus text format 0.0.4; times in seconds and shares as
// fractions of 1, as its naming rules ask for (https://prometheus.io/docs/practices/naming/).
[[nodiscard]] std::string prometheus_report(const join::Analysis& analysis);

// The tasks of the iteration, for prof-model iteration.
[[nodiscard]] std::string tasks_report(const join::Analysis& analysis);

// The results of the original inline profiler's parse_result(), as print_result() printed them
// (HugeCTR, tools/profiler/__init__.py, 2021): for each file the host, the mean iteration and, for
// each device ("device_0") and stream ("stream_0", numbered over all devices in order of first
// appearance), its events by start_index with the means of their samples.  Means are of raw times;
// nothing is dropped or corrected.  An event without samples, which the original could not hold, is
// left out.
[[nodiscard]] std::string original_report(std::span<const read::Profile> profiles);

// Schema "inline_prof_compare/2" (docs/schemas/compare.schema.json); as CSV a line for the
// iteration, each pattern of layers, each layer and each event.
[[nodiscard]] std::string compare_json(const join::Comparison& comparison);
[[nodiscard]] std::string compare_csv(const join::Comparison& comparison);

// Schema "inline_prof_check/1" (docs/schemas/check.schema.json).
struct CheckedGate {
  std::string gate;    // as the user wrote it
  std::string result;  // "passed"
  join::GateOutcome outcome;
};
[[nodiscard]] std::string check_json(std::span<const CheckedGate> gates, bool is_simulated,
                                     const std::string& doubts);

// Schema "inline_prof_ranks/1" (docs/schemas/ranks.schema.json).
[[nodiscard]] std::string ranks_json(const join::RankComparison& comparison);

// Schema "inline_prof_scaling/1": a time for the iteration of each run, its layer null, then those
// of the layers that take most in any run, at most `most_layers` (0: all).
[[nodiscard]] std::string scaling_json(std::span<const join::ScalingPoint> points,
                                       std::size_t most_layers);

// Schema "inline_prof_history/1" (docs/schemas/history.schema.json); the page of histories shows
// it.
[[nodiscard]] std::string history_json(const join::WatchedRun& run);

// The same as counters in the Trace Event Format; time 0 is the first column's.
[[nodiscard]] std::string history_perfetto(const join::WatchedRun& run);

}  // namespace inline_prof::exports
