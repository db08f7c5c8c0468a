// Measures how far predictions are from measured times: the usual measures, and those of the DLRM
// models to the digit (docs/models/tables.md).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::base {

struct Judged {
  double predicted_us = 0.0;
  double measured_us = 0.0;  // > 0
  std::optional<double> lower_us;
  std::optional<double> upper_us;
};

// With e = predicted / measured - 1; fractions, not percent.
struct ErrorSummary {
  std::size_t count = 0;
  double mape = 0.0;               // mean of |e|
  double median = 0.0;             // of |e|
  double p90 = 0.0;                // of |e|
  double worst = 0.0;              // largest |e|
  double bias = 0.0;               // mean of e: negative if predictions are too short
  double gmae = 0.0;               // geometric mean of |e|, where an |e| below 1e-6 counts as 1e-6
  double within_10 = 0.0;          // share of rows with |e| <= 10 %
  std::optional<double> coverage;  // share of rows whose interval holds the measured time
  std::optional<double> median_width;  // of (upper - lower) / predicted / 2
};

// Returns nothing for no rows.
[[nodiscard]] std::optional<ErrorSummary> summarize(std::span<const Judged> rows);

// The measures of the DLRM models (owensgroup/ml_perf_model, analysis/utils.py at 5b2522a), to the
// digit.  0.0004 is added to every |e| for its logarithm, so that a perfect prediction has a GMAE
// of 0.04 %, not 0.
struct OriginalErrors {
  double gmae = 0.0;  // exp(mean(ln(|e| + 0.0004)))
  double mape = 0.0;
  // Sample standard deviations, of |e| and, which the original uses for embeddings, of e; empty for
  // fewer than two rows.
  std::optional<double> std_absolute;
  std::optional<double> std_signed;
};
[[nodiscard]] std::optional<OriginalErrors> original_errors(std::span<const Judged> rows);

// Returns the values within 1.5 interquartile ranges of the quartiles, in their order: the DLRM
// models average these (ibid.).
[[nodiscard]] std::vector<double> without_outliers(std::span<const double> values);

// Returns the value below which the share `q` of the values lies, interpolated linearly between two
// of them (numpy's "linear", type 7 of R. J. Hyndman, Y. Fan, The American Statistician 50(4),
// 1996). Throws std::invalid_argument if empty.
[[nodiscard]] double quantile(std::vector<double> values, double q);

}  // namespace inline_prof::base
