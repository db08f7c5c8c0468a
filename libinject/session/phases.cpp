#include "session/phases.hpp"

#include "launch/launch_filter.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/large_stack.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

namespace inline_prof::session {
namespace {

// A run has so many phases at most, and begins a warm-up again so often: 32 warm-ups of 10
// iterations, each with a list of events, are what it may cost.
constexpr std::size_t kMostPhases = 8;
constexpr int kMostRenewals = 32;

constexpr std::size_t kFirstCompared = 3;
constexpr int kDiffering = 3;      // iterations in a row: an evaluation of one batch is no phase
constexpr std::int64_t kSoon = 8;  // iterations
constexpr int kFewestBriefVisits = 2;  // that are worth a word
// Primes: what a program does in every second, third or fourth iteration is looked at, too.
constexpr std::int64_t kCompareEvery = 31;
constexpr std::int64_t kCompareEveryOfSeveral = 7;  // where phases come in turns
// A launch in a compared iteration takes 40 ns: a long run has 0.2 ns for them.
constexpr std::int64_t kCompareOftenUntil = 1024;
constexpr std::int64_t kCompareEveryLater = 251;
// Launches without a new iteration that end the iterations: an evaluation may be longer than one.
constexpr std::int64_t kMostWithoutIteration = 4096;
constexpr std::int64_t kIterationsWithoutOne = 8;
constexpr int kMostHintsInVain = 6;  // 128 iterations to the next

// A phase that has come more than once is waited for so many iterations.
constexpr std::int64_t kLongestIdle = 1024;

// Launches that differ, as a share of the iteration's: more than an eighth, or twice what differs
// anyway; more than half is another phase in any case.
constexpr double kLeastDeviation = 0.125;
constexpr double kMostDeviation = 0.5;

// FNV-1a, 8 bytes at a time.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 1099511628211ULL;
}
constexpr std::uint64_t kBasis = 14695981039346656037ULL;

using EventPlace = std::tuple<std::string, int, int, int, bool>;
EventPlace place_of(const record::EventRecord& event) {
  return {event.event_name, event.occurrence, event.device_id, event.stream_index,
          event.is_inside_graph()};
}

bool has_all_samples(const Course& course) {
  if (course.adaptive) return course.adaptive->is_done();
  return course.position >= course.plan.last_iteration();
}

}  // namespace

void Phases::stop_comparing() {
  launch::filter.remove(launch::LaunchFilter::kComparing);
}

void Phases::compare(const hook::Launch& launch) {
  if (launch.copy != nullptr) return;  // how often a program copies tells nothing of its phases
  if (is_watching_.load(std::memory_order_relaxed) &&
      launches_left_.fetch_sub(1, std::memory_order_relaxed) == 0) {
    is_watching_.store(false, std::memory_order_relaxed);
    return session_.source.note_end_of_iterations();
  }
  timer::LaunchSlot* slot = launch::filter.table.find(launch.function, launch.stream);
  if (slot == nullptr) {
    foreign_launches_.fetch_add(kernels_in(launch.graph), std::memory_order_relaxed);
    return;
  }
  std::uint64_t hash = kBasis;
  for (std::size_t i = 0; i < launch.grid.size(); ++i)
    hash = mix(mix(hash, launch.grid[i]), launch.block[i]);
  slot->count.fetch_add(1, std::memory_order_relaxed);
  launch::filter.table.shapes_of(*slot).fetch_add(static_cast<std::uint32_t>(hash >> 20U),
                                                  std::memory_order_relaxed);
}

bool Phases::are_followed() const {
  return session_.config.follows_phases && session_.settings.mode == schedule::Mode::kFineGrained &&
         !std::holds_alternative<schedule::SampleList>(session_.request);
}

bool Phases::is_current(const record::EventRecord& event) const {
  return event.phase == index_;
}

