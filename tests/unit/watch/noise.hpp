// Series of times with the kinds of noise that change points must not be taken for.
#pragma once

#include "base/random.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

namespace inline_prof::watch::test {

enum class Kind {
  kNormal,       // 5 %
  kHeavyTails,   // Student's t with 2.5 degrees, times 3 %, and 1 % of samples 10 times as long
  kDrift,        // 10 % a week, turning every 4 weeks; noise of 5 %
  kSeason,       // a daily sine of 2 %; noise of 5 %
  kCorrelated,   // AR(1) with 0.9, 5 % in all
  kTenMinutes,   // levels that differ by 2 % and last 10 minutes on average; noise of 3 %
  kHours,        // by 1 %, 3 hours
  kInterrupted,  // 30 % slower for some minutes about once an hour, as in evaluations; noise of 3 %
  kQuiet,        // noise of 0.2 %
};

inline constexpr std::array kKinds = {Kind::kNormal, Kind::kHeavyTails,  Kind::kDrift,
                                      Kind::kSeason, Kind::kCorrelated,  Kind::kTenMinutes,
                                      Kind::kHours,  Kind::kInterrupted, Kind::kQuiet};

inline std::string name_of(Kind kind) {
  constexpr std::array names = {"normal",      "heavy tails", "drift",       "season", "correlated",
                                "ten minutes", "hours",       "interrupted", "quiet"};
  return names.at(static_cast<std::size_t>(kind));
}

class Noise {
 public:
  Noise(Kind kind, std::uint64_t seed) : kind_(kind), random_(seed, 17) {}

  // Returns the factor of a sample at `time_s`, which never goes back.
  double at(double time_s) {
    constexpr double day = 86400;
    switch (kind_) {
      case Kind::kNormal:
        return 1 + 0.05 * normal();
      case Kind::kHeavyTails: {
        // Sum of squares of 2.5 degrees: a gamma variable of shape 1.25, near enough by 1 + 0.25.
        const double chi = -2 * std::log(uniform()) + 0.5 * std::pow(normal(), 2);
        const double time = std::abs(1 + 0.03 * normal() / std::sqrt(chi / 2.5));
        return uniform() < 0.01 ? 10 * time : time;
      }
      case Kind::kDrift: {
        const double weeks = std::fmod(time_s / (7 * day), 8);
        return std::exp(0.1 * (weeks < 4 ? weeks : 8 - weeks)) * (1 + 0.05 * normal());
      }
      case Kind::kSeason:
        return (1 + 0.02 * std::sin(2 * std::numbers::pi * time_s / day)) * (1 + 0.05 * normal());
      case Kind::kCorrelated:
        state_ = 0.9 * state_ + std::sqrt(1 - 0.81) * normal();
        return 1 + 0.05 * state_;
      case Kind::kTenMinutes:
        return level(time_s, 600, 0.02) * (1 + 0.03 * normal());
      case Kind::kHours:
        return level(time_s, 3 * 3600, 0.01) * (1 + 0.03 * normal());
      case Kind::kInterrupted:
        if (time_s > until_s_) {
          is_slow_ = !is_slow_;
          until_s_ = time_s - std::log(uniform()) * (is_slow_ ? 240 : 3600);
        }
        return (is_slow_ ? 1.3 : 1.0) * (1 + 0.03 * normal());
      case Kind::kQuiet:
        return 1 + 0.002 * normal();
    }
    return 1;
  }

  double uniform() { return (static_cast<double>(random_.next() >> 11U) + 0.5) * 0x1p-53; }

  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  double level(double time_s, double mean_s, double deviation) {
    if (time_s > until_s_) {
      state_ = normal();
      until_s_ = time_s - mean_s * std::log(uniform());
    }
    return 1 + deviation * state_;
  }

  Kind kind_;
  base::SplitMix64 random_;
  double state_ = 0;
  double until_s_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
  bool is_slow_ = true;
};

}  // namespace inline_prof::watch::test
