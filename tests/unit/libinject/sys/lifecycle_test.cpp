// Off is final, in a process of its own for each test.
#include "sys/lifecycle.hpp"

#include "sys/hot_line.hpp"
#include "testing.hpp"

#include <unistd.h>

namespace inline_prof::sys {
namespace {

TEST(Lifecycle, IsDormantBeforeAnybodyLaunches) {
  EXPECT_EQ(lifecycle.load(), Lifecycle::kDormant);
  EXPECT_FALSE(is_on());
}

TEST(Lifecycle, SaysOnceThatItIsOffAndMakesEveryLaunchAPlainJump) {
  const auto turn_off_twice = [] {
    turn_off("cuEventRecord", "a reason");
    turn_off("cuEventQuery", "another reason");
    const bool off = lifecycle.load() == Lifecycle::kOff && hot_line.filter.load() == kNoLaunch;
    _exit(off ? 0 : 1);
  };
  EXPECT_EXIT(turn_off_twice(), ExitedWithCode(0),
              "^inline_prof: profiling is off: cuEventRecord: a reason\n$");
}

TEST(Lifecycle, SaysNothingWhereTheEndIsNoFault) {
  const auto end = [] {
    turn_off_silently();
    turn_off("late", "nobody hears this");
    _exit(lifecycle.load() == Lifecycle::kOff ? 0 : 1);
  };
  EXPECT_EXIT(end(), ExitedWithCode(0), "^$");
}

// Another thread may be about to set the filter.
TEST(Lifecycle, LetsNobodyLookAtLaunchesOnceItIsOff) {
  const auto look = [] {
    set_filter(2);
    add_to_filter(4);
    if (hot_line.filter.load() != 6) _exit(1);
    turn_off("cuEventRecord", "a reason");
    set_filter(kEveryLaunch);
    if (hot_line.filter.load() != kNoLaunch) _exit(2);
    add_to_filter(4);
    if (hot_line.filter.load() != kNoLaunch) _exit(3);
    _exit(std::string(off_reason()) == "cuEventRecord: a reason" ? 0 : 4);
  };
  EXPECT_EXIT(look(), ExitedWithCode(0), "a reason");
}

TEST(Lifecycle, EndsAfterSixteenVendorErrorsInARow) {
  const auto fail = [] {
    for (int i = 0; i < 15; ++i)
      count_vendor_error("cuEventRecord", 700);
    if (lifecycle.load() == Lifecycle::kOff) _exit(1);
    count_vendor_error("cuEventQuery", 701);
    if (vendor_error_count() != 16) _exit(2);
    _exit(lifecycle.load() == Lifecycle::kOff ? 0 : 3);
  };
  EXPECT_EXIT(fail(), ExitedWithCode(0),
              "^inline_prof: profiling is off: cuEventQuery: failed 16 times in a row "
              ".CUresult 701.\n$");
}

TEST(Lifecycle, ForgivesErrorsBetweenSuccesses) {
  const auto fail_now_and_then = [] {
    for (int i = 0; i < 40; ++i) {
      count_vendor_error("cuEventRecord", 700);
      if (i % 15 == 14) count_vendor_success();
    }
    _exit(lifecycle.load() == Lifecycle::kOff ? 1 : 0);
  };
  EXPECT_EXIT(fail_now_and_then(), ExitedWithCode(0), "^$");
}

TEST(HotLine, FindsABitForEveryHandle) {
  // (0x1230 >> 4) ^ (0x1230 >> 12) = 0x123 ^ 0x1 = 0x122, modulo 64 = 34
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a made-up handle
  EXPECT_EQ(filter_bit(reinterpret_cast<const void*>(std::uintptr_t{0x1230})), 34U);
  EXPECT_EQ(filter_bit(nullptr), 0U);
}

}  // namespace
}  // namespace inline_prof::sys
