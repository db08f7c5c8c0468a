#include "fit/suggest.hpp"

#include "model/calibrated/gemm/gemm.hpp"

#include <Eigen/Core>

#include <algorithm>

namespace inline_prof::fit {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The noise of a measurement, in logarithms.
constexpr double kNoise = 0.02;

}  // namespace

std::vector<model::GemmShape> suggest_products(const read::Parameters& parameters,
                                               const read::Machine& machine,
                                               std::span<const model::GemmShape> candidates,
                                               std::size_t count) {
  const model::CalibratedGemm gemm(parameters, machine);
  MatrixXd covariance = gemm.log_time_covariance(candidates);
  std::vector<bool> is_taken(candidates.size());
  std::vector<model::GemmShape> chosen;
  while (chosen.size() < std::min(count, candidates.size())) {
    Index best = -1;
    double most = -1;
    for (Index i = 0; i < covariance.rows(); ++i) {
      if (is_taken[static_cast<std::size_t>(i)]) continue;
      const double gain = covariance.col(i).squaredNorm() / (covariance(i, i) + kNoise * kNoise);
      if (gain <= most) continue;
      best = i;
      most = gain;
    }
    const auto at = static_cast<std::size_t>(best);
    is_taken[at] = true;
    chosen.push_back(candidates[at]);
    const VectorXd told = covariance.col(best);
    covariance -= told * told.transpose() / (told[best] + kNoise * kNoise);
  }
  return chosen;
}

}  // namespace inline_prof::fit
