// Facts about a thread of the application's, in 8 bytes: thread-local memory of a library that may
// be loaded late is scarce. initial-exec: the default model may call malloc on a thread's first
// access, inside a hook.
#pragma once

#include <cstdint>

namespace inline_prof::sys {

struct alignas(8) ThreadState {
  // The time of its return from the last call that waits for the device (timer/last_wait.hpp); 0:
  // it has not waited.
  std::uint32_t last_wait_ended_us = 0;
  bool is_quiet = false;   // one of our own threads (sys/quiet_thread.hpp)
  bool is_inside = false;  // inside our code (hook/guard.hpp)
  bool launches = false;   // has launched at least once (launch/launching_threads.hpp)
};
static_assert(sizeof(ThreadState) == 8);

[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadState this_thread{};

}  // namespace inline_prof::sys
