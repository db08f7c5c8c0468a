#include "session/progress.hpp"

#include "session/session.hpp"
#include "sys/log.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

constexpr std::int64_t kSecondsBetween = 5;

}  // namespace

std::int64_t Progress::iterations_left(std::int64_t iteration) const {
  if (session_.phases.course().adaptive)
    return session_.phases.course().adaptive->iterations_left();
  if (session_.settings.mode == schedule::Mode::kOneShot) {
    return session_.settings.warmup + session_.config.one_shot_iterations - iteration;
  }
  return session_.phases.course().plan.last_iteration() - session_.phases.position_of(iteration);
}

void Progress::report(std::int64_t iteration) {
  if (!session_.config.progress || session_.config.rank.value_or(0) != 0) return;
  const auto now = static_cast<std::int64_t>(sys::monotonic_seconds());
  if (first_second_ == 0) {
    first_second_ = now;
    first_iteration_ = iteration;
    last_second_ = now;
  }
  if (now - last_second_ < kSecondsBetween) return;
  last_second_ = now;
  const std::int64_t left = iterations_left(iteration);
  if (left < 0) return;
  const auto seconds =
      (now - first_second_) * left / std::max<std::int64_t>(iteration - first_iteration_, 1);
  sys::say_uncounted("iteration %lld: %lld to go, about %lld s", static_cast<long long>(iteration),
                     static_cast<long long>(left), static_cast<long long>(seconds));
}

}  // namespace inline_prof::session