// Equal for iterations that launch the same.  The order does not count: several threads launch.
std::uint64_t Phases::signature() const {
  std::uint64_t sum = 0;
  for (const record::EventRecord& event : session_.run.events) {
    if (!is_current(event) || event.is_copy) continue;
    std::uint64_t hash = kBasis;
    for (const char byte : event.event_name)
      hash = mix(hash, static_cast<unsigned char>(byte));
    hash = mix(hash, static_cast<std::uint64_t>(event.occurrence));
    hash = mix(hash, static_cast<std::uint64_t>(event.stream_index));
    hash = mix(hash, static_cast<std::uint64_t>(event.device_id));
    if (event.shape) {
      for (const unsigned extent : event.shape->grid)
        hash = mix(hash, extent);
    }
    sum += hash * hash;
  }
  return sum;
}

// Returns by how much the ending iteration deviates from the warm-up; counts begin anew.
double Phases::take_deviation() {
  double usual = 0;
  auto differing = static_cast<double>(foreign_launches_.exchange(0, std::memory_order_relaxed));
  // Without room for all launches of an iteration, those that are not listed are usual.
  if (session_.sites.are_full()) differing = 0;
  double reshaped = 0;
  const bool is_first = comparison_.first_deviations.size() < kFirstCompared;
  for (const auto& site : session_.sites.all()) {
    const auto count =
        static_cast<double>(site->slot->count.exchange(0, std::memory_order_relaxed));
    const std::uint32_t shapes =
        launch::filter.table.shapes_of(*site->slot).exchange(0, std::memory_order_relaxed);
    if (site->label != nullptr || is_copy(*site) || !has_handles(*site)) continue;
    const double expected = site->usual_count;
    const double kernels = kernels_in(site->graph);
    if (site->usual_votes <= 0) {
      if (!site->count_varies) differing += kernels * count;  // met behind the warm-up
      continue;
    }
    usual += kernels * expected;
    if (count != expected) {
      differing += kernels * std::abs(count - expected);
      continue;
    }
    if (is_first) {
      if (site->shape_votes == 0) site->usual_shapes = shapes;
      site->shape_votes = site->usual_shapes == shapes ? site->shape_votes + 1 : -1000;
    } else if (std::cmp_equal(site->shape_votes, kFirstCompared) && site->usual_shapes != shapes) {
      differing += kernels * count;
      reshaped += kernels * count;
    }
  }
  comparison_.has_other_grids = 2 * reshaped > differing;
  return usual == 0 ? (differing > 0 ? 1 : 0) : differing / usual;
}

void Phases::begin_counting_anew() {
  foreign_launches_.store(0, std::memory_order_relaxed);
  for (const auto& site : session_.sites.all()) {
    site->slot->count.store(0, std::memory_order_relaxed);
    launch::filter.table.shapes_of(*site->slot).store(0, std::memory_order_relaxed);
  }
}

// True if the deviation shows that the iteration is of another phase.
bool Phases::is_another(double deviation) {
  if (comparison_.first_deviations.size() >= kFirstCompared) return deviation > comparison_.most;
  comparison_.first_deviations.push_back(deviation);
  if (comparison_.first_deviations.size() == kFirstCompared) {
    auto sorted = comparison_.first_deviations;
    std::sort(sorted.begin(), sorted.end());
    comparison_.most =
        std::min(std::max(kLeastDeviation, 2 * sorted[kFirstCompared / 2]), kMostDeviation);
  }
  return deviation > kMostDeviation;
}

// True if something hints at another phase; less and less often if nothing comes of it.
bool Phases::is_hinted_at(std::int64_t iteration) {
  const bool was_put_off = std::exchange(comparison_.is_put_off, false);
  if (!was_put_off &&
      (iteration < comparison_.next_hint || !session_.arming.some_were_not_as_expected()))
    return false;
  comparison_.next_hint = iteration + (std::int64_t{2} << comparison_.hints_in_vain);
  comparison_.hints_in_vain = std::min(comparison_.hints_in_vain + 1, kMostHintsInVain);
  return true;
}

void Phases::reset_comparison(std::int64_t last_good) {
  comparison_ = {};
  comparison_.last_good = last_good;
  stop_comparing();
}

