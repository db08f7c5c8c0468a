// Chance, and libFuzzer's own changes of bytes: both mutators use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed);

namespace inline_prof::fuzz {

using Random = std::minstd_rand;

inline std::size_t below(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

// Gives libFuzzer the changed text; what has no room is its own to change.
inline std::size_t give(const std::string& text, std::uint8_t* data, std::size_t size,
                        std::size_t room) {
  if (text.size() > room) return LLVMFuzzerMutate(data, size, room);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace inline_prof::fuzz
