// Mode unit_test: what runs between PROFILE_UNIT_TEST_START(name) and PROFILE_UNIT_TEST_STOP() is
// one run of that test.  Its first runs are its warm-up; in later ones every event is measured.
#include "session/unit_test.hpp"

#include "labels/label.hpp"
#include "launch/launch.hpp"
#include "session/discovery.hpp"
#include "session/one_shot.hpp"
#include "session/planning.hpp"
#include "session/run_controller.hpp"
#include "session/state.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::hook {
namespace {

// Pairs of one context: two runs of the largest test.
constexpr std::size_t kEventPairs = 4096;

// Tags differ above the 48 bits of an address.
constexpr int kTagShift = 48;

bool is_measured(const State& state, const UnitTest& test) {
  return test.runs > state.settings.warmup &&
         test.runs <= state.settings.warmup + state.settings.repeat;
}

void prepare_to_measure(State& state) {
  settle_discovery(state);
  for (std::size_t i = 0; i < state.run.events.size(); ++i)
    state.run.events[i].reserve(static_cast<std::uint32_t>(state.settings.repeat));
  for (timer::ContextTimer& timer : state.timers)
    static_cast<void>(timer.create_events(kEventPairs));
  count_host_bytes(state);
}

void end_run(State& state) {
  stop_one_shot(state);
  open_all_gates(true);  // other tests may be in their warm-up
  sys::set_filter(sys::kEveryLaunch);
  state.running_test = nullptr;
}

}  // namespace

void start_unit_test(const char* name) {
  State* run = state();
  if (run == nullptr || name == nullptr || run->phase.load() != Phase::kUnitTests) return;
  const std::lock_guard lock(run->mutex);
  if (run->running_test != nullptr) {
    warn(*run, "PROFILE_UNIT_TEST_START(\"" + std::string(name) + "\") inside test " +
                   run->running_test->name + ": one test runs at a time");
    end_run(*run);
  }
  UnitTest& test = run->unit_tests[name];
  if (test.tag == 0) {
    test.name = name;
    test.tag = std::uintptr_t{run->unit_tests.size()} << kTagShift;
  }
  ++test.runs;
  run->running_test = &test;
  const std::int64_t number = run->iteration.fetch_add(1) + 1;
  fold_counts(*run);
  run_controller::poll_all(*run);
  if (!is_measured(*run, test)) return;
  if (test.runs == run->settings.warmup + 1) prepare_to_measure(*run);
  run_controller::record_origins(*run, number);
  run->run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
  begin_one_shot(*run);
}

void stop_unit_test() {
  State* run = state();
  if (run == nullptr || run->phase.load() != Phase::kUnitTests) return;
  const std::lock_guard lock(run->mutex);
  if (run->running_test != nullptr) end_run(*run);
}

LaunchTicket begin_unit_test_launch(State& state, const Launch& launch) {
  {
    const std::lock_guard lock(state.mutex);
    if (state.running_test == nullptr) return {};
    if (!measures_everything.load(std::memory_order_relaxed)) {
      return {.kind = state.running_test->runs <= state.settings.warmup
                          ? LaunchTicket::Kind::kMeet
                          : LaunchTicket::Kind::kNothing};
    }
  }
  return begin_one_shot_launch(state, launch);
}

}  // namespace inline_prof::hook