bool Phases::has_record() const {
  return std::cmp_less(index_, session_.run.phases.size());
}

// Samples of iterations that may have been another phase's are no samples of this one.
void Phases::end_stretch(std::int64_t last) {
  const std::lock_guard lock(session_.run.mutex);
  if (!has_record()) return;
  auto& stretch = session_.run.phases[static_cast<std::size_t>(index_)].stretches.back();
  stretch.last = std::max(last, stretch.first - 1);
  if (stretch.last < stretch.first)
    session_.run.phases[static_cast<std::size_t>(index_)].stretches.pop_back();
  for (timer::ContextTimer& timer : session_.contexts.timers())
    timer.discard_after(last);
  for (record::EventRecord& event : session_.run.events) {
    if (is_current(event)) event.forget_samples_after(last);
  }
}

// The launches that were just discovered are those of `phase`, whose events take the place of the
// new ones.
void Phases::go_on_with(int phase) {
  std::map<EventPlace, record::EventRecord*> known;
  std::unordered_map<const record::EventRecord*, record::EventRecord*> taken_for;
  for (record::EventRecord& event : session_.run.events) {
    if (event.phase == phase) known.emplace(place_of(event), &event);
  }
  const auto sites = session_.sites.take_events();
  for (record::EventRecord& event : session_.run.events) {
    if (!is_current(event)) continue;
    const auto same = known.find(place_of(event));
    const auto site = sites.find(&event);
    if (same == known.end() || site == sites.end()) continue;
    record::EventRecord& old = *same->second;
    const std::lock_guard lock(session_.run.mutex);
    old.stream = event.stream;
    old.launch_occurrence = event.launch_occurrence;
    old.first_node = event.first_node;
    old.last_node = event.last_node;
    taken_for[&event] = &old;
    session_.sites.set_event(&old, *site->second.site, site->second.inside);
  }
  for (const auto& site : session_.sites.all()) {
    for (record::EventRecord*& event : site->events) {
      const auto old = taken_for.find(event);
      event = old == taken_for.end() ? nullptr : old->second;
    }
  }
  const std::int64_t iteration = session_.iteration();
  {
    const std::lock_guard lock(session_.run.mutex);
    session_.run.events.remove_if(
        [&](const record::EventRecord& event) { return is_current(event); });
    session_.run.phases[static_cast<std::size_t>(phase)].stretches.push_back(
        {.first = start_ + 1, .last = start_});
  }
  index_ = phase;
  Course& course = courses_[static_cast<std::size_t>(phase)];
  start_ = iteration - course.position - 1;
  current_ = std::exchange(course, {});
  measure();
}

// The phase that has such iterations; below 0: none.
int Phases::phase_with(std::uint64_t signature) const {
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const auto& known = courses_[i].signatures;
    if (std::find(known.begin(), known.end(), signature) != known.end()) return static_cast<int>(i);
  }
  return -1;
}

// The iterations from now on are in no phase's list.
void Phases::measure_nothing() {
  current_ = {};
  current_.plan = schedule::Plan(0, session_.settings.warmup, std::vector<schedule::Turn>{});
  measure();
}

bool Phases::may_find_another() const {
  return are_followed() && renewals_ < kMostRenewals;
}

