// The wrapped vendor functions and their names.
#include "libraries/library_calls.hpp"

#include "testing.hpp"

namespace inline_prof::libraries {
namespace {

TEST(WordBySymbol, FindsEveryWordAndNothingElse) {
  for (const CallName& name : kCallNames) {
    const LibraryCall* call = call_by_symbol(name.symbol);
    ASSERT_NE(call, nullptr) << name.symbol;
    EXPECT_STREQ(call->symbol, name.symbol);
  }
  for (const char* other :
       {"", "c", "cu", "cub", "cublas", "cublasSgemm", "cublasSgemm_v", "cublasSgemm_v2_6",
        "cublasSgemm_v2_64_", "cublasCreate_v2", "cudnnCreate", "nccl", "malloc", "n"})
    EXPECT_EQ(call_by_symbol(other), nullptr) << other;
  EXPECT_EQ(call_by_symbol(nullptr), nullptr);
}

TEST(WrapWord, GivesEachCopyOfALibraryAWrapperOfItsOwn) {
  LibraryCall* call = call_by_symbol("cublasHgemmStridedBatched_64");
  ASSERT_NE(call, nullptr);
  std::array<int, 3> originals{};
  void* first = wrap_call(*call, &originals[0]);
  void* second = wrap_call(*call, &originals[1]);
  EXPECT_NE(first, &originals[0]);
  EXPECT_NE(second, first);
  EXPECT_EQ(wrap_call(*call, &originals[0]), first) << "asked for a second time";
  EXPECT_EQ(wrap_call(*call, &originals[2]), &originals[2]) << "no third wrapper: the real one";
  EXPECT_EQ(wrap_call(*call, first), first) << "never itself";
  EXPECT_EQ(wrap_call(*call, nullptr), nullptr);
  for (auto& real : call->looked_up)
    real.store(nullptr);
}

}  // namespace
}  // namespace inline_prof::libraries
