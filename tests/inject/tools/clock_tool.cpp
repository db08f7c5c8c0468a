// A monotonic clock that runs CLOCK_SPEED times as fast as the machine's, so that a test sees
// hours, and a realtime clock that is CLOCK_AHEAD seconds ahead of the kernel's, which was set
// back.
#include <cstdlib>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr long kNanoseconds = 1'000'000'000;

long number_in(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

long speed() {
  static const long speed = number_in("CLOCK_SPEED", 1);
  return speed;
}

long seconds_ahead() {
  static const long seconds = number_in("CLOCK_AHEAD", 0);
  return seconds;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += seconds_ahead();
  if (result != 0 || clock != CLOCK_MONOTONIC) return static_cast<int>(result);
  const long factor = speed();
  const long nanoseconds = time->tv_nsec * factor;
  time->tv_sec = time->tv_sec * factor + nanoseconds / kNanoseconds;
  time->tv_nsec = nanoseconds % kNanoseconds;
  return 0;
}
