// A monotonic clock that runs CLOCK_SPEED times as fast as the machine's, so that a test sees
// hours.
#include <cstdlib>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr long kNanoseconds = 1'000'000'000;

long speed() {
  static const char* const text = std::getenv("CLOCK_SPEED");
  return text == nullptr ? 1 : std::atol(text);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || clock != CLOCK_MONOTONIC) return static_cast<int>(result);
  const long factor = speed();
  const long nanoseconds = time->tv_nsec * factor;
  time->tv_sec = time->tv_sec * factor + nanoseconds / kNanoseconds;
  time->tv_nsec = nanoseconds % kNanoseconds;
  return 0;
}
