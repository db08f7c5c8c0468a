#include "session/run_controller.hpp"

#include "hook/driver_functions.hpp"
#include "labels/label.hpp"
#include "session/session.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

// If the GPU is behind by more than this many iterations after the last sample, it is not waited
// for.
constexpr int kLongestDraining = 1024;

// A longer warm-up than usual searches for iterations no further than this: the search examines
// every launch.
constexpr std::int64_t kSearchedInWarmup = 256;
// Behind the warm-up it goes on for as many micro-steps as an accumulation may have.
constexpr std::int64_t kSearchedBehindWarmup = 64;

// A twentieth of the iterations is worth a warning.
constexpr std::int64_t kManyLeftOut = 20;

// Blocks can be told apart while the application is ahead of the GPU by at most this many
// iterations.
constexpr std::int64_t kLongestLead = 32;
constexpr std::int64_t kTimesInABlock = 4;  // behind the lead: enough for a median
constexpr std::int64_t kBlocksInAQuad = 4;  // armed, not, not, armed: a steady drift cancels
constexpr std::int64_t kMostQuads = 12;     // more than enough for a bootstrap over them

constexpr std::size_t kRemembered = 16;  // armed iterations

constexpr std::int64_t kSecondsBetween = 5;

}  // namespace

RunController::Choice RunController::choose_in_one_shot(std::int64_t iteration) const {
  const std::int64_t position = iteration - session_.settings.warmup - 1;
  if (position >= session_.config.one_shot_iterations) return {.kind = Choice::Kind::kOver};
  if (position % session_.config.one_shot_every != 0) return {};
  return {.kind = Choice::Kind::kEverything};
}

RunController::Choice RunController::choose_by_need(std::int64_t iteration) {
  auto targets = session_.phases.course().adaptive->next(session_, iteration);
  if (session_.phases.course().adaptive->is_done()) return {.kind = Choice::Kind::kOver};
  return Choice::of(std::move(targets));
}

RunController::Choice RunController::choose_from_plan(std::int64_t iteration) const {
  const std::int64_t position = session_.phases.position_of(iteration);
  if (const auto target = session_.phases.course().plan.event_at(position))
    return Choice::of({*target});
  const bool data_are_wanted =
      iteration <= session_.settings.warmup + session_.config.data_iterations;
  return {.kind = position > session_.phases.course().plan.last_iteration() && !data_are_wanted
                      ? Choice::Kind::kOver
                      : Choice::Kind::kNothing};
}

RunController::Choice RunController::choose_for_overhead(std::int64_t iteration) const {
  if (session_.overhead.is_over(iteration)) return {.kind = Choice::Kind::kOver};
  auto targets = session_.overhead.targets_of(iteration);
  if (!targets) return {};
  if (session_.settings.mode == schedule::Mode::kOneShot)
    return {.kind = Choice::Kind::kEverything};
  return Choice::of(std::move(*targets));
}

// Comes last; in an iteration during which a clone is built nothing is measured.
RunController::Choice RunController::choose_inside_graphs() {
  const auto target = session_.graph_kernels.next();
  if (session_.graph_kernels.is_over()) return {.kind = Choice::Kind::kOver};
  return target ? Choice::of({*target}) : Choice{};
}

RunController::Choice RunController::choose(std::int64_t iteration) {
  if (session_.state() == RunState::kOverheadMeasurement) return choose_for_overhead(iteration);
  if (session_.settings.mode == schedule::Mode::kOneShot) return choose_in_one_shot(iteration);
  Choice choice =
      session_.phases.course().adaptive ? choose_by_need(iteration) : choose_from_plan(iteration);
  if (choice.kind == Choice::Kind::kOver) choice = choose_inside_graphs();
  if (choice.kind == Choice::Kind::kOver && session_.phases.waits_for_others()) return {};
  return choice;
}

void RunController::carry_out(const Choice& choice, std::int64_t iteration) {
  session_.one_shot.stop();
  switch (choice.kind) {
    case Choice::Kind::kTargets:
      session_.arming.arm(choice.targets, iteration);
      session_.overhead.note_armed(choice.targets);
      break;
    case Choice::Kind::kEverything:
      session_.arming.disarm();
      session_.one_shot.begin();
      session_.overhead.note_everything_armed();
      break;
    case Choice::Kind::kNothing:
    case Choice::Kind::kOver:
      session_.arming.disarm();
      session_.run.unarmed_iterations.fetch_add(1, std::memory_order_relaxed);
      return;
  }
  session_.run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
}

