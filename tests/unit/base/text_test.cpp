#include "base/text.hpp"

#include "testing.hpp"

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

TEST(CsvCell, IsQuotedOnlyWhereItHasToBe) {
  EXPECT_EQ(csv_cell("a b"), "a b");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
}

struct Match {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(Glob, MatchesTheWholeText) {
  for (const auto& [pattern, text, matches] : {
           Match{"fc.fprop", "fc.fprop", true},
           Match{"fc.fprop", "fc.fprop2", false},
           Match{"fprop", "fc.fprop", false},
           Match{"", "", true},
           Match{"", "a", false},
           // A star stands for any bytes, also none.
           Match{"*", "", true},
           Match{"TopMLP.*gemm*", "TopMLP.fc5.gemm", true},
           Match{"TopMLP.*.fprop", "TopMLP.fc5.gemm.fprop", true},
           Match{"*.fprop", "fc1.fprop.gemm", false},
           Match{"a*b*c", "abbbcc", true},
           Match{"a*b*c", "abbbccd", false},
           // A question mark stands for one byte.
           Match{"fc?", "fc7", true},
           Match{"fc?", "fc", false},
           Match{"fc?", "fc10", false},
           Match{"fc?.bprop", "fc.bprop", false},
           // Brackets are ordinary, and case matters.
           Match{"*kernel<float[4]>*", "void kernel<float[4]>(int*)", true},
           Match{"fc[12]", "fc1", false},
           Match{"*gemm*", "cublasGemmEx", false},
       }) {
    EXPECT_EQ(glob_matches(pattern, text), matches) << pattern << " and " << text;
  }
}

// A matcher that tries every star anew takes 100 to the power of 12 steps here.
TEST(Glob, ManyStarsOnALongTextEnd) {
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace inline_prof::base
