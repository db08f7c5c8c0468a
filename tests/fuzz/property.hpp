// Each fuzz target defines these functions and states these properties beside "no crash".
#pragma once

#include "read/input_error.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace inline_prof::fuzz {

// Reads the text and requires what must hold for a text that is accepted.  An InputError or a
// ScheduleError ends it: the text was refused.
void check(const std::string& text);

// Ends the process, which is how libFuzzer is told of a finding; it then keeps the input.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

// For a text that several parsers read: one may refuse it, and the next is tried.
template <typename Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const read::InputError&) {
  }
}

// Requires that a text which `parse` accepts reads back as it was once `write` has written it.
template <typename Parse, typename Write>
void require_round_trip(const std::string& text, const Parse& parse, const Write& write) {
  const auto first = parse(text);
  require(parse(write(first)) == first, "what was written is what was read");
}

}  // namespace inline_prof::fuzz