bool Phases::has_left(std::int64_t iteration, bool was_void) {
  if (!are_followed() || session_.state() != RunState::kMeasuring) return false;
  if (std::exchange(is_asked_to_begin_anew_, false)) {
    sys::on_large_stack([&] { begin_anew(iteration); });
    return true;
  }
  if (session_.watching.is_paused()) {
    stop_comparing();
    return false;
  }
  // New kernels and streams may be those of lost sites, which are being searched for.
  if (launch::filter.has(launch::LaunchFilter::kSitesLost)) {
    stop_comparing();
    comparison_.is_put_off = true;
    return false;
  }
  bool is_hinted = false;
  const bool is_partial = is_watching_.exchange(false, std::memory_order_relaxed);
  if (launch::filter.has(launch::LaunchFilter::kComparing) && !was_void && !is_partial) {
    const bool differs = is_another(take_deviation());
    ++compared_;
    if (!differs && comparison_.differing > 0) {
      briefly_other_ += comparison_.differing;
      ++brief_visits_;
    }
    comparison_.differing = differs ? comparison_.differing + 1 : 0;
    if (differs) comparison_.hints_in_vain = 0;
    if (!differs) comparison_.last_good = iteration - 1;
  } else {
    is_hinted = is_hinted_at(iteration);
  }
  if (comparison_.differing == kDiffering) {
    if (!may_find_another()) {
      if (!std::exchange(has_said_that_there_are_too_many_, true))
        session_.warn("launches have changed " + std::to_string(kMostRenewals) +
                      " times: what comes after iteration " +
                      std::to_string(comparison_.last_good) +
                      " is measured only where it launches what was met before");
      comparison_.differing = 0;
      stop_comparing();
      renewals_ = kMostRenewals + 1;
      return false;
    }
    const char* const reason = comparison_.has_other_grids ? "other grids" : "other launches";
    // A loop of the set-up, most likely, that ended soon after the warm-up.
    if (session_.source.is_guessed() &&
        position_of(comparison_.last_good) <= session_.settings.warmup + kSoon) {
      session_.source.search_again(reason);
    } else {
      sys::on_large_stack([&] { leave(comparison_.last_good, reason); });
    }
    return true;
  }
  if (renewals_ > kMostRenewals) return false;
  const std::int64_t position = position_of(iteration);
  std::int64_t every = position < kCompareOftenUntil ? kCompareEvery : kCompareEveryLater;
  if (courses_.size() > 1) every = kCompareEveryOfSeveral;
  if (session_.watching.is_on()) every = session_.watching.compare_every();
  const bool is_due = comparison_.first_deviations.size() < kFirstCompared ||
                      comparison_.differing > 0 || is_hinted || position % every == 0;
  if (!is_due) {
    stop_comparing();
    return false;
  }
  begin_counting_anew();
  launch::filter.add(launch::LaunchFilter::kComparing);
  if (session_.watching.is_on()) session_.watching.note_comparison();
  return false;
}

void Phases::watch(std::int64_t iteration) {
  const bool has_begun = std::exchange(watched_, iteration) != iteration;
  if (has_begun || is_watching_.load() || !has_record() || !may_find_another()) return;
  const record::PhaseRecord& phase = session_.run.phases[static_cast<std::size_t>(index_)];
  launches_left_.store(kMostWithoutIteration +
                       kIterationsWithoutOne * (phase.kernel_launches + phase.graph_launches));
  is_watching_.store(true);
  launch::filter.add(launch::LaunchFilter::kComparing);
}

void Phases::leave(std::int64_t last, std::string reason) {
  end_stretch(last);
  reset_comparison(last);
  session_.graph_kernels.pause();
  session_.watching.stop();
  session_.arming.disarm();
  session_.rebinding.forget();
  session_.overhead.forget_armed();
  const std::int64_t position = std::max(position_of(last), session_.settings.warmup);
  if (has_record()) {
    Course& course = courses_[static_cast<std::size_t>(index_)];
    course = std::exchange(current_, {});
    course.position = position;
    if (last <= start_ && std::cmp_equal(index_ + 1, courses_.size())) {
      courses_.pop_back();
      const std::lock_guard lock(session_.run.mutex);
      session_.run.phases.pop_back();
    }
  } else {
    current_ = {};
  }
  ++renewals_;
  reason_ = std::move(reason);
  phase_began_s_ = sys::monotonic_seconds();
  index_ = static_cast<int>(session_.run.phases.size());
  start_ = session_.iteration() - 1;
  session_.discovery.begin_phase();
  session_.discovery.begin_anew();
  labels::open_all_gates(true);
  launch::filter.add(launch::LaunchFilter::kCounting);
}

