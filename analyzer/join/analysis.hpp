// The result of joining measured times and predictions: plain values, computed once, for every
// report.  Times are microseconds; an empty value is not known, and the row says why.
#pragma once

#include "join/diagnose/idle.hpp"
#include "join/diagnose/worth_fixing.hpp"
#include "join/place/merge.hpp"
#include "join/place/placement.hpp"
#include "join/rows/row.hpp"
#include "join/watch/watched_run.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// The sum of kernels one after the other, as means over devices: idle time is no part of it.
struct KernelSum {
  std::size_t rows = 0;
  double measured_us = 0.0;
  double predicted_us = 0.0;
  double error_us = 0.0;  // sum of |predicted - measured|
  Interval ci90_us;       // of predicted_us
};

// How far the predictions of all rows are off.
struct PredictionErrors {
  std::size_t samples = 0;
  std::size_t outliers = 0;    // of `samples`, see Spread
  double event_bias_us = 0.0;  // median over the measured rows
  std::optional<Errors> errors;
  KernelSum calibrated;  // the rows whose prediction has an interval
  KernelSum bounds;      // the others: less time than this they cannot take; without an interval
  // Collectives of which it is not known how long they waited for other ranks: in neither of both,
  // since only their transfer is predicted.  Without an interval.
  KernelSum collectives;
  std::optional<Errors> uncorrected_errors;  // the same rows, with raw times
};

// The facts that the files give about how they were measured, and on what.
struct Sources {
  std::string machine;         // id; several joined by ","; empty if none is known
  std::string machine_reason;  // why a machine is not known
  // calibration, chain, closure, given, off, none; several joined by ","
  std::string event_bias_source;
  std::string event_bias_detail;  // words about it; may be empty
  // Pair around an empty kernel less one around nothing, or by chain; reported only.
  std::optional<double> kernel_floor_us;
  std::size_t iterations = 0;  // of all runs
  std::size_t dropped_offsets = 0;
  std::size_t negative_times = 0;
};

// The results of the stages, side by side.
struct Analysis : Sources, UnmeasuredRows, IterationShares, LongestPathFindings, PredictionErrors {
  std::vector<Run> runs;
  std::vector<Row> rows;
  std::vector<MergedRow> merged;  // in order of their first start
  Placement placement;
  std::vector<Idle> idle;            // of the devices for which it is known
  std::vector<RankWait> rank_waits;  // of several files; they are times of rows, not idle
  std::optional<Overlap> overlap;    // if all parts of such a graph were measured
  // Corrected samples of each row, for reports that show them; empty unless they were asked for.
  std::vector<std::vector<double>> samples_us;
  std::vector<std::string> warnings;
  std::optional<WatchedRun> watched;  // if a file has histories
};

}  // namespace inline_prof::join
