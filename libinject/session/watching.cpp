#include "session/watching.hpp"

#include "launch/launch_filter.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/thread_state.hpp"
#include "watch/selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

namespace inline_prof::session {
namespace {

// 1,000 histories and detectors stay below 8 MiB, and their part of prof.json below 4 MiB.
constexpr std::size_t kMostHistories = 1000;

constexpr std::size_t kMostLayers = 256;
constexpr std::size_t kBytesOfDetector = 3072;

constexpr std::size_t kMostPairsOfAnIteration = 16;
// Our thread reads them once a second, and a timer has 256.
constexpr double kMostPairsASecond = 128;
constexpr std::size_t kMostPlanned = 256;  // iterations: as many as a timer has pairs
// Planned ahead: longer than the writer's thread is ever busy with a checkpoint.
constexpr double kAheadSeconds = 3;
constexpr std::int64_t kFewestAhead = 64;
constexpr std::int64_t kMostAhead = 20'000;

// The thread's time for an iteration that is passed over, and for a launch that is compared.
constexpr std::int64_t kNsOfPassing = 10;
constexpr std::int64_t kNsOfComparing = 40;

// The chosen pairs keep below what may be spent, so that the account seldom runs out.
constexpr double kPartForPairs = 0.9;
constexpr double kPartForComparing = 0.25;
constexpr std::int64_t kFewestToCompare = 256;
constexpr std::int64_t kFewestToCompareOfSeveral = 8;  // where phases come in turns
constexpr std::int64_t kMostToCompare = 65'536;

// The iteration stands for everything that slows down at once, a throttled GPU for one.
constexpr double kWeightOfIteration = 0.5;

// A clone of a graph measures one kernel inside.  Clones take turns: each has the first iterations
// of a stretch, enough to build it, for its warm-ups and its samples.
constexpr std::int64_t kStretchOfGraphs = 512;  // iterations
constexpr std::int64_t kVisitOfGraph = 64;
constexpr double kPairsOfVisit = 30;
constexpr std::uint64_t kSeedOfGraphs = 0x6772617068;

// A change is known to have begun within this time.
constexpr double kSecondsOfOneChange = 300;
constexpr std::size_t kMostReported = 64;

// A warm-up that is begun again, or a search for iterations, takes 50 ms at most.
constexpr double kSecondsToForgive = 600;

constexpr std::int64_t kNoWork = std::int64_t{1} << 62U;

// An iteration that seems longer than this many usual ones was not one: the program slept.
constexpr double kMostOfUsual = 4;

// Without an iteration for so long, launches are counted (Phases::watch).
constexpr double kPatienceSeconds = 10;
constexpr double kPatienceIterations = 8;

bool stands_for_iteration(const record::EventRecord& event) {
  return event.start_index < 0;
}

struct Typical {
  double ns = 0;  // 0: not known
  double relative_spread = 1;
};

Typical typical_of(std::vector<float>& times_ms) {
  if (times_ms.empty()) return {};
  std::ranges::sort(times_ms);
  const auto at = [&](double part) {
    return static_cast<double>(
        times_ms[static_cast<std::size_t>(part * static_cast<double>(times_ms.size() - 1))]);
  };
  const double median = at(0.5);
  if (!(median > 0)) return {};
  constexpr double quartiles_of_sigma = 1.349;  // of a normal distribution
  return {.ns = median * 1e6,
          .relative_spread = (at(0.75) - at(0.25)) / quartiles_of_sigma / median};
}

std::string in_us(double ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g us", ns * 1e-3);
  return text.data();
}

std::string name_of(const record::FoundChange& found) {
  using Of = record::FoundChange::Of;
  if (found.of == Of::kIteration) return "the iteration";
  if (found.of == Of::kLayer) return "layer " + found.layer_name;
  const std::string& layer = found.layer_name;
  return found.event->event_name + (layer.empty() ? "" : " of " + layer);
}

// "fprop.fc1 of TopMLP became 3.1 % slower with iteration 81342: 10.2 us -> 10.52 us"
std::string sentence_of(const record::FoundChange& found) {
  const watch::Change& change = found.change;
  std::array<char, 64> by{};
  std::snprintf(by.data(), by.size(), " became %.3g %% %s with iteration ",
                std::abs(change.ratio - 1) * 100, change.ratio > 1 ? "slower" : "faster");
  return name_of(found) + by.data() + std::to_string(change.began_iteration) + ": " +
         in_us(change.before_ns) + " -> " + in_us(change.after_ns) +
         (found.reason.empty() ? "" : "; " + found.reason);
}

}  // namespace

bool Watching::is_wanted() const {
  return session_.config.watch_share > 0 && !session_.exits_when_done() &&
         session_.settings.mode == schedule::Mode::kFineGrained;
}

double Watching::seconds_now() const {
  return sys::monotonic_seconds() - session_.phases.began_s();
}

bool Watching::passes_over() noexcept {
  using launch::LaunchFilter;
  constexpr auto examined =
      LaunchFilter::kComparing | LaunchFilter::kSitesLost | LaunchFilter::kSearching;
  if (!is_on() || launch::filter.has(examined) || trigger::is_resumed()) return false;
  const std::int64_t next = session_.iteration() + 1;
  if (next >= next_work_.load(std::memory_order_acquire)) return false;
  session_.begin_iteration();
  session_.run.last_iteration.store(next - 1, std::memory_order_relaxed);
  session_.source.forget_hints();
  return true;
}

void Watching::begin() {
  if (session_.run.watch == nullptr) {
    std::size_t devices = 0;
    for (const timer::ContextTimer& timer : session_.contexts.timers())
      if (timer.is_alive()) ++devices;
    // Each of a pair's two records takes what a pair adds to the time between them.
    const double gpu_ns = 2 * session_.planning.pair_ms() * 1e6;
    budget_.set(session_.config.watch_share,
                gpu_ns / static_cast<double>(std::max<std::size_t>(devices, 1)));
    inbox_.reserve(timer::ContextTimer::kRing);
    host_bytes_before_ = session_.run.host_bytes.load();
    const std::lock_guard lock(session_.run.mutex);
    session_.run.watch = std::make_unique<record::WatchRecord>(
        record::WatchRecord{.budget = session_.config.watch_share,
                            .seed = session_.settings.seed,
                            .false_alarms_per_month = session_.config.false_alarms_per_month,
                            .started_s = seconds_now(),
                            .until_s = seconds_now()});
  }
  static_cast<void>(iteration_of(session_.phases.index()));
  ++generation_;
  planned_.clear();
  planned_until_ = session_.iteration();
  compare_every_ = kFewestToCompare;
  next_work_.store(next_comparison(session_.iteration()));
  has_begun_.store(true);
  is_on_.store(true, std::memory_order_release);
  session_.writer->nudge();  // a phase may be over within a second
}

void Watching::plan_new_phase() {
  if (!is_on()) return;
  {
    const std::lock_guard lock(session_.mutex);
    if (generation_ == choices_.generation) return;
  }
  choose_weights();
  plan_ahead();
}

void Watching::stop() noexcept {
  is_on_.store(false, std::memory_order_release);
  ++generation_;
  planned_.clear();
  if (auto* pair = std::exchange(iteration_pair_, nullptr)) pair->timer->abandon(*pair);
}

record::EventRecord& Watching::iteration_of(int phase) {
  while (std::cmp_less_equal(iterations_.size(), phase)) {
    record::EventRecord& event = iterations_.emplace_back();
    event.start_index = -1;
    event.phase = static_cast<int>(iterations_.size()) - 1;
  }
  return iterations_[static_cast<std::size_t>(phase)];
}

// Launches are compared where Phases::has_left() finds the position to be a multiple.
std::int64_t Watching::next_comparison(std::int64_t iteration) const noexcept {
  const std::int64_t position = session_.phases.position_of(iteration);
  return iteration + compare_every_ - position % compare_every_;
}

void Watching::end_iteration(bool was_void) noexcept {
  auto* pair = std::exchange(iteration_pair_, nullptr);
  if (pair == nullptr) return;
  const bool is_same_stream = iteration_stream_->is_alive &&
                              iteration_stream_->handle == iteration_handle_ &&
                              iteration_stream_->timer == pair->timer;
  if (was_void || !is_same_stream) return pair->timer->abandon(*pair);
  static_cast<void>(pair->timer->end(iteration_stream_->handle, *pair));
}

void Watching::begin_timing_iteration(std::int64_t iteration) noexcept {
  timer::ContextTimer* timer = session_.contexts.first_timer();
  const StreamInfo* stream = timer == nullptr ? nullptr : session_.contexts.busiest_stream(*timer);
  if (stream == nullptr) return;
  record::EventRecord& event = iterations_[static_cast<std::size_t>(session_.phases.index())];
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer->begin(stream->handle, event, iteration, pair);
  if (result != timer::ContextTimer::BeginResult::kOk) return session_.count_refusal(result);
  pair->is_watched = true;
  budget_.spend_pair();
  iteration_pair_ = pair;
  iteration_stream_ = stream;
  iteration_handle_ = stream->handle;
}

std::vector<std::size_t> Watching::start_iteration(std::int64_t iteration) {
  while (!planned_.empty() && planned_.front().iteration < iteration)
    planned_.pop_front();
  std::vector<std::size_t> targets;
  if (!planned_.empty() && planned_.front().iteration == iteration) {
    const bool is_affordable = !budget_.is_exhausted() && !is_paused();
    if (is_affordable && planned_.front().is_timed) begin_timing_iteration(iteration);
    if (is_affordable) targets = std::move(planned_.front().targets);
    if (is_affordable && planned_.front().in_graph) {
      const auto target = session_.graph_kernels.visit(*planned_.front().in_graph);
      if (target) targets.push_back(*target);
    }
    planned_.pop_front();
  }
  std::int64_t next = next_comparison(iteration);
  if (!planned_.empty()) next = std::min(next, planned_.front().iteration);
  if (!targets.empty() || iteration_pair_ != nullptr) next = iteration + 1;
  next_work_.store(next, std::memory_order_release);
  return targets;
}

void Watching::lose_context(const timer::ContextTimer& timer) noexcept {
  if (iteration_pair_ == nullptr || iteration_pair_->timer != &timer) return;
  timer::ContextTimer::Pair& pair = *std::exchange(iteration_pair_, nullptr);
  pair.timer->abandon(pair);
}

void Watching::note_comparison() noexcept {
  budget_.spend_beside(launches_ * kNsOfComparing);
}

bool Watching::waits_for_iteration() noexcept {
  const double patience = std::max(kPatienceSeconds, kPatienceIterations * iteration_s_);
  return seconds_now() - last_progress_s_ < patience;
}

void Watching::every_second() {
  if (!has_begun()) return;
  if (is_on()) read_pairs();
  update_record();
  measure_pace();
  forgive();
  if (!is_on()) return;
  choose_weights();
  plan_ahead();
}

void Watching::read_pairs() {
  std::vector<timer::ContextTimer*> timers;
  {
    const std::lock_guard lock(session_.mutex);
    if (session_.state() == RunState::kDone) return;
    for (timer::ContextTimer& timer : session_.contexts.timers())
      timers.push_back(&timer);
  }
  read_.reserve(timer::ContextTimer::kRing * timers.size());
  for (timer::ContextTimer* timer : timers)
    timer->poll(nullptr, read_);
  take(read_);
  read_.clear();
}

void Watching::update_record() {
  if (!has_begun()) return;
  const std::lock_guard taking(taking_);
  timer::WatchedSamples samples;
  {
    const std::lock_guard lock(session_.mutex);
    samples = inbox_;
    inbox_.clear();
  }
  take(samples);
  const std::lock_guard lock(session_.run.mutex);
  record::WatchRecord& record = *session_.run.watch;
  record.until_s = std::max(record.until_s, seconds_now());
  record.pairs = budget_.pairs();
  record.pair_cost_us = record.pairs > 0 ? budget_.pair_ns() * 1e-3 : 0;
  const double seconds = record.until_s - record.started_s;
  if (seconds > 0) record.cost_share = static_cast<double>(budget_.spent_ns()) * 1e-9 / seconds;
  session_.run.host_bytes.store(host_bytes_before_ + bytes_);
}

double Watching::bias_ns_of(int device_id) {
  const std::lock_guard lock(session_.run.mutex);
  return record::pair_bias_us(session_.run, device_id) * 1e3;
}

// A sample says by how much its layer is slower than it was: samples of all its events are pooled.
void Watching::add_to_layer(const record::EventRecord& event, double now, std::int64_t iteration,
                            double time_ns, std::vector<record::FoundChange>& found) {
  const auto reference = references_.find(&event);
  if (reference == references_.end() || reference->second.layer == kNoLayer) return;
  Layer& layer = layers_[reference->second.layer];
  if (!layer.detector) layer.detector.emplace(session_.config.false_alarms_per_month, series_);
  const auto change =
      layer.detector->add(now, iteration, time_ns / reference->second.ns * layer.ns);
  if (!change) return;
  found.push_back({.of = record::FoundChange::Of::kLayer,
                   .layer_name = layer.name,
                   .device_id = layer.device_id,
                   .change = *change});
}

void Watching::take(timer::WatchedSamples& samples) {
  std::ranges::stable_sort(samples, {}, &timer::WatchedSample::iteration);
  std::vector<record::FoundChange> found;
  const double now = seconds_now();
  for (const timer::WatchedSample& sample : samples) {
    const double ns = static_cast<double>(sample.measured_ms) * 1e6;
    record::EventRecord& event = *sample.event;
    const bool is_iteration = stands_for_iteration(event);
    double bias_ns = 0;
    {
      const std::lock_guard lock(session_.run.mutex);
      if (is_iteration) {
        session_.run.watch->iteration.add(now, sample.iteration, ns);
      } else {
        if (event.history == nullptr) {
          if (histories_ == kMostHistories) continue;
          ++histories_;
          event.history = std::make_unique<watch::History>();
        }
        const std::size_t bytes = event.history->bytes();
        event.history->add(now, sample.iteration, ns);
        bytes_ += event.history->bytes() - bytes;
      }
    }
    if (!is_iteration) bias_ns = bias_ns_of(event.device_id);
    const double time_ns = std::max(ns - bias_ns, 1.0);
    add_to_layer(event, now, sample.iteration, time_ns, found);
    const auto [detector, is_new] = detectors_.try_emplace(
        &event, session_.config.false_alarms_per_month, std::max<std::size_t>(series_, 1));
    if (is_new) bytes_ += kBytesOfDetector;
    const auto change = detector->second.add(now, sample.iteration, time_ns);
    if (!change) continue;
    using Of = record::FoundChange::Of;
    found.push_back({.of = is_iteration ? Of::kIteration : Of::kEvent,
                     .event = is_iteration ? nullptr : &event,
                     .layer_name = event.layer_name,
                     .device_id = event.device_id,
                     .change = *change});
  }
  if (!found.empty()) report(std::move(found));
}

// True if something began to change in the same direction at the same time, and was reported: the
// events that a throttled GPU slows down are found one after the other.
bool Watching::is_reported(const watch::ChangeGroup& group) {
  const bool is_slower = group.ratio > 1;
  const bool is_known = std::ranges::any_of(reported_, [&](const Reported& each) {
    return each.is_slower == is_slower &&
           std::abs(each.began_s - group.began_s) < kSecondsOfOneChange;
  });
  if (is_known) return true;
  if (reported_.size() == kMostReported) reported_.erase(reported_.begin());
  reported_.push_back({.began_s = group.began_s, .is_slower = is_slower});
  return false;
}

// One line for all that began at the same time: a throttled GPU slows everything down.
void Watching::report(std::vector<record::FoundChange> found) {
  std::vector<watch::Change> changes;
  for (record::FoundChange& each : found) {
    each.reason = session_.machine.reason_of(each, seconds_now());
    changes.push_back(each.change);
  }
  for (const watch::ChangeGroup& group : watch::group_changes(changes)) {
    if (is_reported(group)) continue;
    const auto largest = *std::ranges::max_element(group.changes, {}, [&](std::size_t i) {
      return (found[i].of == record::FoundChange::Of::kIteration ? 1e9 : 1) * changes[i].after_ns;
    });
    std::string text = sentence_of(found[largest]);
    if (group.changes.size() > 1)
      text.append(" (").append(watch::describe(group, detectors_.size())).append(")");
    session_.warn(text);
    tell_command(found[largest], std::move(text));
  }
  const std::lock_guard lock(session_.run.mutex);
  auto& kept = session_.run.watch->changes;
  for (record::FoundChange& each : found) {
    ++session_.run.watch->changes_found;
    if (kept.size() < record::WatchRecord::kMostChanges) kept.push_back(std::move(each));
  }
}

// At the end of the process a thread of the application's takes the last samples, and starts
// nothing.
void Watching::tell_command(const record::FoundChange& found, std::string text) {
  if (!session_.change_command || !sys::this_thread.is_quiet) return;
  const std::string error = session_.change_command->tell(
      {.change = found,
       .name = name_of(found),
       .text = std::move(text),
       .rank = session_.run.rank ? std::to_string(*session_.run.rank) : "",
       .file = session_.writer->path()},
      sys::monotonic_seconds());
  if (!error.empty()) session_.warn_once("INLINE_PROF_ON_CHANGE: " + error);
}

void Watching::measure_pace() {
  const double now = seconds_now();
  const std::int64_t iteration = session_.iteration();
  const std::int64_t passed = iteration - last_iteration_;
  if (last_look_s_ > 0) budget_.save(now - last_look_s_);
  if (last_look_s_ > 0 && passed > 0) {
    double pace = (now - last_progress_s_) / static_cast<double>(passed);
    if (iteration_s_ > 0) pace = std::min(pace, kMostOfUsual * iteration_s_);
    constexpr double newest = 0.3;
    iteration_s_ += (iteration_s_ > 0 ? newest : 1) * (pace - iteration_s_);
    budget_.spend_beside(passed * kNsOfPassing);
    iterations_watched_ += passed;
  }
  if (last_look_s_ == 0 || passed > 0) last_progress_s_ = now;
  last_look_s_ = now;
  last_iteration_ = iteration;
}

// Limits that keep a run of minutes from searching without end are too tight for weeks.
void Watching::forgive() {
  const double now = seconds_now();
  if (now - forgiven_s_ < kSecondsToForgive) return;
  forgiven_s_ = now;
  session_.phases.forgive_renewal();
  const std::lock_guard lock(session_.mutex);
  if (lost_s_ == 0 || now - lost_s_ < kSecondsToForgive) return;
  lost_s_ = 0;
  if (session_.state() == RunState::kMeasuring && !is_on())
    session_.source.search_again("iterations came no more");
}

void Watching::choose_weights() {
  struct Member {
    const record::EventRecord* event;
    std::size_t records;
  };
  std::vector<Member> members;
  std::vector<const record::EventRecord*> events;  // of all members
  std::size_t plain = 0;
  events.reserve(session_.run.events.size());
  Choices choices;
  {
    const std::lock_guard lock(session_.mutex);
    if (generation_ == choices_.generation || !is_on()) return;
    choices.generation = generation_;
    const Course& course = session_.phases.course();
    members.reserve(course.targets.size());
    for (const Target& target : course.targets) {
      members.push_back({.event = target.events.front(), .records = target.events.size()});
      events.insert(events.end(), target.events.begin(), target.events.end());
    }
    plain = course.plain_targets;
    const std::lock_guard run_lock(session_.run.mutex);
    // Beyond the phases that have a list only the iteration is watched.
    const auto& phases = session_.run.phases;
    const auto index = static_cast<std::size_t>(session_.phases.index());
    launches_.store(
        index < phases.size() ? phases[index].kernel_launches + phases[index].graph_launches : 0);
  }
  // Events without samples are as long as others of their class.
  std::map<std::string_view, std::vector<float>> classes;
  std::vector<Typical> typical;
  std::size_t records = 0;
  double sum_ns = 0;
  double in_graphs = 0;
  for (const Member& member : members) {
    std::vector<float> times_ms;
    for (const record::Sample& sample : member.event->samples())
      times_ms.push_back(sample.measured_ms);
    auto& of_class = classes[member.event->class_name];
    of_class.insert(of_class.end(), times_ms.begin(), times_ms.end());
    typical.push_back(typical_of(times_ms));
    records += member.records;
  }
  choices.weights.push_back(0);  // the iteration's, see below
  auto next = events.begin();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string& class_name = members[i].event->class_name;
    if (typical[i].ns == 0 && !class_name.empty()) typical[i] = typical_of(classes[class_name]);
    const auto [ns, relative_spread] = typical[i];
    sum_ns += ns;
    const double weight = watch::weight(ns, relative_spread);
    if (i < plain) {
      choices.weights.push_back(weight);
    } else if (weight > 0) {  // else it cannot be measured
      choices.graph_targets.push_back(i);
      choices.graph_weights.push_back(weight);
      in_graphs += weight;
    }
    for (std::size_t k = 0; k < members[i].records && ns > 0; ++k) {
      const record::EventRecord* event = *(next + static_cast<std::ptrdiff_t>(k));
      references_.try_emplace(event, std::max(ns - bias_ns_of(event->device_id), 1.0));
    }
    next += static_cast<std::ptrdiff_t>(members[i].records);
  }
  find_layers(std::move(events));
  choices.weights.front() =
      watch::weight(kWeightOfIteration * std::max(iteration_s_ * 1e9, sum_ns), 0.05);
  if (in_graphs > 0) {
    choices.graph_part =
        in_graphs / std::accumulate(choices.weights.begin(), choices.weights.end(), in_graphs);
  }
  if (!members.empty())
    choices.records_per_target = static_cast<double>(records) / static_cast<double>(members.size());
  drop_lightest(choices, kMostHistories);
  if (records > kMostHistories && !has_said_who_is_left_out_) {
    has_said_who_is_left_out_ = true;
    session_.warn("of " + std::to_string(records) +
                  " events those with the most time are watched, " +
                  std::to_string(kMostHistories));
  }
  series_ = std::min(records, kMostHistories) + layers_.size() + 1;
  choices_ = std::move(choices);
}

