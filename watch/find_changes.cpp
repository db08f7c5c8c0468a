#include "base/median.hpp"
#include "watch/change_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace inline_prof::watch {
namespace {

constexpr std::size_t kFewestBins = 8;          // two lines and the noise
constexpr std::size_t kFewestOnASide = 3;       // bins
constexpr double kSmallestChangeOfBins = 0.02;  // a bucket of a sketch

// A change has lasted so long, and for such a share of the history.
constexpr double kShortestSeconds = 1800;
constexpr double kShortestShare = 0.02;

struct Point {
  double time_s;
  double level;  // logarithm of the median
  double weight;
};

// Returns the quantile as a number of buckets, interpolated within its bucket: quantile() returns
// the middle of one, which is too coarse for small changes.
double bucket_at(const QuantileSketch& sketch, double q) {
  const double rank = q * static_cast<double>(sketch.count());
  double seen = 0;
  for (std::size_t i = 0; i < sketch.counts().size(); ++i) {
    const double count = sketch.counts()[i];
    if (count > 0 && seen + count >= rank)
      return sketch.first_bucket() - 1 + static_cast<double>(i) + (rank - seen) / count;
    seen += count;
  }
  return sketch.first_bucket() - 1 + static_cast<double>(sketch.counts().size());
}

// The jump that explains points best, beside a straight line through all of them.
struct Jump {
  std::size_t at = 0;  // first point behind it; 0: none
  double size = 0;
  double deviation = 0;  // of `size`
};

using Column = std::vector<double>;

Jump best_jump(std::span<const Point> points) {
  const auto product = [&](const Column& a, const Column& b) {
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      sum += points[i].weight * a[i] * b[i];
    return sum;
  };
  const auto subtract = [&](Column& values, const Column& column) {
    const double square = product(column, column);
    const double factor = square > 0 ? product(values, column) / square : 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      values[i] -= factor * column[i];
  };
  const Column one(points.size(), 1);
  Column time;
  Column rest;
  for (const Point& point : points) {
    time.push_back(point.time_s - points[0].time_s);
    rest.push_back(point.level);
  }
  subtract(time, one);
  subtract(rest, one);
  subtract(rest, time);

  Jump best;
  double most = 0;
  Column errors;
  for (std::size_t at = kFewestOnASide; at + kFewestOnASide <= points.size(); ++at) {
    Column step = one;
    std::fill(step.begin(), step.begin() + static_cast<std::ptrdiff_t>(at), 0.0);
    subtract(step, one);
    subtract(step, time);
    const double square = product(step, step);
    const double size = square > 0 ? product(step, rest) / square : 0;
    if (size * size * square <= most) continue;
    most = size * size * square;
    errors = rest;
    subtract(errors, step);
    const double variance = product(errors, errors) / static_cast<double>(points.size() - 3);
    best = {.at = at, .size = size, .deviation = std::sqrt((variance + 1e-12) / square)};
  }
  if (best.at == 0) return best;
  // Neighbours that err alike tell less than their number. Errors around a fitted line look less
  // alike than they are.
  double alike = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    alike += errors[i] * errors[i - 1] * std::sqrt(points[i].weight * points[i - 1].weight);
  const double bias = 3 / static_cast<double>(points.size());
  const double correlation = std::clamp(alike / (product(errors, errors) + 1e-12) + bias, 0.0, 0.9);
  best.deviation *= std::sqrt((1 + correlation) / (1 - correlation));
  return best;
}

// Returns the probability that Student's t with `degrees` degrees of freedom is larger, either way.
// Source: D. L. Wallace, "Bounds on normal approximations to Student's and the chi-square
// distributions", Annals of Mathematical Statistics 30(4), 1959, doi:10.1214/aoms/1177706100.
double student_tail(double t, double degrees) {
  const double z =
      (8 * degrees + 1) / (8 * degrees + 3) * std::sqrt(degrees * std::log(1 + t * t / degrees));
  return std::erfc(z / std::sqrt(2.0));
}

void find_in(std::span<const Bin> bins, std::span<const Point> points, double alarms_per_second,
             std::vector<Change>& changes) {
  if (bins.size() < kFewestBins) return;
  const Jump jump = best_jump(points);
  if (jump.at == 0) return;
  const double seconds = bins.back().end_s - bins.front().start_s;
  const double tail =
      student_tail(jump.size / jump.deviation, static_cast<double>(bins.size() - 3));
  if (std::abs(jump.size) < kSmallestChangeOfBins ||
      tail * static_cast<double>(bins.size()) > alarms_per_second * seconds)
    return;
  const auto level = [&](std::size_t begin, std::size_t end) {
    std::vector<double> levels;
    for (std::size_t i = begin; i < end; ++i)
      levels.push_back(points[i].level);
    return base::median(std::move(levels));
  };
  // The bins at the jump must show it, too: a bend of the line is none.
  const double before = level(jump.at - kFewestOnASide, jump.at);
  const double after = level(jump.at, jump.at + kFewestOnASide);
  if ((after - before) / jump.size < 0.5) return;
  // The newest bins are a minute wide, and share what older bins average.
  const double least_s = std::max(kShortestSeconds, kShortestShare * seconds);
  if (bins.back().end_s - bins[jump.at].start_s < least_s) return;
  find_in(bins.first(jump.at), points.first(jump.at), alarms_per_second, changes);
  const double size = after - before;
  // The bin at the jump may hold samples of both, so two estimates may differ.
  const double doubt = jump.size - size;
  const double deviation = std::sqrt(jump.deviation * jump.deviation + doubt * doubt);
  changes.push_back({.began_s = bins[jump.at].start_s,
                     .detected_s = bins[jump.at + kFewestOnASide - 1].end_s,
                     .began_iteration = bins[jump.at].first_iteration,
                     .before_ns = std::exp(before),
                     .after_ns = std::exp(after),
                     .ratio = std::exp(size),
                     .ratio_low = std::exp(size - 2 * deviation),
                     .ratio_high = std::exp(size + 2 * deviation)});
  find_in(bins.subspan(jump.at), points.subspan(jump.at), alarms_per_second, changes);
}

}  // namespace

