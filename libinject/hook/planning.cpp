// From the warm-up to the plan: what was met becomes targets, the schedule chooses among them.
#include "hook/state.hpp"
#include "schedule/select.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"

#include <map>
#include <tuple>

namespace inline_prof::hook {
namespace {

// Events of one (name, layer, occurrence) on all devices and streams are one target.
std::vector<schedule::MetEvent> gather_targets(State& state, std::vector<Target>& targets) {
  std::vector<schedule::MetEvent> met;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> places;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    const auto [place, is_new] = places.try_emplace(
        std::tuple(event.event_name, event.layer_name, event.occurrence), targets.size());
    if (is_new) {
      targets.emplace_back();
      met.push_back({.event = event.event_name,
                     .layer = event.layer_name,
                     .occurrence = event.occurrence,
                     .kernel = event.kernel_names.empty() ? "" : event.kernel_names.front()});
    }
    targets[place->second].events.push_back(&event);
  }
  return met;
}

// Labels that were started and not stopped have no end; they cannot be measured.
void close_open_labels(State& state) {
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (event.end_index >= 0) continue;
    event.end_index = state.next_index++;
    warn(state, event.event_name + ".start was met without a .stop after it");
  }
}

}  // namespace

void warn(State& state, std::string warning) {
  if (*sys::off_reason() == '\0') sys::say(sys::LogLevel::kWarning, "%s", warning.c_str());
  const std::lock_guard lock(state.run.mutex);
  state.run.warnings.push_back(std::move(warning));
}

void count_host_bytes(State& state) {
  std::uint64_t bytes =
      sizeof(State) + sizeof launch_table + state.timers.size() * sizeof(timer::ContextTimer);
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    bytes += sizeof(record::EventRecord) + state.run.events[i].capacity() * sizeof(record::Sample);
  }
  state.run.host_bytes.store(bytes);
}

void make_plan(State& state) {
  close_open_labels(state);
  std::vector<Target> all;
  const auto met = gather_targets(state, all);
  schedule::Selection selection;
  if (state.settings.mode != schedule::Mode::kData) {
    selection = schedule::select(state.request, met);
  }
  for (const std::string& warning : selection.warnings)
    warn(state, warning);
  state.never_met = selection.never_met;
  state.targets.clear();
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    state.targets.push_back(all[selection.chosen[i]]);
    for (record::EventRecord* event : state.targets.back().events) {
      event->layer_name = selection.layers[i];
    }
  }
  state.plan = schedule::make_plan(state.request, selection, state.settings);
  for (std::size_t i = 0; i < state.targets.size(); ++i) {
    for (record::EventRecord* event : state.targets[i].events) {
      event->reserve(static_cast<std::uint32_t>(state.plan.samples_of(i)));
    }
  }
  const std::int64_t measured = state.plan.last_iteration() - state.settings.warmup;
  {
    const std::lock_guard lock(state.run.mutex);
    state.run.iteration_times.restart(static_cast<std::size_t>(measured) + 1);
  }
  bool any_events = state.timers.empty();
  for (timer::ContextTimer& timer : state.timers)
    any_events |= timer.create_events();
  if (!any_events) return sys::turn_off("cuEventCreate", "no events can be made in any context");
  count_host_bytes(state);
  counting.store(false, std::memory_order_relaxed);
  open_all_gates(false);
  disarm();
  state.writer->start();
}

}  // namespace inline_prof::hook
