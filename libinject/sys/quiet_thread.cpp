#include "sys/quiet_thread.hpp"

#include <csignal>

namespace inline_prof::sys {
namespace {

// A thread is born with the mask of the one that starts it.
int start(pthread_t& thread, const pthread_attr_t* attributes, void* (*main)(void*),
          void* argument) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, attributes, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

int start_quiet_thread(pthread_t& thread, void* (*main)(void*), void* argument) noexcept {
  return start(thread, nullptr, main, argument);
}

int start_quiet_detached_thread(void* (*main)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes); error != 0) return error;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int error = start(thread, &attributes, main, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

timespec from_now(long nanoseconds) noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += nanoseconds / kNanosecondsPerSecond;
  time.tv_nsec += nanoseconds % kNanosecondsPerSecond;
  if (time.tv_nsec >= kNanosecondsPerSecond) {
    time.tv_nsec -= kNanosecondsPerSecond;
    ++time.tv_sec;
  }
  return time;
}

}  // namespace inline_prof::sys
