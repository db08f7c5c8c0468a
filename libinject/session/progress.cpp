#include "session/progress.hpp"

#include "session/state.hpp"
#include "sys/log.hpp"

#include <ctime>

namespace inline_prof::hook {
namespace {

constexpr std::int64_t kSecondsBetween = 5;

std::int64_t seconds_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Iterations until the last sample; below 0 where that is not known.
std::int64_t iterations_left(const State& state, std::int64_t iteration) {
  if (state.adaptive) return state.adaptive->iterations_left();
  if (state.settings.mode == schedule::Mode::kOneShot) {
    return state.settings.warmup + state.config.one_shot_iterations - iteration;
  }
  return state.plan.last_iteration() - position_of(state, iteration);
}

}  // namespace

void report_progress(const State& state, std::int64_t iteration) {
  if (!state.config.progress || state.config.rank.value_or(0) != 0) return;
  static std::int64_t first_second = 0;  // with the mutex held
  static std::int64_t first_iteration = 0;
  static std::int64_t last_second = 0;
  const std::int64_t now = seconds_now();
  if (first_second == 0) {
    first_second = now;
    first_iteration = iteration;
    last_second = now;
  }
  if (now - last_second < kSecondsBetween) return;
  last_second = now;
  const std::int64_t left = iterations_left(state, iteration);
  if (left < 0) return;
  const auto seconds =
      (now - first_second) * left / std::max<std::int64_t>(iteration - first_iteration, 1);
  sys::say_progress("iteration %lld: %lld to go, about %lld s", static_cast<long long>(iteration),
                    static_cast<long long>(left), static_cast<long long>(seconds));
}

}  // namespace inline_prof::hook
