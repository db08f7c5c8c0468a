#include "base/text.hpp"

#include <gtest/gtest.h>

namespace inline_prof::base {
namespace {

TEST(Text, ColumnsAreCodePoints) {
  EXPECT_EQ(columns("abc"), 3U);
  EXPECT_EQ(columns("\xc3\xa9t\xc3\xa9"), 3U);
  EXPECT_EQ(columns(""), 0U);
}

TEST(Text, ControlCharactersNeverReachATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(printable("bad \xff byte, cut \xc3"), "bad ? byte, cut ?");
  EXPECT_EQ(printable("\xc3\xa9"), "\xc3\xa9");
}

TEST(Text, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 9), "abc...ijk");
  EXPECT_EQ(shortened("abcdefghijk", 8), "abc...jk");
  EXPECT_EQ(shortened("abcdef", 2), "..");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5),
            "\xc3\xa9...\xc3\xa9");
}

TEST(Text, KernelNamesLoseTheirParameters) {
  EXPECT_EQ(readable_name("_Z4reluPKfPfi"), "relu");
  EXPECT_EQ(readable_name("_ZN2ns6KernelIfLi4EE3runEPf"), "ns::Kernel<float, 4>::run");
  EXPECT_EQ(readable_name("sm90_xmma_gemm_tn"), "sm90_xmma_gemm_tn");
  EXPECT_EQ(readable_name("_Znonsense"), "_Znonsense");
}

}  // namespace
}  // namespace inline_prof::base
