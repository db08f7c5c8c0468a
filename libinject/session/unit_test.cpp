#include "session/unit_test.hpp"

#include "session/session.hpp"

namespace inline_prof::session {
namespace {

// Pairs of one context: two runs of the largest test.
constexpr std::size_t kEventPairs = 4096;

// Tags differ above the 48 bits of an address.
constexpr int kTagShift = 48;

}  // namespace

bool UnitTests::is_measured(const UnitTest& test) const {
  return test.runs > session_.settings.warmup &&
         test.runs <= session_.settings.warmup + session_.settings.repeat;
}

void UnitTests::prepare_to_measure() {
  session_.planning.settle_discovery();
  for (record::EventRecord& event : session_.run.events)
    event.reserve(static_cast<std::uint32_t>(session_.settings.repeat));
  for (timer::ContextTimer& timer : session_.contexts.timers())
    static_cast<void>(timer.create_events(kEventPairs));
  session_.count_host_bytes();
}

void UnitTests::end_run() {
  session_.one_shot.stop();
  labels::open_all_gates(true);  // other tests may be in their warm-up
  running_.store(nullptr, std::memory_order_relaxed);
}

hook::LaunchTicket UnitTests::begin_launch(const hook::Launch& launch) {
  {
    const std::lock_guard lock(session_.mutex);
    if (running() == nullptr) return {};
    if (!launch::filter.has(launch::LaunchFilter::kMeasuringAll)) {
      return {.kind = running()->runs <= session_.settings.warmup
                          ? hook::LaunchTicket::Kind::kMeet
                          : hook::LaunchTicket::Kind::kNothing};
    }
  }
  return session_.one_shot.begin_launch(launch);
}

void UnitTests::start(const char* name) {
  if (name == nullptr || session_.state() != RunState::kUnitTests) return;
  const std::lock_guard lock(session_.mutex);
  if (running() != nullptr) {
    session_.warn("PROFILE_UNIT_TEST_START(\"" + std::string(name) + "\") inside test " +
                  running()->name + ": one test runs at a time");
    end_run();
  }
  UnitTest& test = tests_[name];
  if (test.tag == 0) {
    test.name = name;
    test.tag = std::uintptr_t{tests_.size()} << kTagShift;
  }
  ++test.runs;
  running_.store(&test, std::memory_order_relaxed);
  const std::int64_t number = session_.begin_iteration();
  session_.sites.fold_counts();
  session_.contexts.poll_all();
  if (!is_measured(test)) return;
  if (test.runs == session_.settings.warmup + 1) prepare_to_measure();
  session_.contexts.record_origins(number);
  session_.run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
  session_.one_shot.begin();
}

void UnitTests::stop() {
  if (session_.state() != RunState::kUnitTests) return;
  const std::lock_guard lock(session_.mutex);
  if (running() != nullptr) end_run();
}

}  // namespace inline_prof::session
