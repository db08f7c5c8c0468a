// Properties that a fuzz target states beside "no crash".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace inline_prof::fuzz {

// Ends the process, which is how libFuzzer is told of a finding; it then keeps the input.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Requires that a text which `parse` accepts reads back as it was once `write` has written it.
template <typename Error, typename Parse, typename Write>
int require_round_trip(std::string_view text, const Parse& parse, const Write& write) {
  std::optional<decltype(parse(text))> first;
  try {
    first = parse(text);
  } catch (const Error&) {
    return 0;
  }
  require(parse(write(*first)) == *first, "what was written is what was read");
  return 0;
}

}  // namespace inline_prof::fuzz
