// Random numbers that are a pure function of a seed and an index, so that a kernel needs no state.
#pragma once

#include <cstdint>

namespace dlrm {

// The SplitMix64 generator, entered at position `index` of the sequence of `seed`.
// Source: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014, doi:10.1145/2660193.2660195.
__device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Uniform in [-1, 1), from the upper 24 bits: what a float holds exactly.
__device__ inline float random_uniform(std::uint64_t seed, std::uint64_t index) {
  return static_cast<float>(random_bits(seed, index) >> 40) * 0x1p-23F - 1.0F;
}

}  // namespace dlrm
