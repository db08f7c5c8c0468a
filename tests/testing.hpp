// For every test of GoogleTest: the framework, and what most tests use of the standard library.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace inline_prof {
using namespace testing;  // matchers by their short names in every test
}  // namespace inline_prof

namespace inline_prof::test {

// Returns what `use` says about its input; "" if it takes it.
template <typename Use>
std::string complaint(Use&& use) {
  try {
    static_cast<void>(use());
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// An input, and what is said of it.
struct BadText {
  std::string text;
  std::string complaint;
};

template <typename Read>
void expect_complaints(const Read& read, std::initializer_list<BadText> rows) {
  for (const BadText& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(complaint([&] { return read(row.text); }), row.complaint);
  }
}

}  // namespace inline_prof::test
