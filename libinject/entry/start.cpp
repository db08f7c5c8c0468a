#include "hook/start.hpp"

#include "cupti/cupti_client.hpp"
#include "entry/injection.hpp"
#include "hook/guard.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/config.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"

#include <cstdlib>
#include <pthread.h>
#include <string>

namespace inline_prof::entry {
namespace {

// CUDA does not survive fork(), nor does our writer thread.  Nothing is freed: a thread that no
// longer exists may have held any of our locks.
void stop_in_child() {
  sys::turn_off_silently();
  session::forget_everything();
}

void flush_at_exit() {
  cupti::note_exit();
  hook::fenced("exit", [] {
    if (session::Session* session = session::the_session()) session->finish_at_exit();
  });
}

// Decides how launches are seen, unless the user has.  False if that is impossible; then profiling
// is off.
bool settle_backend(sys::Config& config) {
  using sys::Backend;
  if (!config.backend) {
    config.backend = came_by_injection() ? Backend::kCupti : Backend::kDriver;
  }
  if (*config.backend == Backend::kCupti || !came_by_injection()) return true;
  sys::turn_off("configuration",
                "INLINE_PROF_BACKEND=driver: expected cupti under CUDA_INJECTION64_PATH; the "
                "driver's functions are wrapped in a process that preloads the library");
  return false;
}

// In addition to our wrappers, or instead of them.
void begin_cupti(bool is_backend, bool is_cross_check) {
  if (!is_backend && !is_cross_check) return;
  const auto role = !is_cross_check ? cupti::Role::kBackend
                    : is_backend    ? cupti::Role::kBoth
                                    : cupti::Role::kCrossCheck;
  const std::string why = cupti::begin(role);
  if (why.empty()) return;
  if (is_backend) return sys::turn_off("CUPTI", why.c_str());
  session::the_session()->warn("no cross-check: " + why);
}

// Reads files and the environment, and finds the driver.
void start() {
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
  if (!settle_backend(*config)) return;
  const bool is_backend = config->backend == sys::Backend::kCupti;
  const bool is_cross_check = config->cupti_cross_check;
  if (!session::begin(std::move(*config))) return;  // has said why
  if (pthread_atfork(nullptr, nullptr, stop_in_child) != 0 || std::atexit(flush_at_exit) != 0) {
    return sys::turn_off("start", "no fork or exit handler can be registered");
  }
  auto starting = sys::Lifecycle::kStarting;
  sys::lifecycle.compare_exchange_strong(starting, sys::Lifecycle::kOn);
  try {
    session::trigger::install(session::the_session()->config);
  } catch (const sys::ConfigError& error) {
    sys::turn_off("configuration", error.what());
  }
  if (sys::is_on()) begin_cupti(is_backend, is_cross_check);
}

}  // namespace

}  // namespace inline_prof::entry

void inline_prof_start() {
  inline_prof::entry::start();
}
