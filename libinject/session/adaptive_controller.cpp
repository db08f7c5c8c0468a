#include "session/adaptive_controller.hpp"

#include "session/session.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

// A sample that has not come when the GPU is this many iterations further will not come: the launch
// was left out, or its pair was dropped.
constexpr std::int64_t kPatience = 8;

// The iteration time is the median of the last ones: clocks move, and evaluations come between.
constexpr std::size_t kRecentTimes = 33;

// The newest sample of `event` in `iteration`; null where there is none.
const record::Sample* sample_of(const record::EventRecord& event, std::int64_t iteration,
                                std::uint32_t from) {
  const auto samples = event.samples();
  for (std::size_t i = from; i < samples.size(); ++i) {
    if (samples[i].iteration == iteration) return &samples[i];
  }
  return nullptr;
}

double median_of_recent(const record::IterationTimes& times) {
  const std::size_t count = times.size();
  std::vector<float> recent;
  for (std::size_t i = count > kRecentTimes ? count - kRecentTimes : 0; i < count; ++i)
    recent.push_back(times[i]);
  const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(recent.size() / 2);
  std::nth_element(recent.begin(), middle, recent.end());
  return *middle;
}

}  // namespace

void AdaptiveController::hear_of_samples(Session& session, std::int64_t iteration) {
  std::int64_t oldest = iteration - kPatience;
  for (const timer::ContextTimer& timer : session.contexts.timers()) {
    if (timer.is_alive()) oldest -= std::max<std::int64_t>(timer.iterations_ahead(), 0);
  }
  std::erase_if(awaited_, [&](const Awaited& awaited) {
    // On several devices the first one speaks for all: they run the same program.
    const record::EventRecord& event =
        *session.phases.course().targets[awaited.target].events.front();
    if (const auto* sample = sample_of(event, awaited.iteration, awaited.samples_before)) {
      plan_.add(awaited.target, std::max(sample->measured_ms - bias_ms_, 0.0));
      return true;
    }
    if (awaited.iteration >= oldest) return false;
    plan_.lose(awaited.target);
    return true;
  });
}

std::vector<std::size_t> AdaptiveController::next(Session& session, std::int64_t iteration) {
  const record::IterationTimes& times = session.run.iteration_times;
  if (times.size() == 0) return {};
  if (times.size() != times_read_) iteration_ms_ = median_of_recent(times);
  times_read_ = times.size();
  hear_of_samples(session, iteration);
  if (iteration_ms_ <= 0) return {};
  auto targets = plan_.next(iteration, cost());
  for (const std::size_t target : targets) {
    awaited_.push_back(
        {.target = target,
         .iteration = iteration,
         .samples_before = session.phases.course().targets[target].events.front()->sample_count()});
  }
  return targets;
}

std::int64_t AdaptiveController::iterations_left() const {
  if (iteration_ms_ <= 0) return -1;
  return plan_.iterations_left(cost());
}

std::vector<std::vector<std::size_t>> AdaptiveController::classes_without_samples() const {
  std::vector<std::vector<std::size_t>> all;
  for (const schedule::AdaptivePlan::Class& each : plan_.classes()) {
    if (each.sample_count == 0) all.push_back(each.what.members);
  }
  return all;
}

}  // namespace inline_prof::session
