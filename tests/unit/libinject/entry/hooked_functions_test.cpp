// Which driver functions the application gets from us, and that a name or version that is not ours
// passes.
#include "entry/hooked_functions.hpp"

#include "hook/driver_functions.hpp"
#include "testing.hpp"

#include <cuda.h>

#include <regex>

namespace inline_prof::entry {
namespace {

using namespace hook;  // of the lists

std::string symbol_for(const char* name, int version, std::uint64_t flags = 0) {
  const HookedFunction* hooked = hooked_by_request(name, version, flags);
  return hooked == nullptr ? "none" : hooked->symbol;
}

TEST(HookedBySymbol, KnowsExactNamesOnly) {
  ASSERT_NE(hooked_by_symbol("cuLaunchKernel"), nullptr);
  EXPECT_STREQ(hooked_by_symbol("cuLaunchKernel_ptsz")->symbol, "cuLaunchKernel_ptsz");
  // A match on the prefix "cu" or on a part of the name would catch these.
  for (const char* other : {"cudnnCreate", "cublasCreate_v2", "cuLaunch", "cuLaunchKernelX", "cu",
                            "", "malloc", "cuInit", "cuGetProcAddress_v3"})
    EXPECT_EQ(hooked_by_symbol(other), nullptr) << other;
  EXPECT_EQ(hooked_by_symbol(nullptr), nullptr);
}

// The versions are those that cudart 13.0 asks for.
TEST(HookedByRequest, ChoosesAsTheDriverDoes) {
  constexpr auto per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(symbol_for("cuLaunchKernel", 4000), "cuLaunchKernel");
  EXPECT_EQ(symbol_for("cuLaunchKernel", 7000, per_thread), "cuLaunchKernel_ptsz");
  EXPECT_EQ(symbol_for("cuLaunchKernelEx", 11060), "cuLaunchKernelEx");
  EXPECT_EQ(symbol_for("cuLaunchKernelEx", 11060, per_thread), "cuLaunchKernelEx_ptsz");
  EXPECT_EQ(symbol_for("cuGraphLaunch", 10000, per_thread), "cuGraphLaunch_ptsz");
  EXPECT_EQ(symbol_for("cuGetProcAddress", 11030), "cuGetProcAddress");
  EXPECT_EQ(symbol_for("cuGetProcAddress", 12000), "cuGetProcAddress_v2");
}

TEST(HookedByRequest, FindsEachFunctionOfTheListByItsOwnNameAndVersion) {
  const auto expect_found = [](const char* symbol, const char* name, int version, bool per_thread) {
    const std::uint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
    EXPECT_EQ(symbol_for(name, version, flags), symbol);
    ASSERT_NE(hooked_by_symbol(symbol), nullptr) << symbol;
    EXPECT_NE(hooked_by_symbol(symbol)->wrapper, nullptr) << symbol;
  };
#define INLINE_PROF_EXPECT_FOUND(symbol, name, version, slot, ...) \
  expect_found(#symbol, name, version, (slot) == hook::kPerThread);
  INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_EXPECT_FOUND)
  INLINE_PROF_HOOKED_CALLS(INLINE_PROF_EXPECT_FOUND)
#undef INLINE_PROF_EXPECT_FOUND
}

TEST(HookedByRequest, TakesTheNewestFormThatIsNotNewerThanAsked) {
  EXPECT_EQ(symbol_for("cuCtxCreate", 2000), "cuCtxCreate");
  EXPECT_EQ(symbol_for("cuCtxCreate", 4000), "cuCtxCreate_v2");
  EXPECT_EQ(symbol_for("cuCtxCreate", 12040), "cuCtxCreate_v3");
  EXPECT_EQ(symbol_for("cuCtxCreate", 13000), "cuCtxCreate_v4");
  EXPECT_EQ(symbol_for("cuLaunchKernel", 3020), "none");
}

// A newer form that is missing here would be served by an older one, whose parameters differ.
TEST(HookedFunctions, IncludeEachNewerFormThatTheToolkitDeclares) {
  std::ifstream header(INLINE_PROF_TEST_CUDA_TYPEDEFS);
  ASSERT_TRUE(header) << INLINE_PROF_TEST_CUDA_TYPEDEFS;
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  const std::regex form(R"(PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)\()");
  int forms = 0;
  for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each) {
    const std::string name = (*each)[1];
    const int version = std::stoi((*each)[2]);
    const bool per_thread = (*each)[3].matched;
    const HookedFunction* hooked = hooked_by_request(
        name.c_str(), version, per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0);
    if (hooked == nullptr || (per_thread && !hooked->per_thread)) continue;
    ++forms;
    EXPECT_EQ(hooked->version, version) << name << (per_thread ? ", per-thread stream" : "");
  }
  EXPECT_GT(forms, 100) << "typedefs are no longer recognised";
}

// One form serves both kinds of default stream.
TEST(HookedByRequest, GivesTheOneFormWhereThereIsNoOther) {
  EXPECT_EQ(symbol_for("cuCtxDestroy", 4000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            "cuCtxDestroy_v2");
}

TEST(HookedByRequest, LeavesOtherNamesAlone) {
  EXPECT_EQ(symbol_for("cuMemAlloc", 13000), "none");
  EXPECT_EQ(symbol_for("", 13000), "none");
  EXPECT_EQ(hooked_by_request(nullptr, 13000, 0), nullptr);
}

TEST(Wrap, HandsBackNothingForNothing) {
  const HookedFunction* hooked = hooked_by_symbol("cuLaunchKernel");
  ASSERT_NE(hooked, nullptr);
  EXPECT_EQ(wrap(*hooked, nullptr), nullptr);
}

TEST(Wrap, NeverWrapsItself) {
  const HookedFunction* hooked = hooked_by_symbol("cuLaunchKernel");
  ASSERT_NE(hooked, nullptr);
  EXPECT_EQ(wrap(*hooked, hooked->wrapper), hooked->wrapper);
  EXPECT_EQ(hooked->real->load(), nullptr);
}

TEST(Wrap, KeepsARealFunctionForEachWrapper) {
  const HookedFunction* hooked = hooked_by_symbol("cuLaunchKernelEx");
  ASSERT_NE(hooked, nullptr);
  std::array<int, 3> originals{};
  EXPECT_EQ(wrap(*hooked, &originals[0]), hooked->wrapper);
  EXPECT_EQ(wrap(*hooked, &originals[0]), hooked->wrapper) << "asked for a second time";
  EXPECT_EQ(wrap(*hooked, &originals[1]), hooked->spare_wrapper);
  const unsigned long before = hook::unwrapped_functions.load();
  EXPECT_EQ(wrap(*hooked, &originals[2]), &originals[2])
      << "no third wrapper: the application gets the real one";
  EXPECT_EQ(hook::unwrapped_functions.load(), before + 1);
  EXPECT_EQ(hooked->real->load(), &originals[0]);
  EXPECT_EQ(hooked->spare_original->load(), &originals[1]);
  hooked->real->store(nullptr);
  hooked->spare_original->store(nullptr);
}

TEST(IsInsideDriver, SaysNoToThisProgram) {
  EXPECT_FALSE(is_inside_driver(reinterpret_cast<const void*>(&symbol_for)));
}

}  // namespace
}  // namespace inline_prof::entry
