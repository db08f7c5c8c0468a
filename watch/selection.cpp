#include "watch/selection.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <cmath>

namespace inline_prof::watch {
namespace {

// Added to each weight, as a part of the mean weight: (1/4) / (1 + 1/4) is a fifth. At 0.02 % and
// 1,000 events, each is measured 20 times an hour or more.
constexpr double kFloor = 0.25;

double usable(double weight) {
  return std::isfinite(weight) && weight > 0 ? weight : 0;
}

// Returns a number above 0, up to 1.
double uniform(base::SplitMix64& random) {
  return static_cast<double>((random.next() >> 11U) + 1) * 0x1p-53;
}

struct Runner {
  double arrival;
  std::size_t event;
};

}  // namespace

double weight(double time_ns_of_iteration, double relative_spread) {
  // The square root: ranks know spreads from few samples, so they differ more than times do.
  const double spread = std::isnan(relative_spread) ? 1 : std::clamp(relative_spread, 0.01, 1.0);
  return usable(time_ns_of_iteration) * std::sqrt(spread);
}

std::vector<std::size_t> choose(std::int64_t iteration, std::uint64_t seed,
                                std::span<const double> weights, double pairs_per_iteration) {
  base::SplitMix64 random(seed, static_cast<std::uint64_t>(iteration));
  const double most = static_cast<double>(weights.size());
  const double pairs = std::clamp(usable(pairs_per_iteration), 0.0, most);
  // The same draw for every rate: a smaller rate never measures more.
  const auto wanted = static_cast<std::size_t>(std::floor(pairs + 1 - uniform(random)));
  if (wanted == 0) return {};

  double sum = 0;
  std::size_t heavy = 0;
  for (const double weight : weights) {
    sum += usable(weight);
    if (usable(weight) > 0) ++heavy;
  }
  const double floor = kFloor * sum / static_cast<double>(std::max<std::size_t>(heavy, 1));

  // A race: each event arrives after an exponential time of its own rate. Arrivals follow from an
  // event's own draw and weight. Source: P. S. Efraimidis, P. G. Spirakis, "Weighted random
  // sampling with a reservoir", Information Processing Letters 97(5), 2006,
  // doi:10.1016/j.ipl.2005.11.003.
  std::vector<Runner> first;  // by arrival
  first.reserve(wanted + 1);
  for (std::size_t event = 0; event < weights.size(); ++event) {
    const double u = uniform(random);
    if (usable(weights[event]) == 0) continue;
    const double rate = weights[event] + floor;
    // 1 - u <= -log(u): most events are too late without the cost of a logarithm.
    if (first.size() == wanted && (1 - u) >= first.back().arrival * rate) continue;
    const double arrival = -std::log(u) / rate;
    if (first.size() == wanted && arrival >= first.back().arrival) continue;
    const auto place =
        std::upper_bound(first.begin(), first.end(), arrival,
                         [](double value, const Runner& runner) { return value < runner.arrival; });
    first.insert(place, {.arrival = arrival, .event = event});
    if (first.size() > wanted) first.pop_back();
  }

  std::vector<std::size_t> events;
  events.reserve(first.size());
  for (const Runner& runner : first)
    events.push_back(runner.event);
  return events;
}

}  // namespace inline_prof::watch
