// Uses the macros with profiling compiled in and no library loaded: they must do nothing.
#include <inline_prof/profile.hpp>

#include <cstdio>

int main() {
  PROFILE_ITERATION();
  PROFILE_RECORD("consumer.start", nullptr);
  PROFILE_RECORD("consumer.stop", nullptr);
  std::puts("consumer ok");
  return 0;
}
