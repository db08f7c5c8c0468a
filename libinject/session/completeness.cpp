// Whether prof.json has everything that was asked for, and what it says where it has not.
//
// A file is complete if the run came to an orderly end (all was measured, or the process ended by
// itself after the plan was through; no signal, no fault that switched profiling off), and if every
// event that was asked for has all its samples, or a reason that stands with it in the file.  A
// run without iterations asks for as many samples as there is time for.
#include "session/session.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

// Says why samples that were recorded, or were to be, are not in the file.
std::string causes(Session& session, std::uint64_t missing, std::uint64_t left_open) {
  const record::Dropped& dropped = session.run.dropped;
  std::string text;
  std::uint64_t known = 0;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count == 0 || known >= missing) return;
    // A launch that found no room was tried again.
    count = std::min(count, missing - known);
    known += count;
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(what);
  };
  add(dropped.destroyed.load(), "lost with streams, contexts or modules of the program's");
  add(dropped.ring_full.load(), "while the GPU was too far behind");
  add(dropped.not_ready_at_exit.load(), "not ready at the end");
  add(dropped.capture_skipped.load(), "in captures");
  add(dropped.stale_graph.load(), "in graphs that changed");
  add(dropped.interleaved_launch.load(), "with a launch of another thread in between");
  add(dropped.irregular_iteration.load(), "in irregular iterations");
  add(sys::vendor_error_count(), "lost to errors of the driver");
  add(left_open, "of labels that were open where an iteration began");
  if (known >= missing) return text;
  return text + (text.empty() ? "" : ", the others ") + "not launched in their turn";
}

struct Shortfall {
  bool ended_early = false;  // the program, before every event had its turn
  std::int64_t wanted = 0;
  std::int64_t missing = 0;
  std::int64_t left_open = 0;  // of those, of labels that stay open from one iteration to the next
  std::size_t events = 0;      // that miss some
};

// An event of which no more samples are expected has a reason already.
void add_event(Session& session, record::EventRecord& event, std::int64_t wanted, Shortfall& all) {
  if (event.has(record::Flag::kNotMeasurable)) return;
  const std::int64_t missing = wanted - event.sample_count();
  all.wanted += wanted;
  if (missing <= 0) return;
  all.missing += missing;
  ++all.events;
  const std::lock_guard lock(session.run.mutex);
  const bool has_reason = !event.reason.empty();
  event.reason.append(has_reason ? "; " : "")
      .append(std::to_string(missing) + " of " + std::to_string(wanted) + " samples are missing");
  const LaunchSite* site = session.sites.of_event(&event);
  // A program that ends destroys its streams, too.
  if (!all.ended_early && site != nullptr && !has_handles(*site) && !site->stream->is_silent) {
    event.reason.append(": the program destroyed its stream, context or module");
  } else if (event.was_left_open.load(std::memory_order_relaxed)) {
    all.left_open += missing;
    event.reason.append(": it was open where an iteration began, and is not measured across that");
  } else if (all.ended_early && !has_reason) {
    event.reason.append(": the program ended first");
  }
}

// Policy adaptive asks for no number of samples, but for at least one of each class.
void add_empty_classes(Session& session, Shortfall& all) {
  const Course& course = session.phases.course();
  for (const auto& members : course.adaptive->classes_without_samples()) {
    ++all.missing;
    for (const std::size_t target : members) {
      for (record::EventRecord* event : course.targets[target].events) {
        ++all.events;
        const std::lock_guard lock(session.run.mutex);
        event->reason = "no sample of its class came";
      }
    }
  }
}

Shortfall shortfall_of(Session& session, bool ended_early) {
  const Course& course = session.phases.course();
  Shortfall all{.ended_early = ended_early};
  if (course.adaptive) add_empty_classes(session, all);
  const bool is_one_shot = session.settings.mode == schedule::Mode::kOneShot;
  for (std::size_t i = 0; i < course.targets.size(); ++i) {
    const bool is_visited = i >= course.plain_targets;
    if (!is_visited && course.adaptive) continue;
    for (record::EventRecord* event : course.targets[i].events) {
      if (is_one_shot) {
        add_event(session, *event, event->capacity(), all);
      } else if (is_visited) {
        // Under policy adaptive one kernel of each class is measured; the others are not requested.
        if (event->capacity() > 0 || session.settings.policy != schedule::Policy::kAdaptive)
          add_event(session, *event, session.settings.repeat, all);
      } else {
        add_event(session, *event, course.plan.samples_of(i), all);
      }
    }
  }
  return all;
}

