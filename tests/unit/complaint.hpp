// Complaints about inputs that are refused.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <initializer_list>
#include <string>

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
