// Around the application's launch: what the run's state makes of it.
#include "cupti/cupti_client.hpp"
#include "graphs/capture_notes.hpp"
#include "launch/launch_filter.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "timer/driver_scope.hpp"
#include "timer/stream_sharing.hpp"

namespace inline_prof::session {

using hook::LaunchTicket;
using launch::LaunchFilter;

// The launch becomes a node of a captured graph.  If a program captures anew in each iteration, it
// is measured in the capture; what is captured once is measured when the graph is launched.
LaunchTicket Session::begin_captured_launch(const hook::Launch& launch) {
  if (launch.graph != nullptr) return {};  // a graph inside a graph
  LaunchTicket ticket;
  const RunState now = state();
  if (now == RunState::kDiscovering) ticket.kind = LaunchTicket::Kind::kMeet;
  if (launch.copy == nullptr &&
      (now == RunState::kBeforeIterations || now == RunState::kWithoutIterations))
    run.launches_seen.fetch_add(1, std::memory_order_relaxed);
  if (now == RunState::kMeasuring || now == RunState::kOverheadMeasurement)
    ticket = met_if_searched(arming.begin_launch(launch), launch);
  ticket.is_captured = true;
  return ticket;
}

// Captured pairs are recorded by the first launch of the graph.
void Session::graph_was_launched() {
  if (launch::filter.has(LaunchFilter::kCapturing)) return;
  const std::lock_guard lock(mutex);
  for (timer::ContextTimer& timer : contexts.timers()) {
    if (timer.has_captured()) timer.hand_captured_over();
  }
}

LaunchTicket Session::before_launch(const hook::Launch& launch) {
  if (trigger::is_paused()) return {};
  timer::note_thread_on(launch.stream);
  if (launch::filter.has(LaunchFilter::kCapturing) && timer::is_capturing(launch.stream)) {
    if (launch::filter.has(LaunchFilter::kComparing)) phases.compare(launch);
    return begin_captured_launch(launch);
  }
  if (launch::filter.has(LaunchFilter::kSitesLost)) {
    rebinding.note_launch(launched_by(launch), launch.stream);
  } else if (launch.copy == nullptr && source.is_lost()) {
    rebinding.note_boundary_launch(launched_by(launch), launch.stream);
  }
  if (source.starts_with(launch)) iteration_starts(IterationMark::kLaunch);
  if (launch::filter.has(LaunchFilter::kComparing)) phases.compare(launch);
  switch (state()) {
    case RunState::kBeforeIterations:
    case RunState::kDiscovering:
      return {.kind = LaunchTicket::Kind::kMeet};
    case RunState::kWithoutIterations:
      return without_iterations.begin_launch(launch);
    case RunState::kMeasuring:
    case RunState::kOverheadMeasurement:
      return met_if_searched(launch::filter.has_acquired(LaunchFilter::kMeasuringAll)
                                 ? one_shot.begin_launch(launch)
                                 : arming.begin_launch(launch),
                             launch);
    case RunState::kUnitTests:
      return unit_tests.begin_launch(launch);
    case RunState::kDraining:
    case RunState::kDone:
      return {};
  }
  return {};
}

// The search for iterations goes on behind the warm-up.
bool Session::is_searched(const hook::Launch& launch) const noexcept {
  return state() == RunState::kMeasuring && launch.copy == nullptr &&
         launch::filter.has(LaunchFilter::kSearching);
}

LaunchTicket Session::met_if_searched(LaunchTicket ticket, const hook::Launch& launch) const {
  if (ticket.kind == LaunchTicket::Kind::kNothing && is_searched(launch))
    ticket.kind = LaunchTicket::Kind::kMeet;
  return ticket;
}

void Session::after_launch(const hook::Launch& launch, const LaunchTicket& ticket, bool launched) {
  if (launch.graph != nullptr && launched) graph_was_launched();
  end_launch(launch, ticket, launched);
  using Kind = LaunchTicket::Kind;
  const bool is_met =
      ticket.kind == Kind::kMeet || (ticket.kind != Kind::kNothing && is_searched(launch));
  if (launched && is_met) discovery.meet(launch, ticket.is_captured);
}

void Session::end_launch(const hook::Launch& launch, const LaunchTicket& ticket, bool launched) {
  if (ticket.kind == LaunchTicket::Kind::kReplay)
    return graph_kernels.after_replay(ticket.pair, launched);
  if (ticket.is_captured && launched)
    graphs::capture_notes::note_captured_launch(launch, OperatorLearning::notes_of_node);
  if (ticket.kind == LaunchTicket::Kind::kMeet || ticket.kind == LaunchTicket::Kind::kNothing)
    return;
  if (launch.copy == nullptr) ticket.pair->correlation_id = cupti::cross_check_of_this_launch();
  if (launched) return end_pair(*ticket.pair, launch.stream, ticket.pair_of);
  ticket.pair->timer->abandon(*ticket.pair);
  launch::filter.refresh();
}

void Session::end_pair(timer::ContextTimer::Pair& pair, const void* stream, hook::PairOf pair_of) {
  if (pair_of == hook::PairOf::kArmedEvent) return arming.end_pair(stream, pair, true);
  arming.close_pair(stream, pair);
}

void Session::count_refusal(timer::ContextTimer::BeginResult result) noexcept {
  using Result = timer::ContextTimer::BeginResult;
  if (result == Result::kRingFull) run.dropped.ring_full.fetch_add(1);
  if (result == Result::kCapturing) run.dropped.capture_skipped.fetch_add(1);
}

// Load and store instead of an atomic increment: an occasional lost count is cheaper than a locked
// instruction.
void Session::count_graph_launch() noexcept {
  graph_launches_.store(graph_launch_count() + 1, std::memory_order_relaxed);
}

}  // namespace inline_prof::session