// A layer's time is that of its events which no other one of it encloses.  A single event needs no
// layer.
void Watching::find_layers(std::vector<const record::EventRecord*> events) {
  std::ranges::sort(events, {}, [](const record::EventRecord* event) {
    return std::tuple(event->device_id, event->stream_index, event->start_index, -event->end_index);
  });
  std::map<std::tuple<int, int, std::string_view>, std::int64_t> ends;  // by stream
  std::map<std::pair<int, std::string_view>, std::vector<Reference*>> layers;
  for (const record::EventRecord* event : events) {
    const auto reference = references_.find(event);
    if (event->layer_name.empty() || reference == references_.end()) continue;
    const auto [end, is_first] = ends.try_emplace(
        {event->device_id, event->stream_index, event->layer_name}, event->end_index);
    if (!is_first && event->end_index <= end->second) continue;
    end->second = event->end_index;
    layers[{event->device_id, event->layer_name}].push_back(&reference->second);
  }
  for (const auto& [key, references] : layers) {
    const bool is_known = references.front()->layer != kNoLayer;  // its phase has come back
    if (is_known || references.size() < 2 || layers_.size() == kMostLayers) continue;
    Layer& layer =
        layers_.emplace_back(Layer{.name = std::string(key.second), .device_id = key.first});
    for (Reference* reference : references) {
      layer.ns += reference->ns;
      reference->layer = layers_.size() - 1;
    }
  }
}