std::string Phases::ask_to_begin_anew() {
  if (!are_followed())
    return "this run measures what its first iterations launched: its mode, INLINE_PROF_PHASES=0 "
           "or a list of iterations says so";
  if (trigger::is_paused() || session_.watching.is_paused()) return "it is paused";
  if (session_.state() < RunState::kMeasuring) return "it has no samples yet";
  is_asked_to_begin_anew_ = true;
  return "";
}

// The warm-up meets the phases again, which then measure from the start.
void Phases::begin_anew(std::int64_t iteration) {
  leave(iteration - 1, "the user asked for it");
  session_.watching.forget_characterisation();
  for (Course& course : courses_) {
    course.position = session_.settings.warmup;
    course.is_settled = false;
    if (course.adaptive) course.adaptive->begin_anew();
  }
  const std::lock_guard lock(session_.run.mutex);
  for (timer::ContextTimer& timer : session_.contexts.timers())
    timer.discard_after(-1);
  for (record::EventRecord& event : session_.run.events) {
    event.forget_samples_after(-1);
    if (!event.has(record::Flag::kNotMeasurable)) event.reason.clear();
  }
  session_.run.iteration_times.clear();
}

bool Phases::is_known_iteration() {
  if (!session_.discovery.take_fresh() || !are_followed()) return false;
  int known = -1;
  sys::on_large_stack([&] {
    const std::uint64_t present = signature();
    known = phase_with(present);
    if (known < 0) return current_.signatures.push_back(present);
    current_.signatures.clear();
    go_on_with(known);
  });
  return known >= 0;
}

bool Phases::go_on_with_known() {
  if (!are_followed()) return false;
  const std::uint64_t present = signature();
  const int known = phase_with(present);
  if (known >= 0) {
    go_on_with(known);
    current_.signatures.push_back(present);
    return true;
  }
  current_.signatures.push_back(present);
  if (courses_.size() < kMostPhases) return false;
  session_.warn("there are more than " + std::to_string(kMostPhases) +
                " phases: what other iterations launch is not measured");
  measure_nothing();
  return true;
}

void Phases::forgive_renewal() noexcept {
  const int renewals = std::min(renewals_.load(), kMostRenewals);
  if (renewals > 0) renewals_.store(renewals - 1);
}

void Phases::stop_search() {
  session_.watching.note_lost_iterations();
  measure_nothing();
  session_.enter(RunState::kMeasuring);
}

void Phases::take_layers_of_earlier() {
  if (!some_are_planned()) return;
  const std::lock_guard lock(session_.run.mutex);
  std::map<EventPlace, const record::EventRecord*> earlier;
  for (const record::EventRecord& event : session_.run.events) {
    if (event.layer_name.empty()) continue;
    if (is_current(event)) return;  // it has layers of its own
    earlier.try_emplace(place_of(event), &event);
  }
  for (record::EventRecord& event : session_.run.events) {
    if (!is_current(event)) continue;
    const auto found = earlier.find(place_of(event));
    if (found == earlier.end()) continue;
    const record::EventRecord& same = *found->second;
    event.layer_name = same.layer_name;
    const bool is_alike = event.shape && same.shape && event.shape->grid == same.shape->grid;
    if (is_alike && event.op == nullptr && same.op != nullptr)
      event.op = std::make_unique<record::Op>(*same.op);
  }
}

void Phases::note_confidence(double confidence) {
  if (has_record()) session_.run.phases[static_cast<std::size_t>(index_)].confidence = confidence;
}

void Phases::note() {
  record::PhaseRecord phase{.stretches = {{.first = start_ + 1, .last = start_}},
                            .started_after_s = !some_are_planned() ? 0 : phase_began_s_ - began_s_,
                            .source = session_.run.iteration_source,
                            .confidence = session_.run.iteration_confidence,
                            .reason = reason_};
  for (const auto& site : session_.sites.all()) {
    if (site->label != nullptr || is_copy(*site) || site->usual_votes <= 0) continue;
    if (site->graph == nullptr) {
      phase.kernel_launches += site->usual_count;
      continue;
    }
    phase.graph_launches += site->usual_count;
    phase.graph_kernels += std::int64_t{site->usual_count} * kernels_in(site->graph);
  }
  phase.is_measured = true;
  session_.run.phases.push_back(std::move(phase));
  courses_.emplace_back();
}

