#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::base {
namespace {

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