// Counts pairs that were spoiled by another thread, or had no room: they were in their turn.
std::int64_t spoiled_in_turn(const Session& session) {
  const record::Dropped& dropped = session.run.dropped;
  return static_cast<std::int64_t>(dropped.interleaved_launch.load() + dropped.ring_full.load());
}

// In one sentence; empty where all was recorded.
std::string early_end(Session& session) {
  const Course& course = session.phases.course();
  const std::string at = "the program ended at iteration " + std::to_string(session.iteration());
  const bool is_planned =
      session.phases.position_of(session.iteration()) < course.plan.last_iteration();
  if (course.adaptive) {
    const std::int64_t left = course.adaptive->iterations_left();
    const auto samples = static_cast<std::int64_t>(session.samples_taken());
    return at + " with " + std::to_string(samples) + " samples: " +
           (left < 0
                ? "how long an iteration takes was not known yet"
                : "about " + std::to_string(left) + " iterations more would have met the target");
  }
  if (!is_planned && !session.graph_kernels.is_over())
    return at + " before all kernels inside CUDA graphs were measured";
  const bool is_one_shot = session.settings.mode == schedule::Mode::kOneShot;
  const std::int64_t last = is_one_shot
                                ? session.settings.warmup + session.config.one_shot_iterations
                                : session.phases.start() + course.plan.last_iteration();
  return at + " of " + std::to_string(last);
}

// The measured part of a run with iterations.
bool settle_measured(Session& session) {
  session.source.judge_what_was_withdrawn();
  const Course& course = session.phases.course();
  const bool all_was_recorded = session.controller.everything_was_recorded();
  const Shortfall all = shortfall_of(session, !all_was_recorded);
  if (all_was_recorded && all.missing == 0) {
    if (all.wanted == 0 && course.targets.empty() && !session.phases.some_are_planned() &&
        session.settings.mode != schedule::Mode::kData)
      session.warn("no launch was met in the warm-up that could be measured: nothing was measured");
    if (session.run.iteration_times.size() == 0 && session.samples_taken() > 0) {
      session.warn(
          "all samples were taken, but no iteration has a time: the streams that iterations are "
          "timed on were gone before the next one began");
    }
    return !session.phases.some_in_graphs_had_no_turn();
  }
  const auto missing = static_cast<std::uint64_t>(all.missing);
  const std::string of_events =
      std::to_string(all.events) + (all.events == 1 ? " event" : " events");
  const std::string samples = std::to_string(all.wanted - all.missing) + " of " +
                              std::to_string(all.wanted) + " samples were taken";
  if (!all_was_recorded) {
    session.warn(early_end(session) + (course.adaptive ? "" : ": " + samples));
  } else if (course.adaptive && all.wanted == 0) {
    session.warn(std::to_string(all.missing) + " classes with " + of_events +
                 " have no sample: " + causes(session, missing, 0));
  } else {
    session.warn(samples + "; the others, of " + of_events + ": " +
                 causes(session, missing, static_cast<std::uint64_t>(all.left_open)));
  }
  // Iterations in which most events are not launched in their turn are parts of longer ones.
  if (session.source.is_guessed() && all_was_recorded &&
      2 * (all.missing - spoiled_in_turn(session)) > all.wanted) {
    session.source.doubt(samples + ": the iterations that were found may be parts of longer ones");
    return false;
  }
  // Reasons do not make a file complete that has no sample at all.
  return all_was_recorded && all.missing < all.wanted &&
         !session.phases.some_in_graphs_had_no_turn();
}

// Names the calls and launches that would have begun an iteration.
std::string awaited(const sys::Config& config) {
  switch (config.iteration_source) {
    case sys::IterationSource::kAuto:
      return "PROFILE_ITERATION, the C call, or launches that repeat often enough";
    case sys::IterationSource::kMacro:
      return "PROFILE_ITERATION or the C call";
    case sys::IterationSource::kNvtx:
      return "an NVTX range that fits " + config.iteration_glob;
    case sys::IterationSource::kKernel:
      return "a kernel that fits " + config.iteration_glob;
    case sys::IterationSource::kPeriod:
      return "launches that repeat after " + std::to_string(config.iteration_period);
    case sys::IterationSource::kOptimizer:
      return "an optimizer's step";
  }
  return {};
}

