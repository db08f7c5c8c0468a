// Simulates months of 1,000 watched events: the false alarms and the delays of
// watch::ChangeDetector.
//
//   change_point_bench alarms [SERIES DAYS [KIND]]   default 200 60: 0.4 months of 1,000 series
//   change_point_bench delays [RUNS]                 default 100
//
// False alarms may be at most one a month; a 3 % slower event that is 2 % of the step must be found
// within 30 minutes, a throttled GPU within 5.
#include "noise.hpp"
#include "watch/change_point.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using inline_prof::watch::ChangeDetector;
using inline_prof::watch::test::Kind;
using inline_prof::watch::test::kKinds;
using inline_prof::watch::test::name_of;
using inline_prof::watch::test::Noise;

constexpr double kDaySeconds = 86400;
// 0.02 % of steps of 250 ms, 7 us a pair.
constexpr double kPairsPerSecond = 28;

// Events whose shares of the pairs have a log-normal distribution, above the floor of a fifth of
// the mean share.
void count_alarms(Kind kind, int series, double days) {
  int alarms = 0;
  int in_first_week = 0;
  for (int i = 0; i < series; ++i) {
    Noise noise(kind, 100'000 + static_cast<std::uint64_t>(i));
    const double share = (0.2 + 0.8 * std::exp(1.5 * noise.normal() - 1.125)) / 1000;
    const double every_s = 1 / (std::min(share, 0.14) * kPairsPerSecond);
    ChangeDetector detector(1, 1000);
    for (double time = 0; time < days * kDaySeconds; time += every_s * (0.5 + noise.uniform())) {
      if (!detector.add(time, std::llround(4 * time), 1e5 * noise.at(time))) continue;
      ++alarms;
      if (time < 7 * kDaySeconds) ++in_first_week;
    }
  }
  const double months = series / 1000.0 * days / 30;
  std::printf(
      "%-12s %3d false alarms, %d of them in the first week, in %.2f months of 1,000 series\n",
      name_of(kind).c_str(), alarms, in_first_week, months);
  std::fflush(stdout);
}

struct Case {
  Kind kind;
  double ratio;
  double every_s;  // seconds a sample: 2.2 for an event that is 2 % of the step, 0.25 for the step
  double days;     // before the change
};

void measure_delays(const Case& one, int runs) {
  std::vector<double> minutes;
  int before = 0;
  int right = 0;
  for (int i = 0; i < runs; ++i) {
    Noise noise(one.kind, 777'000 + static_cast<std::uint64_t>(i));
    ChangeDetector detector(1, 1000);
    const double change_s = one.days * kDaySeconds + 977 * noise.uniform();
    bool is_found = false;
    for (double time = 0; time < change_s + 1800 && !is_found;
         time += one.every_s * (0.5 + noise.uniform())) {
      const auto change = detector.add(time, std::llround(4 * time),
                                       (time < change_s ? 1 : one.ratio) * 1e5 * noise.at(time));
      if (!change) continue;
      is_found = time >= change_s;
      if (!is_found) {
        ++before;
        continue;
      }
      minutes.push_back((time - change_s) / 60);
      if (change->ratio_low <= one.ratio && one.ratio <= change->ratio_high) ++right;
    }
  }
  std::sort(minutes.begin(), minutes.end());
  const auto at = [&](double q) {
    return minutes.empty()
               ? NAN
               : minutes[static_cast<std::size_t>(q * static_cast<double>(minutes.size() - 1))];
  };
  std::printf(
      "%-12s %.2f times, a sample in %4.2f s, after %4.2f days: %zu of %d found within 30 minutes "
      "(median %.1f, 95 %% %.1f, most %.1f), interval right %d times, %d false alarms\n",
      name_of(one.kind).c_str(), one.ratio, one.every_s, one.days, minutes.size(), runs, at(0.5),
      at(0.95), at(1), right, before);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int index, double otherwise) {
    return count > index ? std::atof(arguments[index]) : otherwise;
  };
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "alarms") {
    for (const Kind kind : kKinds) {
      if (count < 5 || name_of(kind) == arguments[4])
        count_alarms(kind, static_cast<int>(number(2, 200)), number(3, 60));
    }
    return 0;
  }
  if (what == "delays") {
    for (const Case& one : std::vector<Case>{{Kind::kNormal, 1.2, 2.2, 0.04},
                                             {Kind::kNormal, 1.2, 2.2, 0.125},
                                             {Kind::kNormal, 1.2, 0.25, 0.125},
                                             {Kind::kNormal, 1.03, 2.2, 1},
                                             {Kind::kNormal, 1.03, 2.2, 2},
                                             {Kind::kNormal, 1.03, 2.2, 7},
                                             {Kind::kHeavyTails, 1.03, 2.2, 2},
                                             {Kind::kDrift, 1.03, 2.2, 7},
                                             {Kind::kSeason, 1.03, 2.2, 7}})
      measure_delays(one, static_cast<int>(number(2, 100)));
    return 0;
  }
  std::fprintf(stderr, "usage: change_point_bench alarms [SERIES DAYS [KIND]] | delays [RUNS]\n");
  return 2;
}
