#include "fit/calibration_fit.hpp"

#include "base/error_metrics.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kMostMaternPoints = 400;
constexpr int kMostSteps = 60;
constexpr double kLeastGain = 1e-3;  // of the log probability: less does not change a prediction

// -ln p(targets | scales) - ln p(scales), less what does not depend on the scales, and its
// gradient. A position is the logarithms of the lengths, then of signal and noise.
class Improbability {
 public:
  Improbability(const MatrixXd& features, VectorXd targets, VectorXd noise_factors,
                const MaternPrior& prior)
      : targets_(std::move(targets)), noise_factors_(std::move(noise_factors)) {
    const Index count = features.rows();
    for (Index j = 0; j < features.cols(); ++j) {
      const Eigen::ArrayXd x = features.col(j).array();
      differences_.emplace_back(
          (x.replicate(1, count) - x.transpose().replicate(count, 1)).square());
    }
    const Index size = features.cols() + 2;
    centre_ = VectorXd::Constant(size, std::log(prior.length));
    variance_ = VectorXd::Constant(size, prior.length_variance);
    centre_[size - 2] = std::log(prior.signal);
    variance_[size - 2] = prior.signal_variance;
    centre_[size - 1] = std::log(prior.noise);
    variance_[size - 1] = prior.noise_variance;
  }

  [[nodiscard]] const VectorXd& centre() const { return centre_; }

