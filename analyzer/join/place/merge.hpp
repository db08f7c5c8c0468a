#pragma once

#include "join/rows/file_rows.hpp"
#include "join/rows/row.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

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

  // Most samples are upper bounds.
  [[nodiscard]] bool is_upper_bound() const { return 2 * not_tight > samples; }
};

struct MergedRows {
  std::vector<MergedRow> merged;  // in order of their first start
  std::vector<std::string> warnings;
};

// Puts the rows of one event on all devices together: `rows` are timed, and have their verdicts.
[[nodiscard]] MergedRows merge_devices(const std::vector<Row>& rows, const SamplesOfRuns& samples);

// Returns true if none of what encloses the merged row `row` is of its layer.
[[nodiscard]] bool is_outermost_of_layer(const std::vector<MergedRow>& merged, std::size_t row);

}  // namespace inline_prof::join