void RunController::start_measured_iteration(std::int64_t iteration) {
  Watching& watching = session_.watching;
  const bool is_watched = watching.is_on();
  const WatchBudget::Timed timed(is_watched ? &watching.budget() : nullptr);
  const bool was_void = session_.arming.is_iteration_void();
  session_.source.count_hints_from_now_on(true);
  session_.run.dropped.irregular_iteration.fetch_add(
      session_.arming.drop_samples_of_irregular_iteration());
  session_.rebinding.lose_silent_streams(iteration);
  session_.rebinding.go_on_searching();
  watching.end_iteration(was_void);
  if (was_void && session_.contexts.leave_out(iteration - 1)) leave_out_pass();
  // Our own thread reads what is watched.
  if (!is_watched) session_.contexts.poll_all();
  const std::int64_t behind = session_.phases.position_of(iteration) - session_.settings.warmup;
  const bool may_end_search = behind > kSearchedBehindWarmup;
  if (session_.phases.has_left(iteration, was_void)) {
    // The next phase begins as these iterations did, and would not look like them to the search.
    if (may_end_search) session_.source.end_search();
    return;
  }
  if (may_end_search && session_.source.has_met_enough() && !session_.source.confirm(true)) return;
  if (is_watched && watching.is_wanted())
    return carry_out(Choice::of(watching.start_iteration(iteration)), iteration);
  session_.contexts.record_origins(iteration);
  session_.progress.report(iteration);
  Choice choice = choose(iteration);
  if (choice.kind == Choice::Kind::kOver && may_end_search && !session_.source.confirm(true))
    return;
  if (choice.kind == Choice::Kind::kOver && session_.source.is_searching()) choice = {};
  if (choice.kind == Choice::Kind::kOver && session_.source.is_guessed() &&
      session_.phases.may_find_another() && most_samples_are_missing(session_)) {
    session_.source.doubt(
        "most events were not launched in their turn: the iterations that were "
        "found may be parts of longer ones; others are searched for");
    return session_.source.search_again("most events were not launched in their turn");
  }
  if (choice.kind == Choice::Kind::kOver && session_.overhead.begin(iteration)) {
    session_.arming.stop_marking();
    session_.enter(RunState::kOverheadMeasurement);
    choice = choose(iteration);
  }
  if (choice.kind != Choice::Kind::kOver) return carry_out(choice, iteration);
  session_.one_shot.stop();
  session_.arming.stop_marking();
  session_.arming.disarm();
  session_.enter(RunState::kDraining);
}

// A batch of an evaluation begins as an iteration does.
void RunController::leave_out_pass() {
  if (!session_.source.is_guessed()) return;
  const auto phase = static_cast<std::size_t>(session_.phases.index());
  passes_left_out_.resize(std::max(passes_left_out_.size(), phase + 1));
  ++passes_left_out_[phase];
}

// The first iterations allocate, choose algorithms and compile: what only they launch is no event.
// So the second half of the warm-up discovers anew.
//
// Behind the first phase nearly each iteration of the first half does, since any may be the first
// whole one of a phase that is known.
bool RunController::is_fresh_start(std::int64_t position) const {
  const std::int64_t half = session_.settings.warmup / 2;
  if (session_.phases.some_are_planned() && position > 1 && position <= half) return true;
  return session_.settings.warmup >= 2 && position == half + 1;
}

bool RunController::everything_was_recorded() const {
  const RunState now = session_.state();
  if (now == RunState::kDraining || now == RunState::kOverheadMeasurement) return true;
  if (session_.settings.mode == schedule::Mode::kOneShot)
    return session_.iteration() >= session_.settings.warmup + session_.config.one_shot_iterations;
  if (!session_.graph_kernels.is_over()) return false;
  if (session_.phases.course().adaptive) return session_.phases.course().adaptive->is_done();
  return session_.phases.position_of(session_.iteration()) >=
         session_.phases.course().plan.last_iteration();
}

void RunController::close_characterisation() {
  session_.planning.say_what_was_never_met();
  session_.label_events.say_unmatched();
  const std::lock_guard lock(session_.run.mutex);
  session_.overhead.gather();
}

void RunController::close_record() {
  close_characterisation();
  const std::lock_guard lock(session_.run.mutex);
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < std::min(passes_left_out_.size(), session_.run.phases.size()); ++i)
    left_out += session_.run.phases[i].passes_left_out = passes_left_out_[i];
  if (kManyLeftOut * left_out > session_.iteration()) {
    session_.run.warnings.push_back(
        std::to_string(left_out) +
        " passes that began as an iteration does hold more or less, as batches of an evaluation "
        "do: their times are left out");
  }
  if (*sys::off_reason() != '\0')
    session_.run.warnings.push_back(std::string("profiling went off: ") + sys::off_reason());
  if (session_.sites.some_were_forgotten()) {
    session_.run.not_seen.push_back(
        "launches before the first iteration of more kernels than there was room for: counted, not "
        "listed");
  }
  if (session_.sites.are_full() || labels::had_no_room())
    session_.run.not_seen.push_back("more kernels, streams or events than there was room for");
  if (const auto graphs = session_.graph_launch_count(); graphs > 0) {
    session_.run.not_seen.push_back(std::to_string(graphs) +
                                    " graph launches: counted, the kernels inside are not timed");
  }
  if (const auto unwrapped = hook::unwrapped_functions.load(); unwrapped > 0) {
    session_.run.not_seen.push_back(std::to_string(unwrapped) +
                                    " driver functions with a third address were not wrapped");
  }
}