  [[nodiscard]] double operator()(const VectorXd& position, VectorXd& gradient) const {
    const Index count = targets_.size();
    const Index size = position.size();
    ArrayXXd squared = ArrayXXd::Zero(count, count);
    for (Index j = 0; j < size - 2; ++j) {
      squared += std::exp(-2 * position[j]) * differences_[static_cast<std::size_t>(j)];
    }
    const double signal = std::exp(position[size - 2]);
    const double noise_variance = std::exp(2 * position[size - 1]);
    const ArrayXXd r = (3.0 * squared).sqrt();
    const ArrayXXd decay = signal * signal * (-r).exp();
    const ArrayXXd signal_part = (1.0 + r) * decay;
    MatrixXd covariance = signal_part.matrix();
    covariance.diagonal() += noise_variance * noise_factors_;
    const Eigen::LLT<MatrixXd> decomposition(covariance);
    if (decomposition.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VectorXd weights = decomposition.solve(targets_);

    const VectorXd pull = position - centre_;
    double value =
        0.5 * targets_.dot(weights) + 0.5 * pull.cwiseAbs2().cwiseQuotient(variance_).sum();
    for (Index i = 0; i < count; ++i) {
      value += std::log(decomposition.matrixLLT()(i, i));
    }
    // d value = trace((K^-1 - w w') dK) / 2, dK as ln(length), ln(signal), ln(noise) change.
    const MatrixXd slope =
        decomposition.solve(MatrixXd::Identity(count, count)) - weights * weights.transpose();
    gradient = pull.cwiseQuotient(variance_);
    const ArrayXXd by_length = 1.5 * slope.array() * decay;
    for (Index j = 0; j < size - 2; ++j) {
      gradient[j] += std::exp(-2 * position[j]) *
                     (by_length * differences_[static_cast<std::size_t>(j)]).sum();
    }
    gradient[size - 2] += (slope.array() * signal_part).sum();
    gradient[size - 1] += noise_variance * slope.diagonal().dot(noise_factors_);
    return value;
  }

 private:
  VectorXd targets_;
  VectorXd noise_factors_;
  std::vector<ArrayXXd> differences_;  // squared, of each feature
  VectorXd centre_, variance_;
};

// BFGS with backtracking (J. Nocedal, S. Wright, "Numerical Optimization", 2006, algorithm 6.1).
struct Minimum {
  VectorXd position;
  double value;
};

Minimum minimise(const Improbability& function, VectorXd position) {
  constexpr double first_step = 0.02;
  const Index size = position.size();
  VectorXd gradient(size), next_gradient(size);
  double value = function(position, gradient);
  MatrixXd inverse = first_step * MatrixXd::Identity(size, size);
  for (int step = 0; step < kMostSteps; ++step) {
    VectorXd direction = -(inverse * gradient);
    if (direction.dot(gradient) >= 0) {
      inverse = first_step * MatrixXd::Identity(size, size);
      direction = -(inverse * gradient);
    }
    direction /= std::max(1.0, direction.cwiseAbs().maxCoeff());
    double length = 1.0;
    double next_value = value;
    VectorXd next;
    bool is_lower = false;
    for (int halving = 0; halving < 12 && !is_lower; ++halving, length *= 0.4) {
      next = position + length * direction;
      next_value = function(next, next_gradient);
      is_lower = next_value < value + 1e-4 * length * direction.dot(gradient);
    }
    if (!is_lower) break;
    const VectorXd moved = next - position;
    const VectorXd bent = next_gradient - gradient;
    const double curvature = moved.dot(bent);
    if (curvature > 1e-10) {
      const VectorXd mapped = inverse * bent;
      inverse += (1 + bent.dot(mapped) / curvature) / curvature * moved * moved.transpose() -
                 (mapped * moved.transpose() + moved * mapped.transpose()) / curvature;
    }
    const double gain = value - next_value;
    position = next;
    gradient = next_gradient;
    value = next_value;
    if (gain < kLeastGain) break;
  }
  return {position, value};
}

// A residual of 15 % is usual for a library's choice of kernel; more is one that went wrong.
constexpr double kUsualResidual = 0.15;
// The longest list of a conformal table; its quantiles stand for more.
constexpr std::size_t kMostScores = 500;

std::vector<Index> without(Index count, const std::vector<Index>& held_out) {
  const std::set<Index> out(held_out.begin(), held_out.end());
  std::vector<Index> rest;
  for (Index i = 0; i < count; ++i) {
    if (!out.contains(i)) rest.push_back(i);
  }
  return rest;
}

// The process that a parameter file can hold, of what `rows` say.
struct RowsProcess {
  InducedProcess induced;
  std::vector<Index> points;  // rows of the input
  model::MaternProcess process;
};

RowsProcess process_of(const CalibrationInput& input, const model::MaternScales& scales,
                       const VectorXd& targets, const std::vector<Index>& rows) {
  const VectorXd own = targets(rows);
  const MatrixXd features = input.features(rows, Eigen::all);
  RowsProcess result;
  result.induced =
      induce(scales, features, own, noise_factors_of(own, kUsualResidual), input.most_points);
  const InducedProcess& induced = result.induced;
  for (const Index point : induced.points)
    result.points.push_back(rows[static_cast<std::size_t>(point)]);
  result.process = {scales, features(induced.points, Eigen::all), induced.targets,
                    induced.noise_factors};
  return result;
}

struct HeldOut {
  std::size_t fold;
  Index row;
  double residual;  // ln(measured / predicted)
  double growth;    // of errors at this distance from the nearest row of the fit
};

// Residuals beyond this share of all are taken for this large where they say what is usual nearby:
// a single wild one would hide others.
constexpr double kTame = 0.95;
// Rows of a grid are equally far from each other.  The last digits, which differ from one processor
// to another, must not choose among them: they would choose another process.
constexpr double kSame = 1e-7;

// Returns the first of the largest values, which are >= 0.
Index first_largest(const VectorXd& values) {
  Index first = 0;
  const double least = values.maxCoeff() * (1 - kSame);
  while (values[first] < least)
    ++first;
  return first;
}

// A fit that is nearer than a hundredth of a percent has seen no noise.
constexpr double kLeastError = 1e-4;

void judge_fold(const CalibrationInput& input, const model::MaternScales& scales,
                std::size_t number, std::vector<HeldOut>& results) {
  const std::vector<Index>& fold = input.folds[number];
  const std::vector<Index> training = without(input.log_measured.size(), fold);
  const VectorXd log_analytic = input.refit(training);
  const VectorXd targets = input.log_measured - log_analytic;
  const model::MaternProcess process = process_of(input, scales, targets, training).process;
  for (const Index row : fold) {
    const auto point = process.estimate(input.features.row(row).transpose());
    const double correction = std::log(model::bounded_correction(scales, point.mean));
    results.push_back(
        {number, row, targets[row] - correction, model::error_growth(point.distance)});
  }
}

// The errors of held-out rows around each point of a process.
class ErrorsNearby {
 public:
  ErrorsNearby(const CalibrationInput& input, const model::MaternProcess& process, Index points,
               const std::vector<HeldOut>& results)
      : sums_(static_cast<std::size_t>(points)) {
    std::vector<double> errors;
    errors.reserve(results.size());
    for (const HeldOut& result : results)
      errors.push_back(std::abs(result.residual) / result.growth);
    const double most = std::max(kLeastError, base::quantile(errors, kTame));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double error = std::clamp(errors[i], kLeastError, most);
      Place& place = places_[results[i].row];
      if (place.own.folds == 0) {
        place.distances = process.distances(input.features.row(results[i].row).transpose());
        place.nearest = first_largest((1 + place.distances).inverse().matrix());
      }
      place.own.add(error);
      sums_[static_cast<std::size_t>(place.nearest)].add(error);
      all_.add(error);
    }
  }

