// The macros in a program that was started without the library.
#include "host_calls.h"

#include <inline_prof/profile.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <dlfcn.h>

namespace inline_prof::test {
namespace {

void* const kStream = reinterpret_cast<void*>(0x10);

TEST(MacrosWithoutALibrary, EvaluateNothing) {
  int count = 0;
  const auto counted = [&count](auto value) {
    ++count;
    return value;
  };
  PROFILE_RECORD("a.start", counted(kStream));
  PROFILE_RECORD(counted("a"), counted(kStream), counted(true), counted(1), counted("x"));
  PROFILE_OP("a", "gemm", "m", counted(1));
  EXPECT_FALSE(PROFILE_RECORD_DATA("batch", counted(kStream)));
  { PROFILE_SCOPE("outer", counted(kStream)); }
  PROFILE_UNIT_TEST_START(counted("a test"));
  PROFILE_UNIT_TEST_STOP();
  INITIALIZE_PROFILER(counted(true), counted(true));
  PROFILE_ITERATION();
  EXPECT_EQ(count, 0);
  EXPECT_EQ(inline_prof_table(), nullptr);
}

TEST(MacrosWithoutALibrary, EvaluateNothingInC) {
  EXPECT_EQ(c_count_evaluations(kStream), 0);
  EXPECT_EQ(c_data_are_wanted(kStream), 0);
  c_every_macro(kStream);
  c_op(kStream);
}

TEST(MacrosWithoutALibrary, LeaveErrnoAndDlerrorAsTheyWere) {
  __atomic_store_n(&inline_prof_table_v1, &inline_prof_table_v1, __ATOMIC_SEQ_CST);
  dlerror();
  errno = 77;
  PROFILE_ITERATION();
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(dlerror(), nullptr);
}

TEST(MacrosWithoutALibrary, AskOnce) {
  PROFILE_ITERATION();
  EXPECT_EQ(__atomic_load_n(&inline_prof_table_v1, __ATOMIC_SEQ_CST), nullptr);
}

}  // namespace
}  // namespace inline_prof::test
