// Random numbers that are the same on every machine and with every compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>

namespace inline_prof::base {

// SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014, doi:10.1145/2660193.2660195, with the mixing function of S. Vigna's reference code (2015).
// Our own, because the standard library leaves std::shuffle and its distributions to the
// implementation, and ranks must agree whatever they were built with.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  // Streams of numbers for each of many things, from one seed.
  SplitMix64(std::uint64_t seed, std::uint64_t thing)
      : state_(SplitMix64(seed ^ SplitMix64(thing).next()).next()) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, bound).  Values of the last, incomplete block of `bound` are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t complete = std::numeric_limits<std::uint64_t>::max() / bound * bound;
    std::uint64_t value = next();
    while (value >= complete)
      value = next();
    return value % bound;
  }

 private:
  std::uint64_t state_;
};

// R. Durstenfeld, "Algorithm 235: Random permutation", Communications of the ACM 7(7), 1964,
// doi:10.1145/364520.364540.
template <typename Value>
void shuffle(std::span<Value> values, SplitMix64& random) {
  for (std::size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1], values[random.below(left)]);
}

// Fisher-Yates with the remainder of a Mersenne twister: the same order everywhere, which
// std::shuffle does not promise.
template <typename Value>
void shuffle_by_twister(std::span<Value> values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1], values[random() % left]);
}

}  // namespace inline_prof::base