void Watching::drop_lightest(Choices& choices, std::size_t most_records) {
  const auto most = static_cast<std::size_t>(static_cast<double>(most_records) /
                                             std::max(choices.records_per_target, 1.0));
  std::vector<std::size_t> heaviest_first(choices.weights.size() - 1);
  std::iota(heaviest_first.begin(), heaviest_first.end(), 1);
  std::ranges::stable_sort(heaviest_first, std::greater{},
                           [&](std::size_t i) { return choices.weights[i]; });
  for (std::size_t i = most; i < heaviest_first.size(); ++i)
    choices.weights[heaviest_first[i]] = 0;
}

double Watching::pairs_per_iteration() const {
  const double beside_ns = iterations_watched_ == 0
                               ? 0
                               : static_cast<double>(budget_.spent_beside_ns()) /
                                     static_cast<double>(iterations_watched_);
  const double may_cost_ns = budget_.share() * iteration_s_ * 1e9 - beside_ns;
  const double pairs =
      kPartForPairs * may_cost_ns / (budget_.pair_ns() * choices_.records_per_target);
  const double most = std::min(static_cast<double>(kMostPairsOfAnIteration),
                               kMostPairsASecond * iteration_s_ / choices_.records_per_target);
  return std::clamp(pairs, 0.0, most);
}

