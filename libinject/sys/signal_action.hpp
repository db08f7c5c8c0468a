// glibc's sigaction() under the name that no application may use: `sigaction` itself is exported to
// the application (session/signal_hooks.cpp), and others may replace it.
#pragma once

#include <csignal>

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's own name
extern "C" int __sigaction(int signal, const struct sigaction* wanted,
                           struct sigaction* before) noexcept;

namespace inline_prof::sys {

inline int set_action(int signal, const struct sigaction* wanted,
                      struct sigaction* before) noexcept {
  return __sigaction(signal, wanted, before);
}

}  // namespace inline_prof::sys
