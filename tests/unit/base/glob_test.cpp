#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::base {
namespace {

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(glob_matches("fc.fprop", "fc.fprop"));
  EXPECT_FALSE(glob_matches("fc.fprop", "fc.fprop2"));
  EXPECT_FALSE(glob_matches("fprop", "fc.fprop"));
}

TEST(Glob, StarStandsForAnyBytesAlsoNone) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("TopMLP.*gemm*", "TopMLP.fc5.gemm"));
  EXPECT_TRUE(glob_matches("a*b*c", "abbbcc"));
  EXPECT_FALSE(glob_matches("a*b*c", "abbbccd"));
}

TEST(Glob, QuestionMarkStandsForOneByte) {
  EXPECT_TRUE(glob_matches("fc?", "fc7"));
  EXPECT_FALSE(glob_matches("fc?", "fc"));
  EXPECT_FALSE(glob_matches("fc?", "fc10"));
}

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_matches("TopMLP.*.fprop", "TopMLP.fc5.gemm.fprop"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("fc?.bprop", "fc1.bprop"));
  EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_matches("fc?.bprop", "fc.bprop"));
  EXPECT_FALSE(glob_matches("*.fprop", "fc1.fprop.gemm"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Glob, BracketsAreOrdinary) {
  EXPECT_TRUE(glob_matches("*kernel<float[4]>*", "void kernel<float[4]>(int*)"));
  EXPECT_FALSE(glob_matches("fc[12]", "fc1"));
}

TEST(Glob, CaseMatters) {
  EXPECT_FALSE(glob_matches("*gemm*", "cublasGemmEx"));
}

TEST(Glob, EmptyPatternMatchesEmptyTextOnly) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
}

// A matcher that tries every star anew takes 100 to the power of 12 steps here.
TEST(Glob, ManyStarsOnALongTextEnd) {
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace inline_prof::base
