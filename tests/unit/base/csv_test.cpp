#include "base/text.hpp"

#include <gtest/gtest.h>

namespace inline_prof::base {
namespace {

TEST(CsvCell, IsQuotedOnlyWhereItHasToBe) {
  EXPECT_EQ(csv_cell("a b"), "a b");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
}

}  // namespace
}  // namespace inline_prof::base
