#include "hook/start.hpp"

#include "hook/guard.hpp"
#include "hook/session.hpp"
#include "sys/config.hpp"
#include "sys/config_error.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"

#include <cstdlib>
#include <pthread.h>
#include <string>

namespace inline_prof::hook {
namespace {

// CUDA does not survive fork(), nor does our writer thread.  Nothing is freed: a thread that no
// longer exists may have held any of our locks.
void stop_in_child() {
  sys::turn_off_silently();
  session::forget_everything();
}

void flush_at_exit() {
  fenced("exit", [] { session::finish_at_exit(); });
}

}  // namespace

void start_once() noexcept {
  // Every hooked context call and uncounted launch comes through here: a plain load first, so that
  // threads do not fight over it.
  if (sys::lifecycle.load(std::memory_order_acquire) != sys::Lifecycle::kDormant) return;
  auto expected = sys::Lifecycle::kDormant;
  if (!sys::lifecycle.compare_exchange_strong(expected, sys::Lifecycle::kStarting)) return;

  fenced("start", [] {
    if (const char* missing = sys::load_cuda(); missing != nullptr) {
      const std::string why = std::string(missing) + " is not in " + sys::kDriverSoname;
      return sys::turn_off("driver", why.c_str());
    }
    std::optional<sys::Config> config;
    try {
      config = sys::read_config();
    } catch (const sys::ConfigError& error) {
      return sys::turn_off("configuration", error.what());
    }
    if (!config) return sys::turn_off_silently();
    if (!session::begin(std::move(*config))) return;  // has said why
    if (pthread_atfork(nullptr, nullptr, stop_in_child) != 0 || std::atexit(flush_at_exit) != 0) {
      return sys::turn_off("start", "no fork or exit handler can be registered");
    }
    auto starting = sys::Lifecycle::kStarting;
    sys::lifecycle.compare_exchange_strong(starting, sys::Lifecycle::kOn);
  });
}

}  // namespace inline_prof::hook
