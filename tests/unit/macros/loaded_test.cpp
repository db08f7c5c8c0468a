// The macros in a program that opened the library itself, out of sight of RTLD_DEFAULT, as Python
// does.
#include "fake.hpp"
#include "host_calls.h"

#include <inline_prof/profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <stdexcept>

namespace inline_prof::test {

const inline_prof_fake& fake() {
  static void* const library = dlopen(MACROS_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* const symbol = dlsym(library, "fake_library_control");
  decltype(&fake_library_control) control = nullptr;
  std::memcpy(&control, &symbol, sizeof control);
  return *control();
}

namespace {

TEST(MacrosWithALoadedLibrary, FindItByItsName) {
  ASSERT_EQ(fake().lookup_count(), 0);
  ASSERT_EQ(dlsym(RTLD_DEFAULT, INLINE_PROF_ABI_SYMBOL), nullptr) << "not out of sight";
  PROFILE_ITERATION();
  c_record(nullptr);
  EXPECT_EQ(fake().lookup_count(), 1);
  EXPECT_THAT(calls(),
              testing::ElementsAre("iteration",
                                   "record c.start site 1 stream 0x0 device -1 graph 1 extra -"));
}

}  // namespace
}  // namespace inline_prof::test
