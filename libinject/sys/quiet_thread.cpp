#include "sys/quiet_thread.hpp"

#include "sys/process.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <new>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

constinit std::atomic<long> quiet_threads{0};

struct ThreadStart {
  void* (*main)(void*);
  void* argument;
  sigset_t mask;  // of the starting thread
};

void* run(void* data) {
  const ThreadStart start = *static_cast<ThreadStart*>(data);
  delete static_cast<ThreadStart*>(data);
  this_thread.is_quiet = true;
  void* const result = start.main(start.argument);
  if (int status = 0; only_quiet_threads_are_left(&status)) {
    // Main left by the system call: the process ends without handlers, and with the status of its
    // last thread.
    if (status != 0) syscall(SYS_exit, status >> 8, 0, 0, 0, 0);
    // The last thread of a process runs the application's exit handlers.
    pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  }
  quiet_threads.fetch_sub(1);
  return result;
}

// Returns 0 if there is none.
int number_at(std::string_view text) noexcept {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A thread inherits the signal mask of the thread that starts it.
int start(pthread_t& thread, const pthread_attr_t* attributes, void* (*main)(void*),
          void* argument) noexcept {
  auto* const data = new (std::nothrow) ThreadStart{.main = main, .argument = argument, .mask = {}};
  if (data == nullptr) return ENOMEM;
  quiet_threads.fetch_add(1);
  const HeldSignals held;
  data->mask = held.before();
  const int error = pthread_create(&thread, attributes, run, data);
  if (error != 0) {
    quiet_threads.fetch_sub(1);
    delete data;
  }
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

// Reads the number of threads, the 20th field of "pid (name) state ..." (proc_pid_stat(5)), and the
// status, the last one. The thread's file and not the process's: that one adds up the times of all
// threads.
bool only_quiet_threads_are_left(int* status) noexcept {
  char path[64] = "/proc/self/task/";
  constexpr std::size_t prefix = sizeof "/proc/self/task/" - 1;
  char* const end = std::to_chars(path + prefix, path + sizeof path - 8, getpid()).ptr;
  __builtin_memcpy(end, "/stat", sizeof "/stat");
  char text[512];
  std::string_view rest = beginning_of(path, text);
  const std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos || !rest.substr(name_end).starts_with(") Z ")) {
    return false;
  }
  if (status != nullptr) *status = number_at(rest.substr(rest.rfind(' ') + 1));
  rest.remove_prefix(name_end + 2);
  for (int field = 3; field < 20 && !rest.empty(); ++field)
    rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  // The main thread is counted until the process ends.
  const int threads = number_at(rest);
  return threads > 0 && threads <= 1 + quiet_threads.load();
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