void RunController::start_in_warmup(std::int64_t iteration) {
  session_.sites.fold_counts();
  session_.source.count_hints_from_now_on(false);
  if (session_.phases.is_known_iteration()) {
    session_.enter(RunState::kMeasuring);
    return start_measured_iteration(iteration);
  }
  const std::int64_t position = session_.phases.position_of(iteration);
  if (position <= session_.settings.warmup) {
    if (position == kSearchedInWarmup && !session_.source.confirm(true)) return;
    if (is_fresh_start(position)) session_.discovery.begin_anew();
    session_.operators.iteration_starts(position);
    return session_.discovery.iteration_starts(position);
  }
  session_.operators.warmup_ends();
  if (!session_.source.confirm(!session_.phases.may_find_another())) return;
  session_.planning.make_plan();
  session_.enter(RunState::kMeasuring);
  if (!sys::is_on()) return;  // nothing can be measured, and not all is planned
  session_.rebinding.begin_search_if_lost();
  start_measured_iteration(iteration);
}

bool RunController::start_iteration() {
  std::int64_t iteration = session_.begin_iteration();
  session_.run.last_iteration.store(iteration - 1, std::memory_order_relaxed);
  switch (session_.state()) {
    case RunState::kBeforeIterations:
    case RunState::kWithoutIterations:
      session_.sites.fold_counts();
      session_.phases.begin_after(iteration - 1);
      session_.without_iterations.leave();
      return false;
    case RunState::kDiscovering:
      // The warm-up lasts for one more: it must not end in an evaluation.
      if (session_.arming.take_void_iteration() && session_.source.is_guessed())
        session_.set_iteration(--iteration);
      start_in_warmup(iteration);
      return false;
    case RunState::kMeasuring:
    case RunState::kOverheadMeasurement:
      start_measured_iteration(iteration);
      return false;
    case RunState::kDraining:
      // Another thread may have made the context, and still calibrate it.
      if ((!session_.contexts.poll_all() || session_.contexts.is_calibrating()) &&
          ++draining_iterations_ < kLongestDraining) {
        return false;
      }
      if (session_.watching.is_wanted()) {
        session_.go_on_watching();
        return false;
      }
      session_.finish();
      return true;
    case RunState::kUnitTests:
      return false;  // each test is an iteration of its own
    case RunState::kDone:
      return true;
  }
  return true;
}

void Overhead::note_armed(const std::vector<std::size_t>& targets) {
  if (first_ != 0) return;
  if (armed_lately_.size() == kRemembered) armed_lately_.erase(armed_lately_.begin());
  armed_lately_.push_back(targets);
}

bool Overhead::begin(std::int64_t iteration) {
  const timer::ContextTimer* timer = session_.contexts.first_timer();
  if (timer == nullptr || armed_lately_.empty() || first_ != 0) return false;
  first_ = iteration;
  lead_ = std::clamp<std::int64_t>(timer->iterations_ahead(), 0, kLongestLead);
  block_ = lead_ + kTimesInABlock;
  const std::int64_t quad = kBlocksInAQuad * block_;
  std::int64_t most = session_.config.overhead_iterations;
  // A user who has asked for the program's end waits for the samples only.
  if (session_.exits_when_done()) most = std::min(most, iteration - session_.settings.warmup - 1);
  end_ = iteration + std::min(most / quad, kMostQuads) * quad;
  return end_ > iteration;
}

bool Overhead::is_armed(std::int64_t iteration) const noexcept {
  const std::int64_t block = (iteration - first_) / block_ % kBlocksInAQuad;
  return block == 0 || block == kBlocksInAQuad - 1;
}

std::optional<std::vector<std::size_t>> Overhead::targets_of(std::int64_t iteration) const {
  if (!is_armed(iteration)) return std::nullopt;
  return armed_lately_[static_cast<std::size_t>(iteration) % armed_lately_.size()];
}

void Overhead::gather() {
  if (block_ == 0 || !session_.run.overhead_blocks.empty()) return;
  std::vector<record::BlockTimes> blocks;
  for (std::int64_t first = first_; first + block_ <= end_; first += block_)
    blocks.push_back({.armed = is_armed(first), .times_ms = {}});
  const record::IterationTimes& times = session_.run.iteration_times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t position = times.iteration(i) - first_;
    if (position < 0 || times.iteration(i) >= end_ || position % block_ < lead_) continue;
    blocks[static_cast<std::size_t>(position / block_)].times_ms.push_back(times[i]);
  }
  // The program may have ended before the last ones.
  while (!blocks.empty() && blocks.back().times_ms.size() < kTimesInABlock)
    blocks.pop_back();
  session_.run.overhead_blocks = std::move(blocks);
}

std::int64_t Progress::iterations_left(std::int64_t iteration) const {
  if (session_.phases.course().adaptive)
    return session_.phases.course().adaptive->iterations_left();
  if (session_.settings.mode == schedule::Mode::kOneShot)
    return session_.settings.warmup + session_.config.one_shot_iterations - iteration;
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
