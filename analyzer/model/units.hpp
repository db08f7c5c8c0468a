// Quantities with units.  Mixing units up does not compile; dividing bytes by bytes-per-second
// gives seconds.
#pragma once

#include <compare>

namespace inline_prof::model {

// `value` in base units: FLOP^F * byte^B * second^S.  No other scale is ever stored.
template <int F, int B, int S>
struct Quantity {
  double value = 0.0;
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
};

template <int F1, int B1, int S1, int F2, int B2, int S2>
constexpr Quantity<F1 - F2, B1 - B2, S1 - S2> operator/(Quantity<F1, B1, S1> a,
                                                        Quantity<F2, B2, S2> b) {
  return {a.value / b.value};
}
template <int F, int B, int S>
constexpr Quantity<F, B, S> operator*(double factor, Quantity<F, B, S> q) {
  return {factor * q.value};
}

using Flop = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Seconds = Quantity<0, 0, 1>;
using FlopPerSecond = Quantity<1, 0, -1>;
using BytesPerSecond = Quantity<0, 1, -1>;

// Scales are spelled where a number enters or leaves, and nowhere else.
constexpr Seconds microseconds(double us) {
  return {us * 1e-6};
}
constexpr double in_microseconds(Seconds time) {
  return time.value * 1e6;
}
constexpr FlopPerSecond tera_flop_per_second(double tflops) {
  return {tflops * 1e12};
}
constexpr BytesPerSecond giga_bytes_per_second(double gb_per_s) {  // 1e9, not 2^30
  return {gb_per_s * 1e9};
}

}  // namespace inline_prof::model