std::optional<std::size_t> Watching::choose_in_graph(std::int64_t iteration, double pairs) const {
  if (choices_.graph_targets.empty() || iteration % kStretchOfGraphs >= kVisitOfGraph)
    return std::nullopt;
  const double visits = std::min(1.0, pairs * kStretchOfGraphs / kPairsOfVisit);
  const auto chosen =
      watch::choose(iteration / kStretchOfGraphs, session_.settings.seed ^ kSeedOfGraphs,
                    choices_.graph_weights, visits);
  if (chosen.empty()) return std::nullopt;
  return choices_.graph_targets[chosen.front()];
}

std::vector<Watching::Planned> Watching::choose(std::int64_t first, std::int64_t last,
                                                std::size_t most, std::int64_t& until) const {
  std::vector<Planned> chosen;
  const double pairs = pairs_per_iteration();
  for (until = first - 1; until < last && chosen.size() < most;) {
    ++until;
    Planned planned{.iteration = until};
    for (const std::size_t choice : watch::choose(until, session_.settings.seed, choices_.weights,
                                                  pairs * (1 - choices_.graph_part))) {
      if (choice == 0) planned.is_timed = true;
      if (choice > 0 && choices_.weights[choice] > 0) planned.targets.push_back(choice - 1);
    }
    planned.in_graph = choose_in_graph(until, pairs * choices_.graph_part);
    if (planned.is_timed || planned.in_graph || !planned.targets.empty())
      chosen.push_back(std::move(planned));
  }
  return chosen;
}

