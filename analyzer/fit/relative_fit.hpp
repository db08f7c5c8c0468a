#pragma once

#include <span>
#include <vector>

namespace inline_prof::fit {

// One measurement of a model that is linear in its coefficients: what they are multiplied with, and
// what came out.
struct LinearSample {
  std::vector<double> terms;
  double value = 0.0;  // greater than 0
};

struct RelativeFit {
  std::vector<double> coefficients;
  double rmspe = 0.0;  // root of the mean square of predicted / measured - 1, on these samples
};

enum class Sign { kAny, kNotNegative };

// The coefficients that minimise the sum of (predicted / measured - 1)^2: each row is divided by
// its value, the columns are scaled to the same length, and one QR decomposition with pivoting
// gives the minimum.  A direction that the samples say nothing about gets 0.
//
// With kNotNegative, the least such sum among coefficients >= 0, found by trying every set of
// coefficients that may be greater than 0: there are at most 2^n, n being 4.
//
// Throws std::invalid_argument for no samples, a value that is not greater than 0, or rows of
// different length.
[[nodiscard]] RelativeFit fit_relative(std::span<const LinearSample> samples,
                                       Sign sign = Sign::kAny);

}  // namespace inline_prof::fit