  // As if next to a fitted row: the mean of the errors that are nearest to each point.
  [[nodiscard]] Eigen::ArrayXd usual() const {
    Eigen::ArrayXd usual(static_cast<Index>(sums_.size()));
    for (Index i = 0; i < usual.size(); ++i) {
      const Sum& sum = sums_[static_cast<std::size_t>(i)];
      usual[i] = model::rounded(sum.folds == 0 ? all_.mean() : sum.mean());  // as the file says it
    }
    return usual;
  }

  // Returns the error to expect at this row by the other rows.
  [[nodiscard]] double without(Index row, Eigen::ArrayXd usual) const {
    const Place& place = places_.at(row);
    const Sum& sum = sums_[static_cast<std::size_t>(place.nearest)];
    Eigen::ArrayXd distances = place.distances;
    if (sum.folds > place.own.folds) {
      usual[place.nearest] = (sum.errors - place.own.errors) / (sum.folds - place.own.folds);
    } else {
      distances[place.nearest] = std::numeric_limits<double>::infinity();
    }
    return model::LocalScale(std::move(usual)).at(distances);
  }

 private:
  struct Sum {
    double errors = 0, folds = 0;
    void add(double error) {
      errors += error;
      folds += 1;
    }
    [[nodiscard]] double mean() const { return errors / folds; }
  };
  struct Place {
    Index nearest = 0;
    Eigen::ArrayXd distances;
    Sum own;
  };

  std::vector<Sum> sums_;  // of each point
  std::map<Index, Place> places_;
  Sum all_;
};

// Holds whole stacks out, for the interval of a product whose stack nobody knows.
void judge_stacks(const CalibrationInput& input, const std::vector<HeldOut>& by_shape,
                  const RowsProcess& rows, CalibrationResult& result,
                  std::map<std::string, std::vector<double>, std::less<>>& scores) {
  if (input.stacks.empty()) return;
  const Index count = input.log_measured.size();
  const VectorXd targets = input.log_measured - input.log_analytic;
  std::vector<double>& own = scores[model::ConformalTable::kOtherStack];
  std::vector<double> sigmas;
  for (const std::vector<Index>& stack : input.stacks) {
    double error = 0, held_out = 0;
    for (const HeldOut& held : by_shape) {
      if (!std::binary_search(stack.begin(), stack.end(), held.row)) continue;
      error += std::abs(std::expm1(-held.residual));
      held_out += 1;
    }
    result.stack_mapes.push_back(error / held_out);
    const model::MaternProcess process =
        process_of(input, result.scales, targets, without(count, stack)).process;
    for (const Index row : stack) {
      const VectorXd features = input.features_elsewhere.row(row).transpose();
      const double correction =
          std::log(model::bounded_correction(result.scales, process.mean(features)));
      const double residual =
          input.log_measured[row] - input.log_analytic_elsewhere[row] - correction;
      const Eigen::ArrayXd distances = rows.process.distances(features);
      sigmas.push_back(result.scale.at(distances) * model::error_growth(distances.minCoeff()));
      own.push_back(residual / sigmas.back());
      result.other_stack_mape += std::abs(std::expm1(-residual)) / static_cast<double>(count);
    }
  }
  const auto range = model::ConformalTable(scores).range(model::ConformalTable::kOtherStack, 0.9);
  for (double& sigma : sigmas)
    sigma = (std::exp(range.upper * sigma) - std::exp(range.lower * sigma)) / 2;
  result.other_stack_half_width = base::quantile(std::move(sigmas), 0.5);
}

// Evenly spread ranks of a long list, its ends among them.
std::vector<double> thinned(std::vector<double> scores) {
  if (scores.size() <= kMostScores) return scores;
  std::ranges::sort(scores);
  std::vector<double> kept;
  for (std::size_t i = 0; i < kMostScores; ++i)
    kept.push_back(scores[i * (scores.size() - 1) / (kMostScores - 1)]);
  return kept;
}

