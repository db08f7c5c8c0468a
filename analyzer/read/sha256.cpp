#include "read/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace inline_prof::read {
namespace {

using LibraryCall = std::uint32_t;

// FIPS 180-4, section 4.2.2: fractions of the cube roots of the first 64 primes.
constexpr std::array<LibraryCall, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<LibraryCall, 8>;

// Section 6.2.2, for one block of 64 bytes.
void add_block(State& state, const unsigned char* block) {
  std::array<LibraryCall, 64> schedule{};
  for (std::size_t t = 0; t < 16; ++t) {
    schedule[t] = LibraryCall{block[4 * t]} << 24U | LibraryCall{block[4 * t + 1]} << 16U |
                  LibraryCall{block[4 * t + 2]} << 8U | LibraryCall{block[4 * t + 3]};
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const LibraryCall x = schedule[t - 15];
    const LibraryCall y = schedule[t - 2];
    schedule[t] = schedule[t - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3U) +
                  schedule[t - 7] + (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10U);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const LibraryCall first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & f) ^ (~e & g)) + kRoundConstants[t] + schedule[t];
    const LibraryCall second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] += added[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  constexpr std::size_t block = 64;
  // The last block or two: what is left, a 1 bit, zeros, and the length in bits (section 5.1.1).
  const std::size_t whole = bytes.size() / block * block;
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  while (tail.size() % block != block - 8)
    tail += '\0';
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    tail += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> (shift - 8) & 0xffU);
  }

  const auto add = [&](std::string_view text) {
    std::array<unsigned char, block> copy{};
    for (std::size_t place = 0; place < text.size(); place += block) {
      for (std::size_t i = 0; i < block; ++i)
        copy[i] = static_cast<unsigned char>(text[place + i]);
      add_block(state, copy.data());
    }
  };
  add(bytes.substr(0, whole));
  add(tail);
  std::string digits;
  for (const LibraryCall word : state)
    digits += fmt::format("{:08x}", word);
  return digits;
}

}  // namespace inline_prof::read
