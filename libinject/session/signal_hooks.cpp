// sigaction() and signal() as the application calls them.  A program that asks for the handler of a
// signal, or restores the system's, must not find ours: it would pass the signal on to us.
#include "hook/export.hpp"
#include "session/termination.hpp"
#include "sys/original_dlsym.hpp"

#include <atomic>
#include <csignal>
#include <dlfcn.h>

namespace {

using Sigaction = decltype(&sigaction);
using Signal = decltype(&signal);

// The next library's function, which may be a sanitizer's.
template <typename Function>
Function next(std::atomic<Function>& known, const char* name) noexcept {
  Function function = known.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  function = reinterpret_cast<Function>(inline_prof::sys::glibc_dlsym()(RTLD_NEXT, name));
  known.store(function, std::memory_order_relaxed);
  return function;
}

constinit std::atomic<Sigaction> next_sigaction{nullptr};
constinit std::atomic<Signal> next_signal{nullptr};

}  // namespace

INLINE_PROF_EXPORT int sigaction(int number, const struct sigaction* wanted,
                                 struct sigaction* before) noexcept {
  const bool restores = wanted != nullptr && inline_prof::session::is_default(*wanted);
  const int result = next(next_sigaction, "sigaction")(number, wanted, before);
  if (result == 0) inline_prof::session::hide_handler(number, restores, before);
  return result;
}

INLINE_PROF_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction before {};
  before.sa_handler = next(next_signal, "signal")(number, handler);
  if (before.sa_handler != SIG_ERR)
    inline_prof::session::hide_handler(number, handler == SIG_DFL, &before);
  return before.sa_handler;
}
