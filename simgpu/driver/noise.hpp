// Noise that does not depend on the order in which threads happen to run: a value is a function of
// (seed, device, stream, ordinal), not the next number of a shared generator.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace simgpu {

// The finaliser of splitmix64.  Source: S. Vigna, "splitmix64.c", 2015, public domain,
// https://prng.di.unimi.it/splitmix64.c
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// What a drawn value belongs to.
struct NoiseKey {
  std::uint64_t seed;
  int device;
  int stream;
  std::uint64_t ordinal;
  std::uint64_t purpose;  // kernels and event records draw from different sequences
};

// Standard normal by Box and Muller (Annals of Mathematical Statistics 29(2), 1958,
// doi:10.1214/aoms/1177706645).
[[nodiscard]] inline double gaussian(const NoiseKey& key) {
  const std::uint64_t where =
      mix(key.seed) ^
      mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.device)) << 32) |
          static_cast<std::uint32_t>(key.stream));
  const std::uint64_t first = mix(where ^ mix(key.ordinal * 2 + 1) ^ (key.purpose << 56));
  const std::uint64_t second = mix(first);
  constexpr double scale = 0x1.0p-53;
  const double u1 = (static_cast<double>(first >> 11) + 1.0) * scale;  // (0, 1]: no log of 0
  const double u2 = static_cast<double>(second >> 11) * scale;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
}

}  // namespace simgpu