// The package asks as soon as the program has imported PyTorch.
void say_that_nothing_asked(Session& session) {
  if (!session.config.expects_torch || OperatorLearning::some_ask()) return;
  session.warn_once(
      "INLINE_PROF_TORCH is 1, but no PyTorch was hooked in this process: no module has a name. "
      "Python leaves the hooks out with -E, -I and -S: import inline_prof.torch in the program");
}

bool settle_by_phase(Session& session) {
  switch (session.state()) {
    case RunState::kBeforeIterations:
    case RunState::kWithoutIterations:
      if (session.phases.some_are_planned()) {
        const std::string last = "after iteration " + std::to_string(session.iteration());
        // A program may wait often before it ends, and so seem to have left its loop.
        session.warn(session.sites.all().empty()
                         ? "the program launched nothing " + last
                         : "the program ended while iterations were looked for, " + last +
                               ": nothing behind it was measured");
        session.source.judge_what_was_left();
        return false;
      }
      session.warn("no iteration boundary was met (" + awaited(session.config) +
                   "): the whole run counts as one iteration, and " +
                   (session.samples_taken() > 0 ? "labels were not measured"
                                                : "it ended before anything was timed"));
      return false;
    case RunState::kUnitTests:
      if (session.samples_taken() == 0) {
        session.warn("no unit test ran more often than its warm-up of " +
                     std::to_string(session.settings.warmup) + " runs: nothing was measured");
      }
      return true;
    case RunState::kDiscovering:
      if (session.phases.some_are_planned()) {
        session.warn(
            "the program ended in the warm-up of a further phase, which began with "
            "iteration " +
            std::to_string(session.phases.start() + 1) + ": it was not measured");
        return false;
      }
      session.warn("the program ended in the warm-up, after iteration " +
                   std::to_string(session.iteration()) + " of " +
                   std::to_string(session.settings.warmup) + ": nothing was measured");
      return false;
    default:
      return settle_measured(session);
  }
}

}  // namespace

bool settle_characterisation(Session& session) {
  say_that_nothing_asked(session);
  return settle_measured(session) && *sys::off_reason() == '\0';
}

bool most_samples_are_missing(Session& session) {
  const Course& course = session.phases.course();
  if (course.adaptive || session.settings.mode != schedule::Mode::kFineGrained) return false;
  std::int64_t wanted = 0;
  std::int64_t missing = -spoiled_in_turn(session);
  for (const timer::ContextTimer& timer : session.contexts.timers())
    missing -= static_cast<std::int64_t>(timer.pending());
  for (std::size_t i = 0; i < course.plain_targets; ++i) {
    for (const record::EventRecord* event : course.targets[i].events) {
      if (event->has(record::Flag::kNotMeasurable)) continue;
      const std::int64_t samples = course.plan.samples_of(i);
      wanted += samples;
      missing += std::max<std::int64_t>(samples - event->sample_count(), 0);
    }
  }
  return 2 * missing > wanted;
}

bool settle_completeness(Session& session, End end) {
  say_that_nothing_asked(session);
  sys::on_large_stack([&] { session.phases.settle_others(); });
  const bool has_all = settle_by_phase(session);
  if (const Course& course = session.phases.course();
      course.targets.size() > course.plain_targets) {
    const std::string note = [&] {
      const std::lock_guard lock(session.run.mutex);
      return session.contexts.graph_note();
    }();
    if (!note.empty()) session.warn(note);
  }
  if (has_all && end == End::kBySignal) session.warn("the program was ended by a signal");
  const bool is_sure = [&] {
    const std::lock_guard lock(session.run.mutex);
    return session.run.iteration_source != "auto" || session.run.iteration_confidence >= 0.5;
  }();
  if (has_all && !is_sure) {
    session.warn(
        "the iterations were found with a confidence below 0.5: mark them with PROFILE_ITERATION, "
        "or set INLINE_PROF_ITERATION");
  }
  const bool some_phase_is_measured =
      session.phases.planned_count() < 2 || session.samples_taken() > 0;
  return has_all && is_sure && some_phase_is_measured && end != End::kBySignal &&
         *sys::off_reason() == '\0';
}

}  // namespace inline_prof::session
