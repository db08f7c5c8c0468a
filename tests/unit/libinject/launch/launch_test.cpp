#include "launch/kernel_name.hpp"
#include "launch/launch_filter.hpp"
#include "launch/launching_threads.hpp"
#include "sys/lifecycle.hpp"
#include "testing.hpp"

namespace inline_prof::launch {
namespace {

// Handles with filter bits of their own.
alignas(64) constexpr std::array<std::byte, 64> kMemory{};
const void* handle(std::size_t i) {
  return &kMemory[16 * i];
}

class Filter : public Test {
 protected:
  Filter() {
    sys::lifecycle.store(sys::Lifecycle::kOn);
    filter_.remove(LaunchFilter::kCounting);
  }
  ~Filter() override {
    sys::lifecycle.store(sys::Lifecycle::kDormant);
    sys::set_filter(sys::kEveryLaunch);
  }

  bool is_settled(const void* function) {
    timer::LaunchSlot* counted = nullptr;
    return filter_.settle(function, nullptr, counted);
  }
  void arm(const void* function) {
    const std::array functions{function};
    filter_.arm(functions, std::uint64_t{1} << sys::filter_bit(function));
  }

  LaunchFilter filter_;
};

TEST_F(Filter, LetsThroughWhatIsArmed) {
  EXPECT_FALSE(sys::may_be_armed(handle(0)));
  arm(handle(0));
  EXPECT_TRUE(sys::may_be_armed(handle(0)));
  EXPECT_FALSE(sys::may_be_armed(handle(1)));
  EXPECT_FALSE(is_settled(handle(0)));
  EXPECT_TRUE(is_settled(handle(1)));
  filter_.arm({}, sys::kNoLaunch);
  EXPECT_TRUE(is_settled(handle(0)));
}

TEST_F(Filter, IsOpenAsLongAsOneReasonHolds) {
  filter_.add(LaunchFilter::kSitesLost);
  filter_.add(LaunchFilter::kComparing);
  EXPECT_TRUE(filter_.remove(LaunchFilter::kSitesLost));
  EXPECT_FALSE(filter_.remove(LaunchFilter::kSitesLost)) << "it is gone";
  EXPECT_TRUE(sys::may_be_armed(handle(1)));
  EXPECT_FALSE(is_settled(handle(1)));
  arm(handle(0));
  EXPECT_TRUE(sys::may_be_armed(handle(1))) << "arming does not end a reason";
  EXPECT_TRUE(filter_.remove(LaunchFilter::kComparing));
  EXPECT_FALSE(sys::may_be_armed(handle(1)));
}

TEST_F(Filter, ExaminesEveryLaunchUntilTheLastCaptureEnds) {
  filter_.capture_begins();
  filter_.capture_begins();
  EXPECT_EQ(filter_.capture_ends(), 1U);
  EXPECT_FALSE(is_settled(handle(1)));
  EXPECT_EQ(filter_.capture_ends(), 0U);
  EXPECT_EQ(filter_.capture_ends(), 0U) << "its beginning was not seen";
  EXPECT_TRUE(is_settled(handle(1)));
}

TEST_F(Filter, ForwardsLaunchesThatAreOnlyMarked) {
  arm(handle(0));
  filter_.add(LaunchFilter::kMarking);
  EXPECT_TRUE(sys::may_be_armed(handle(1)));
  EXPECT_TRUE(is_settled(handle(1)));
  EXPECT_TRUE(filter_.only_marks(handle(1)));
  EXPECT_FALSE(filter_.only_marks(handle(0)));
}

TEST_F(Filter, CountsLaunchesThatHaveASlot) {
  filter_.add(LaunchFilter::kCounting);
  timer::LaunchSlot* counted = nullptr;
  EXPECT_FALSE(filter_.settle(handle(0), nullptr, counted));
  timer::LaunchSlot* slot = filter_.table.insert(handle(0), nullptr);
  slot->limit.store(1);
  EXPECT_TRUE(filter_.settle(handle(0), nullptr, counted));
  EXPECT_EQ(counted, slot);
  void* const alone = several_threads_launch.load() ? nullptr : __builtin_thread_pointer();
  EXPECT_EQ(counting.thread.load(), alone) << "the assembly counts the next ones";
  EXPECT_FALSE(filter_.settle(handle(0), nullptr, counted)) << "at its limit";
  slot->limit.store(9);
  filter_.add(LaunchFilter::kSearching);
  EXPECT_EQ(counting.thread.load(), nullptr);
  EXPECT_FALSE(filter_.settle(handle(0), nullptr, counted));
}

// The first thread has read the count and has not written it when the second one comes.  Counts of
// the second that it wrote over would be lost: all that were made until it runs again.
TEST(LaunchingThreads, TheSecondWaitsUntilTheFirstHasWrittenItsCount) {
  prepare_for_launching_threads();
  timer::LaunchSlot slot;
  slot.limit = std::numeric_limits<std::uint32_t>::max();
  ASSERT_TRUE(count_quietly(slot));
  if (several_threads_launch.load()) GTEST_SKIP() << "the kernel has no membarrier()";

  counting.thread.store(__builtin_thread_pointer());
  counting.first_thread_counts.store(true);
  const std::uint32_t read = slot.count.load();
  std::thread second([&] {
    for (int i = 0; i < 1000; ++i)
      EXPECT_TRUE(count_quietly(slot));
  });
  while (!several_threads_launch.load())
    std::this_thread::yield();
  // Time enough for a second thread that does not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  slot.count.store(read + 1);
  counting.first_thread_counts.store(false);
  second.join();
  EXPECT_EQ(counting.thread.load(), nullptr);
  EXPECT_EQ(slot.count.load(), 1002U);

  EXPECT_TRUE(count_quietly(slot)) << "with the locked instruction from now on";
  EXPECT_EQ(slot.count.load(), 1003U);
}

struct Name {
  const char* mangled;
  const char* readable;
};

TEST(ReadableKernelName, HasNoReturnTypeNoParametersAndNoBlanks) {
  const Name rows[] = {
      {"_Z6kernelPfi", "kernel"},
      {"ampere_fp16_s16816gemm_fp16_128x64_nn", "ampere_fp16_s16816gemm_fp16_128x64_nn"},
      {"my kernel", "my_kernel"},
      {"_Zqq", "_Zqq"},
      {"", "kernel_without_a_name"},
      {"_Z3addIfEvPT_i", "add<float>"},
      {"_Z3addIfjEvPT_T0_", "add<float,unsigned_int>"},
      {"_Z3addILi4ELb1EEvv", "add<4,true>"},
      {"_ZN12_GLOBAL__N_16kernelIiEEvv", "(anonymous_namespace)::kernel<int>"},
      {"_ZN39_GLOBAL__N__0c0d4f7d_4_k_cu_12345678_946kernelEi", "(anonymous_namespace)::kernel"},
      {"_ZNK7functorclEi", "functor::operator()"},
      {"_ZN7functorIiEclEPi", "functor<int>::operator()"},
      {"_Z6kernelIZN2ns3fooEfEUliE_EvT_", "kernel<ns::foo(float)::{lambda(int)#1}>"},
      {"_Z6kernelIXadL_Z3fooiEEEvv", "kernel<&(foo(int))>"},
      {"_Z6kernelI4pairIS0_IiiES1_EEvT_", "kernel<pair<pair<int,int>,pair<int,int>>>"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5array"
       "IPcLm3EEEEviT0_T1_",
       "at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctor_add<float>,"
       "std::array<char*,3ul>>"},
      {"_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock12MmaPipelinedINS1_"
       "9GemmShapeILi128ELi128ELi32EEELi2EEENS_4arch4Sm80EEEEEvNT_6ParamsE",
       "cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::"
       "MmaPipelined<cutlass::gemm::GemmShape<128,128,32>,2>,cutlass::arch::Sm80>>"}};
  for (const Name& row : rows) {
    SCOPED_TRACE(row.mangled);
    const std::string name = readable_kernel_name(row.mangled);
    EXPECT_EQ(name, row.readable);
    EXPECT_EQ(name.find(' '), std::string::npos) << "it could not stand in a prof.schedule";
  }
}

TEST(ReadableKernelNameOfACutlassKernel, IsWholeHoweverLong) {
  std::string mangled = "_Z6kernelI";
  for (int depth = 0; depth < 60; ++depth)
    mangled += "4wrapI";
  mangled += "i" + std::string(60, 'E') + "Evv";
  const std::string name = readable_kernel_name(mangled);
  EXPECT_TRUE(name.starts_with("kernel<wrap<wrap<"));
  EXPECT_TRUE(name.ends_with("<int" + std::string(61, '>'))) << name;
}

}  // namespace
}  // namespace inline_prof::launch
