// Starts a run: at the first GPU call, or when libcuda loads this library (CUDA_INJECTION64_PATH)
// as it is initialised (CUPTI 13.0 User Guide, "Injection").
#include "hook/start.hpp"

#include "cupti/cupti_client.hpp"
#include "hook/export.hpp"
#include "hook/guard.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/config.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "sys/original_dlsym.hpp"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/auxv.h>
#include <utility>

INLINE_PROF_EXPORT int InitializeInjection();

namespace inline_prof::entry {
namespace {

// libcuda has loaded this library, and it was not preloaded: our wrappers are behind nothing then.
constinit std::atomic<bool> came_by_injection{false};

// Such a program must not write files that its caller names. A program may define getauxval: the
// one behind us is glibc's.
bool is_set_user_id() noexcept {
  const auto value_of =
      reinterpret_cast<decltype(&getauxval)>(sys::glibc_dlsym()(RTLD_NEXT, "getauxval"));
  return value_of != nullptr && value_of(AT_SECURE) != 0;
}

// Preloaded libraries stand in the scope of the program itself, a library that libcuda loads does
// not.
bool is_preloaded() noexcept {
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return false;
  void* found = sys::glibc_dlsym()(program, "InitializeInjection");
  if (found == nullptr)
    dlerror();  // NOLINT(concurrency-mt-unsafe): the application must not find our miss
  dlclose(program);
  return found == reinterpret_cast<void*>(&InitializeInjection);
}

void before_fork() {
  if (session::Session* session = session::the_session()) session->writer->hold();
}
void after_fork() {
  if (session::Session* session = session::the_session()) session->writer->let_go();
}

// CUDA does not survive fork(), nor does our writer thread.  Nothing is freed: a thread that no
// longer exists may have held any of our locks.
void stop_in_child() {
  sys::turn_off_silently();
  session::forget_everything();
}

void flush_at_exit() {
  cupti::note_exit();
  // A signal handler may have interrupted a wrapper of ours, which never goes on.
  const bool was_inside = std::exchange(sys::this_thread.is_inside, false);
  hook::fenced("exit", [was_inside] {
    if (session::Session* session = session::the_session()) session->finish_at_exit(was_inside);
  });
}

// Decides how launches are seen, unless the user has.  False if that is impossible; then profiling
// is off.
bool settle_backend(sys::Config& config) {
  using sys::Backend;
  if (!config.backend) config.backend = came_by_injection ? Backend::kCupti : Backend::kDriver;
  if (*config.backend == Backend::kCupti || !came_by_injection) return true;
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

// Returns nothing if profiling is off.
std::optional<sys::Config> settings_of_user() {
  try {
    auto config = sys::read_config();
    if (!config) sys::turn_off_silently();
    return config;
  } catch (const sys::ConfigError& error) {
    sys::turn_off("configuration", error.what());
    return std::nullopt;
  }
}

// Reads files and the environment, and finds the driver.
void start() {
  if (const char* missing = sys::load_cuda(); missing != nullptr) {
    const std::string why = std::string(missing) + " is not in " + sys::kDriverSoname;
    return sys::turn_off("driver", why.c_str());
  }
  auto config = settings_of_user();
  if (!config) return;
  for (const std::string& warning : config->warnings)
    sys::say(sys::LogLevel::kWarning, "%s", warning.c_str());
  if (!settle_backend(*config)) return;
  const bool is_backend = config->backend == sys::Backend::kCupti;
  const bool is_cross_check = config->cupti_cross_check;
  if (!session::begin(std::move(*config))) return;  // has said why
  if (pthread_atfork(before_fork, after_fork, stop_in_child) != 0 ||
      std::atexit(flush_at_exit) != 0)
    return sys::turn_off("start", "no fork or exit handler can be registered");
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

// Returns 1, as tools do.
int InitializeInjection() {
  using namespace inline_prof;
  // The wrappers of a preloaded library see everything.
  if (entry::is_set_user_id() || entry::is_preloaded()) return 1;
  entry::came_by_injection.store(true);
  hook::start_once();
  return 1;
}

void inline_prof_start() {
  inline_prof::entry::start();
}