void Watching::plan_ahead() {
  if (!(iteration_s_ > 0)) return;
  std::int64_t first = 0;
  std::int64_t now = 0;
  std::size_t most = 0;
  {
    const std::lock_guard lock(session_.mutex);
    if (generation_ != choices_.generation) return;
    now = session_.iteration();
    first = std::max(planned_until_ + 1, now + 2);
    most = kMostPlanned - std::min(kMostPlanned, planned_.size());
    const double affordable = kPartForComparing * budget_.share() * iteration_s_ * 1e9;
    const auto every = static_cast<double>(launches_.load() * kNsOfComparing) / affordable;
    const bool are_several = session_.phases.planned_count() > 1;
    compare_every_ =
        std::clamp(static_cast<std::int64_t>(std::min(every, 1e9)) + 1,
                   are_several ? kFewestToCompareOfSeveral : kFewestToCompare, kMostToCompare);
  }
  const auto ahead = static_cast<std::int64_t>(std::min(kAheadSeconds / iteration_s_, 1e9));
  std::int64_t until = 0;
  auto chosen = choose(first, now + std::clamp(ahead, kFewestAhead, kMostAhead), most, until);
  const std::lock_guard lock(session_.mutex);
  if (generation_ != choices_.generation) return;
  planned_until_ = std::max(planned_until_, until);
  std::ranges::move(chosen, std::back_inserter(planned_));
  const std::int64_t next = planned_.empty() ? kNoWork : planned_.front().iteration;
  if (next < next_work_.load()) next_work_.store(next, std::memory_order_release);
}

}  // namespace inline_prof::session