std::vector<Change> find_changes(std::span<const Bin> bins, double false_alarms_per_month,
                                 std::size_t series) {
  std::vector<Bin> filled;
  std::copy_if(bins.begin(), bins.end(), std::back_inserter(filled),
               [](const Bin& bin) { return bin.sketch.count() > 0; });
  const double log_of_ratio = std::log(QuantileSketch::kRatio);
  std::vector<Point> points;
  std::vector<double> variances;  // of a sample, by bin
  double samples = 0;
  double pooled = 0;
  for (const Bin& bin : filled) {
    const double quarters = bucket_at(bin.sketch, 0.75) - bucket_at(bin.sketch, 0.25);
    const auto count = static_cast<double>(bin.sketch.count());
    const double deviation = quarters * log_of_ratio / 1.35;
    variances.push_back(deviation * deviation);
    pooled += variances.back() * count;
    samples += count;
    points.push_back({.time_s = (bin.start_s + bin.end_s) / 2,
                      .level = bucket_at(bin.sketch, 0.5) * log_of_ratio,
                      .weight = 0});
  }
  if (points.size() < kFewestBins) return {};
  pooled /= samples;
  std::vector<double> excesses;  // of squared steps between neighbours over what samples explain
  for (std::size_t i = 0; i < points.size(); ++i) {
    // 1.57: the variance of a median over that of a mean. A few samples tell no variance.
    variances[i] =
        1.57 * std::max(variances[i], pooled) / static_cast<double>(filled[i].sketch.count());
    if (i == 0) continue;
    const double step = points[i].level - points[i - 1].level;
    // 0.455: the median of a squared normal variable.
    excesses.push_back((step * step / 0.455 - variances[i] - variances[i - 1]) / 2);
  }
  const double between = std::max(base::median(std::move(excesses)), 1e-6);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].weight = 1 / (between + variances[i]);
  std::vector<Change> changes;
  find_in(filled, points, false_alarms_per_second(false_alarms_per_month, series), changes);
  return changes;
}

bool are_together(const Change& a, const Change& b) {
  // A change is known to a block or two, of which there are at least four until it is found.
  constexpr double least_distance_s = 120;
  const double distance =
      std::max({least_distance_s, (a.detected_s - a.began_s) / 4, (b.detected_s - b.began_s) / 4});
  return (a.ratio > 1) == (b.ratio > 1) && std::abs(a.began_s - b.began_s) <= distance;
}

std::vector<ChangeGroup> group_changes(std::span<const Change> changes) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The changes whose beginning is known best come first, to compare the others with.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return changes[a].detected_s - changes[a].began_s < changes[b].detected_s - changes[b].began_s;
  });
  std::vector<ChangeGroup> groups;
  for (const std::size_t index : order) {
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const ChangeGroup& candidate) {
          return are_together(changes[candidate.changes.front()], changes[index]);
        });
    if (group == groups.end())
      groups.push_back({.changes = {index}});
    else
      group->changes.push_back(index);
  }
  for (ChangeGroup& group : groups) {
    std::sort(group.changes.begin(), group.changes.end());
    std::vector<double> began;
    std::vector<double> ratios;
    for (const std::size_t index : group.changes) {
      began.push_back(changes[index].began_s);
      ratios.push_back(changes[index].ratio);
    }
    group.began_s = base::median(began);
    group.ratio = base::median(ratios);
  }
  std::sort(groups.begin(), groups.end(),
            [](const ChangeGroup& a, const ChangeGroup& b) { return a.began_s < b.began_s; });
  return groups;
}

std::string describe(const ChangeGroup& group, std::size_t events) {
  const bool is_slower = group.ratio > 1;
  std::array<char, 32> times{};
  std::snprintf(times.data(), times.size(), "%.2f", is_slower ? group.ratio : 1 / group.ratio);
  return std::to_string(group.changes.size()) + " of " + std::to_string(events) +
         " events became " + times.data() + " times " + (is_slower ? "slower" : "faster") +
         " at the same time";
}

}  // namespace inline_prof::watch