void judge(const CalibrationInput& input, const std::vector<HeldOut>& results,
           const std::vector<double>& sigmas, const RowsProcess& rows, CalibrationResult& result) {
  const auto regime_of = [&](const HeldOut& held) {
    if (held.fold == input.longest_fold) return std::string(model::ConformalTable::kLonger);
    return input.regimes.empty() ? std::string(model::ConformalTable::kAll)
                                 : input.regimes[static_cast<std::size_t>(held.row)];
  };
  std::map<std::string, std::vector<double>, std::less<>> scores;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double score = results[i].residual / sigmas[i];
    scores[model::ConformalTable::kAll].push_back(score);
    const std::string regime = regime_of(results[i]);
    if (regime != model::ConformalTable::kAll) scores[regime].push_back(score);
  }
  judge_stacks(input, results, rows, result, scores);
  for (auto& [regime, values] : scores)
    values = thinned(std::move(values));
  result.table = input.longest_fold ? model::ConformalTable(std::move(scores),
                                                            std::exp(input.log_measured.maxCoeff()))
                                    : model::ConformalTable(std::move(scores));
  std::vector<double> widths;
  double inside = 0, error = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto range = result.table.range(regime_of(results[i]), 0.9);
    const double score = results[i].residual / sigmas[i];
    if (score >= range.lower && score <= range.upper) inside += 1;
    error += std::abs(std::expm1(-results[i].residual));
    widths.push_back((std::exp(range.upper * sigmas[i]) - std::exp(range.lower * sigmas[i])) / 2);
  }
  const auto count = static_cast<double>(results.size());
  result.held_out_mape = error / count;
  result.held_out_coverage = inside / count;
  result.median_half_width = base::quantile(std::move(widths), 0.5);
}

}  // namespace

model::MaternScales fit_matern_scales(const MatrixXd& features, const VectorXd& targets,
                                      const VectorXd& noise_factors, const MaternPrior& prior) {
  // Tables come sorted, so the rows that are taken are spread over all.
  const Index count = std::min(kMostMaternPoints, features.rows());
  std::vector<Index> taken;
  for (Index i = 0; i < count; ++i)
    taken.push_back(i * features.rows() / count);
  const Improbability function(features(taken, Eigen::all), targets(taken), noise_factors(taken),
                               prior);
  const VectorXd& centre = function.centre();
  Minimum best = minimise(function, centre);
  // The search may stop short of the best lengths: from shorter and longer ones, too.
  for (const double factor : {0.5, 2.0}) {
    VectorXd start = centre;
    start.head(features.cols()).array() += std::log(factor);
    Minimum other = minimise(function, std::move(start));
    if (other.value < best.value) best = std::move(other);
  }
  const VectorXd& found = best.position;
  const Index size = found.size();
  // As the file has them, since everything that follows depends on them.
  const VectorXd scales = found.unaryExpr([](double log) { return model::rounded(std::exp(log)); });
  return {.length = scales.head(size - 2), .signal = scales[size - 2], .noise = scales[size - 1]};
}

namespace {

// The noise of an induced target, as a part of a measurement's variance: enough for a decomposition
// that rounded numbers of a file do not upset.
constexpr double kInducedNoise = 0.05;

// Returns the squared distances of one row of `scaled` to all.
VectorXd covariance_with(const MatrixXd& scaled, double signal, Index row) {
  const Eigen::ArrayXd squared =
      (scaled.rowwise() - scaled.row(row)).rowwise().squaredNorm().array();
  return model::matern_covariance(signal, squared).matrix();
}

std::vector<Index> telling_rows(const MatrixXd& scaled, double signal, Index most) {
  const Index count = scaled.rows();
  MatrixXd lower = MatrixXd::Zero(count, most);
  VectorXd unexplained = VectorXd::Constant(count, signal * signal);
  std::vector<Index> rows;
  for (Index step = 0; step < most; ++step) {
    const Index next = first_largest(unexplained);
    const double variance = unexplained[next];
    if (variance < 1e-9 * signal * signal) break;  // all others are copies
    VectorXd column = covariance_with(scaled, signal, next) -
                      lower.leftCols(step) * lower.row(next).head(step).transpose();
    column /= std::sqrt(variance);
    lower.col(step) = column;
    unexplained = (unexplained - column.cwiseAbs2()).cwiseMax(0);
    unexplained[next] = 0;
    rows.push_back(next);
  }
  return rows;
}

}  // namespace

