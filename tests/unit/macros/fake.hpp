// The fake library, seen from a test.
#pragma once

#include "fake_library.h"

#include <string>
#include <vector>

namespace inline_prof::test {

// How a test program comes by the fake library.  Each program defines one of them.
const fake_control& fake();

// The calls since clear().
inline std::vector<std::string> calls() {
  std::vector<std::string> lines;
  for (int i = 0; i < fake().call_count(); ++i)
    lines.emplace_back(fake().call(i));
  return lines;
}

}  // namespace inline_prof::test