void Phases::measure() {
  session_.graph_kernels.plan(current_.in_graphs);
  {
    const std::lock_guard lock(session_.run.mutex);
    session_.run.phase_in_making = has_record() ? -1 : index_;
  }
  static_cast<void>(session_.discovery.take_fresh());
  idle_iterations_ = 0;
  reset_comparison(session_.iteration() - 1);
  launch::filter.remove(launch::LaunchFilter::kCounting);
  labels::open_all_gates(false);
  session_.arming.mark_meeting_threads();
  session_.arming.disarm();
  session_.label_events.note_what_is_needed();
}

bool Phases::waits_for_others() {
  if (!has_record() && !some_are_planned()) return false;
  const auto has_returned = [&](std::size_t i) {
    return session_.run.phases[i].stretches.size() > 1;
  };
  const bool phases_alternate = has_record() && has_returned(static_cast<std::size_t>(index_));
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    if (std::cmp_equal(i, index_) || has_all_samples(courses_[i])) continue;
    if (phases_alternate || has_returned(i)) return ++idle_iterations_ < kLongestIdle;
  }
  return false;
}

bool Phases::some_in_graphs_had_no_turn() const {
  if (session_.settings.policy == schedule::Policy::kAdaptive) return false;
  const auto had_no_turn = [](const record::EventRecord* event) {
    return event->is_inside_graph() && event->sample_count() == 0 &&
           !event->has(record::Flag::kNotMeasurable);
  };
  const auto has_one = [&](const Course& course) {
    return std::ranges::any_of(course.targets, [&](const Target& target) {
      return std::ranges::any_of(target.events, had_no_turn);
    });
  };
  return has_one(current_) || std::ranges::any_of(courses_, has_one);
}

void Phases::settle_others() {
  const auto wanted = static_cast<std::uint32_t>(session_.settings.repeat);
  std::string texts;
  std::set<int> empty;
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    if (std::cmp_equal(i, index_)) continue;
    const Course& course = courses_[i];
    std::size_t events = 0;
    std::size_t without = 0;
    std::size_t short_of_some = 0;
    for (const Target& target : course.targets) {
      for (record::EventRecord* event : target.events) {
        const std::uint32_t count = event->sample_count();
        ++events;
        if (count == 0) ++without;
        if (course.adaptive != nullptr || count >= wanted) continue;
        ++short_of_some;
        const std::lock_guard lock(session_.run.mutex);
        event->reason.append(event->reason.empty() ? "" : "; ")
            .append("its phase ended: " + std::to_string(wanted - count) + " of " +
                    std::to_string(wanted) + " samples are missing");
      }
    }
    if (without == events) empty.insert(static_cast<int>(i));
    if (short_of_some == 0) continue;
    texts.append(texts.empty() ? "" : ", ")
        .append("phase " + std::to_string(i + 1) + ": " + std::to_string(short_of_some) + " of " +
                std::to_string(events) + " events have too few samples");
  }
  if (!texts.empty()) session_.warn("phases ended before all was measured: " + texts);
  if (brief_visits_ >= kFewestBriefVisits) {
    session_.warn(std::to_string(briefly_other_) + " of " + std::to_string(compared_) +
                  " iterations that were looked at launched something else, for one or two "
                  "iterations in a row: a phase needs three, so what they launch has no samples");
  }
  if (empty.empty()) return;
  const bool has_samples = session_.samples_taken() > 0;
  const std::lock_guard lock(session_.run.mutex);
  for (const int phase : empty)
    session_.run.phases[static_cast<std::size_t>(phase)].is_measured = false;
  if (!has_samples) return;  // the list is all that there is
  session_.run.events.remove_if(
      [&](const record::EventRecord& event) { return empty.contains(event.phase); });
}

}  // namespace inline_prof::session