InducedProcess induce(const model::MaternScales& scales, const MatrixXd& features,
                      const VectorXd& targets, const VectorXd& noise_factors, Index most) {
  InducedProcess process;
  if (features.rows() <= most) {
    for (Index i = 0; i < features.rows(); ++i)
      process.points.push_back(i);
    process.targets = targets;
    process.noise_factors = noise_factors;
    return process;
  }
  const MatrixXd scaled = features * scales.length.cwiseInverse().asDiagonal();
  process.points = telling_rows(scaled, scales.signal, most);
  const auto count = static_cast<Index>(process.points.size());
  MatrixXd to_rows(count, features.rows());
  for (Index i = 0; i < count; ++i) {
    to_rows.row(i) =
        covariance_with(scaled, scales.signal, process.points[static_cast<std::size_t>(i)])
            .transpose();
  }
  const MatrixXd between = to_rows(Eigen::all, process.points);
  const double noise = scales.noise * scales.noise;
  const VectorXd certainty = (noise * noise_factors).cwiseInverse();
  MatrixXd system = between + to_rows * certainty.asDiagonal() * to_rows.transpose();
  system.diagonal().array() += 1e-6 * scales.signal * scales.signal;
  const VectorXd weights = system.ldlt().solve(to_rows * certainty.cwiseProduct(targets));
  process.noise_factors = VectorXd::Constant(count, kInducedNoise);
  process.targets = between * weights + kInducedNoise * noise * weights;
  return process;
}

VectorXd noise_factors_of(const VectorXd& targets, double usual) {
  // 9: a point twice as wild as usual has six times the usual noise.
  return targets.unaryExpr([usual](double target) {
    const double times = std::abs(target) / usual;
    return times > 1 ? 9 * times * times : 1.0;
  });
}

CalibrationResult fit_calibration(const CalibrationInput& input) {
  const Index count = input.log_measured.size();
  if (count < kLeastCalibrationRows) throw std::invalid_argument("calibration: too few rows");
  CalibrationResult result;
  const VectorXd targets = input.log_measured - input.log_analytic;
  result.scales =
      fit_matern_scales(input.features, targets, noise_factors_of(targets, kUsualResidual));

  RowsProcess rows = process_of(input, result.scales, targets, without(count, {}));
  double error = 0;
  for (Index i = 0; i < count; ++i) {
    const double correction = std::log(model::bounded_correction(
        result.scales, rows.process.mean(input.features.row(i).transpose())));
    error += std::abs(std::expm1(correction - targets[i]));
  }
  result.in_sample_mape = error / static_cast<double>(count);

  std::vector<HeldOut> results;
  for (std::size_t fold = 0; fold < input.folds.size(); ++fold)
    judge_fold(input, result.scales, fold, results);
  if (results.empty()) throw std::invalid_argument("calibration: no folds");
  const ErrorsNearby nearby(input, rows.process, static_cast<Index>(rows.points.size()), results);
  const Eigen::ArrayXd usual = nearby.usual();
  std::vector<double> sigmas;
  sigmas.reserve(results.size());
  for (const HeldOut& held : results)
    sigmas.push_back(nearby.without(held.row, usual) * held.growth);
  result.scale = model::LocalScale(usual);
  judge(input, results, sigmas, rows, result);
  result.points = std::move(rows.points);
  result.targets = std::move(rows.induced.targets);
  result.noise_factors = std::move(rows.induced.noise_factors);
  return result;
}

std::vector<std::vector<Index>> folds_by_key(const VectorXd& keys, Index count) {
  const std::set<double> distinct(keys.data(), keys.data() + keys.size());
  std::map<double, Index> fold_of;
  for (const double key : distinct) {
    const auto next = static_cast<Index>(fold_of.size()) % count;
    fold_of.emplace(key, next);
  }
  std::vector<std::vector<Index>> folds(static_cast<std::size_t>(count));
  for (Index i = 0; i < keys.size(); ++i)
    folds[static_cast<std::size_t>(fold_of[keys[i]])].push_back(i);
  std::erase_if(folds, [&](const auto& fold) {
    return fold.empty() || static_cast<Index>(fold.size()) == keys.size();
  });
  return folds;
}

}  // namespace inline_prof::fit
