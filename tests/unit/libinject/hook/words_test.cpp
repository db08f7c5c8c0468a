// Which vendor functions are wrapped, and by which name.
#include "hook/words.hpp"

#include <gtest/gtest.h>

#include <array>

namespace inline_prof::hook {
namespace {

TEST(WordBySymbol, FindsEveryWordAndNothingElse) {
  for (const WordName& name : kWordNames) {
    const Word* word = word_by_symbol(name.symbol);
    ASSERT_NE(word, nullptr) << name.symbol;
    EXPECT_STREQ(word->symbol, name.symbol);
  }
  for (const char* other :
       {"", "c", "cu", "cub", "cublas", "cublasSgemm", "cublasSgemm_v", "cublasSgemm_v2_6",
        "cublasSgemm_v2_64_", "cublasCreate_v2", "cudnnCreate", "nccl", "malloc", "n"}) {
    EXPECT_EQ(word_by_symbol(other), nullptr) << other;
  }
  EXPECT_EQ(word_by_symbol(nullptr), nullptr);
}

TEST(WrapWord, GivesEachCopyOfALibraryAWrapperOfItsOwn) {
  Word* word = word_by_symbol("cublasHgemmStridedBatched_64");
  ASSERT_NE(word, nullptr);
  std::array<int, 3> reals{};
  void* first = wrap_word(*word, &reals[0]);
  void* second = wrap_word(*word, &reals[1]);
  EXPECT_NE(first, &reals[0]);
  EXPECT_NE(second, first);
  EXPECT_EQ(wrap_word(*word, &reals[0]), first) << "asked for a second time";
  EXPECT_EQ(wrap_word(*word, &reals[2]), &reals[2]) << "no third wrapper: the real one";
  EXPECT_EQ(wrap_word(*word, first), first) << "never itself";
  EXPECT_EQ(wrap_word(*word, nullptr), nullptr);
  for (auto& real : word->looked_up)
    real.store(nullptr);
}

}  // namespace
}  // namespace inline_prof::hook
