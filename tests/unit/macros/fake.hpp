// The fake library, seen from a test.
#pragma once

#include "fake_library.h"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::test {

// Returns the fake library. Each program defines this in its own way.
const inline_prof_fake& fake();

// The calls since clear().
inline std::vector<std::string> calls() {
  std::vector<std::string> lines(static_cast<std::size_t>(fake().call_count()));
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i] = fake().call(static_cast<int>(i));
  return lines;
}

}  // namespace inline_prof::test
