// What is known of a thread of the application's, in 8 bytes: thread-local memory of a library that
// may be loaded late is scarce.  initial-exec: the default model may call malloc on a thread's
// first access, inside a hook.
#pragma once

#include <cstdint>

namespace inline_prof::sys {

struct alignas(8) ThreadState {
  // When it came back from the last call that waits for the device (timer/last_wait.hpp); 0: it has
  // not waited.
  std::uint32_t last_wait_ended_us = 0;
  bool is_quiet = false;   // it is one of ours (sys/quiet_thread.hpp)
  bool is_inside = false;  // our code (entry/guard.hpp)
  bool launches = false;   // or has, once (launch/launching_threads.hpp)
};
static_assert(sizeof(ThreadState) == 8);

[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadState this_thread{};

}  // namespace inline_prof::sys
