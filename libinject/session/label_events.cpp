#include "session/label_events.hpp"

#include "graphs/capture_notes.hpp"
#include "launch/launch_filter.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/thread_memory.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace inline_prof::session {
namespace {

constexpr std::size_t kDeepestLabel = 32;  // deeper ones are measured, but have no kernel names
constexpr std::size_t kMostPending = 64;   // operations that were described but not started yet

using PendingOps = std::vector<std::pair<const labels::Label*, record::Op>>;

struct ThreadNotes {
  std::array<LabelEvents::Open, kDeepestLabel> open{};
  std::size_t open_count = 0;
  std::unique_ptr<PendingOps> pending;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local sys::PerThread<ThreadNotes> thread_notes;

CUstream stream_of_label(void* stream) noexcept {
  return stream == nullptr ? CU_STREAM_LEGACY : static_cast<CUstream>(stream);
}

// The state was read before the lock was taken: the plan may have been made meanwhile.
bool is_discovering(RunState state) {
  return state == RunState::kDiscovering || state == RunState::kUnitTests;
}

std::unique_ptr<record::Op> take_pending_op(const labels::Label& label) {
  ThreadNotes* const notes = thread_notes.get();
  if (notes == nullptr || notes->pending == nullptr) return nullptr;
  PendingOps& ops = *notes->pending;
  const auto mine =
      std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return op.first == &label; });
  if (mine == ops.end()) return nullptr;
  auto op = std::make_unique<record::Op>(std::move(mine->second));
  ops.erase(mine);
  return op;
}

bool is_open(const LabelEvents::Open& label, int discovery) noexcept {
  return label.discovery == discovery && label.site->open_occurrence == label.occurrence;
}

// Labels that another thread has stopped make room.
void note_open(const LabelEvents::Open& label) noexcept {
  ThreadNotes* const notes = thread_notes.make();
  if (notes == nullptr) return;
  const auto begin = notes->open.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(notes->open_count);
  const auto kept = std::remove_if(
      begin, end, [&](const LabelEvents::Open& each) { return !is_open(each, label.discovery); });
  notes->open_count = static_cast<std::size_t>(kept - begin);
  if (notes->open_count < kDeepestLabel) notes->open[notes->open_count++] = label;
}

// Before the first iteration labels are only needed for captures.
void note_captured_label(const labels::LabelEnd& end) {
  namespace notes = graphs::capture_notes;
  if (!end.is_start) return notes::close_label(end.label->name.c_str());
  notes::open_label(end.label->name.c_str(), take_pending_op(*end.label));
}

// A run may request data in every iteration; beyond this the file would be unusable.
constexpr std::size_t kMostPerThread = 1'000'000;

}  // namespace

const LabelEvents::Open* LabelEvents::innermost(const void* stream) const noexcept {
  const ThreadNotes* const notes = thread_notes.get();
  if (notes == nullptr) return nullptr;
  for (std::size_t i = notes->open_count; i > 0; --i) {
    const Open& label = notes->open[i - 1];
    if (label.stream == stream && is_open(label, session_.discovery.number())) return &label;
  }
  return nullptr;
}

void LabelEvents::note_launch(LaunchSite& site, std::uint32_t occurrence, const void* stream) {
  const ThreadNotes* const notes = thread_notes.get();
  if (notes == nullptr) return;
  for (std::size_t i = 0; i < notes->open_count; ++i) {
    const Open& label = notes->open[i];
    if (!label.notes_launches || label.stream != stream) continue;
    if (is_open(label, session_.discovery.number()))
      session_.sites.add_to_label(label.event, site, occurrence);
  }
}

void LabelEvents::note_what_is_needed() {
  bool needed = session_.settings.mode != schedule::Mode::kFineGrained;
  for (const Target& target : session_.phases.course().targets) {
    for (const record::EventRecord* event : target.events) {
      const LaunchSite* site = session_.sites.of_event(event);
      const bool is_label = site != nullptr && site->label != nullptr;
      needed = needed || (is_label && session_.sites.range_of(event) == nullptr);
    }
  }
  are_calls_needed_.store(needed, std::memory_order_relaxed);
}

void LabelEvents::say_unmatched() {
  if (unmatched_ <= 1) return;
  session_.warn(std::to_string(unmatched_) + " labels were stopped without having been started");
}

void LabelEvents::capture_begins() noexcept {
  if (session_.state() != RunState::kMeasuring || !session_.phases.may_find_another()) return;
  capture_opened_gates_.store(true, std::memory_order_relaxed);
  labels::open_all_gates(true);
}

void LabelEvents::capture_ends() noexcept {
  if (!capture_opened_gates_.exchange(false, std::memory_order_relaxed)) return;
  // In a warm-up that has begun meanwhile they stay open.
  if (session_.state() < RunState::kMeasuring) return;
  labels::open_all_gates(false);
  session_.arming.open_gates();
}

void LabelEvents::start_in_warmup(labels::Label& label, CUstream stream, bool is_captured,
                                  bool notes_launches) {
  auto op = take_pending_op(label);
  if (is_captured) {
    graphs::capture_notes::open_label(label.name.c_str(),
                                      op ? std::make_unique<record::Op>(*op) : nullptr);
  }
  const std::lock_guard lock(session_.mutex);
  if (!is_discovering(session_.state())) return;
  LaunchSite* site = session_.sites.of_label(label, stream);
  if (site == nullptr) return;
  const std::uint32_t occurrence = site->slot->count.fetch_add(1, std::memory_order_relaxed);
  const bool is_new = occurrence >= site->events.size() || site->events[occurrence] == nullptr;
  if (is_new) {
    record::EventRecord* event = session_.discovery.add_event(*site, occurrence, {});
    if (event == nullptr) return;
    event->start_index = session_.discovery.next_index();
    event->end_index = -1;
    event->op = std::move(op);
    if (is_captured) event->add_flag(record::Flag::kRecaptured);
  }
  site->open_occurrence = static_cast<int>(occurrence);
  note_open({.stream = stream,
             .event = site->events[occurrence],
             .site = site,
             .occurrence = site->open_occurrence,
             .discovery = session_.discovery.number(),
             .notes_launches = notes_launches && is_new && !is_captured &&
                               session_.discovery.is_first_iteration()});
}

void LabelEvents::stop_in_warmup(labels::Label& label, CUstream stream) {
  const std::lock_guard lock(session_.mutex);
  if (!is_discovering(session_.state())) return;
  LaunchSite* site = session_.sites.find(&label, stream);
  if (site == nullptr || site->open_occurrence < 0) {
    // The first one is said; their number follows at the end.
    if (!label.was_unmatched && unmatched_++ == 0)
      session_.warn(label.name +
                    ".stop was met without a .start before it in the warm-up: a label "
                    "that is open where an iteration begins is not measured there");
    label.was_unmatched = true;
    return;
  }
  record::EventRecord* event = site->events[static_cast<std::size_t>(site->open_occurrence)];
  if (event->end_index < 0) event->end_index = session_.discovery.next_index();
  site->open_occurrence = -1;
}

void LabelEvents::record_armed(const labels::LabelEnd& end, CUstream stream,
                               const char* extra_info) {
  ArmedEvent* armed = session_.arming.find(end.label, stream);
  if (armed == nullptr) return;
  if (end.is_start) {
    WantedOccurrence* wanted = session_.arming.count_occurrence(*armed);
    if (wanted == nullptr) return;
    // Launches of other threads are allowed between the events: a backward pass runs on its own
    // thread.
    auto* pair = session_.arming.begin_pair(*armed, *wanted, OtherThreads::kAreWelcome);
    if (pair == nullptr) return;
    if (extra_info != nullptr) extra_of(*pair).start = extra_info;
    armed->pair.store(pair, std::memory_order_release);
    return;
  }
  auto* pair = armed->pair.exchange(nullptr, std::memory_order_acq_rel);
  if (pair == nullptr) return;
  if (extra_info != nullptr) extra_of(*pair).stop = extra_info;
  session_.arming.end_pair(stream, *pair, true);
}

void LabelEvents::record_in_unit_test(const labels::LabelEnd& end, CUstream stream,
                                      const char* extra_info) {
  if (session_.unit_tests.running() == nullptr) return;
  if (launch::filter.has_acquired(launch::LaunchFilter::kMeasuringAll))
    return session_.one_shot.record_label(end, stream, extra_info);
  if (end.is_start) return start_in_warmup(*end.label, stream, false, false);
  stop_in_warmup(*end.label, stream);
}

void LabelEvents::record(inline_prof_site* site, const char* text, void* stream,
                         const char* extra_info) {
  if (text == nullptr || trigger::is_paused()) return;
  const RunState state = session_.state();
  if (state == RunState::kDone) return labels::shut(site);
  const labels::LabelEnd* end = labels::end_at(site, text);
  if (end == nullptr) return;
  using launch::LaunchFilter;
  CUstream on = stream_of_label(stream);
  const bool is_captured = launch::filter.has(LaunchFilter::kCapturing) && timer::is_capturing(on);
  if (is_captured && state != RunState::kOverheadMeasurement &&
      (state != RunState::kDiscovering || !end->is_start))
    note_captured_label(*end);
  if (state == RunState::kMeasuring || state == RunState::kOverheadMeasurement) {
    if (launch::filter.has(LaunchFilter::kSitesLost))
      session_.rebinding.note_launch({.label = end->label}, on);
    if (launch::filter.has_acquired(LaunchFilter::kMeasuringAll))
      return session_.one_shot.record_label(*end, on, extra_info);
    record_armed(*end, on, extra_info);
  } else if (state == RunState::kUnitTests) {
    record_in_unit_test(*end, on, extra_info);
  } else if (state == RunState::kDiscovering) {
    // Labels of the macros stay: while their gates are shut their call sites cost a load, and they
    // may lie around launches of other threads.
    const bool is_from_hook = site == nullptr && extra_info == nullptr;
    if (end->is_start) return start_in_warmup(*end->label, on, is_captured, is_from_hook);
    stop_in_warmup(*end->label, on);
  }
}

void LabelEvents::describe(const char* text, const char* kind,
                           const inline_prof_attribute* attributes, int attribute_count) {
  if (text == nullptr || kind == nullptr) return;
  if (session_.state() != RunState::kDiscovering &&
      !launch::filter.has(launch::LaunchFilter::kCapturing))
    return;
  record::Op op = OperatorLearning::op_of({.kernel = nullptr,
                                           .kind = kind,
                                           .attributes = attributes,
                                           .attribute_count = attribute_count,
                                           .is_each = 1},
                                          "PROFILE_OP", 0, 1);
  const labels::Label* label = labels::label_named(text);
  if (label == nullptr) return;
  ThreadNotes* const notes = thread_notes.make();
  if (notes == nullptr) return;
  if (notes->pending == nullptr) notes->pending = std::make_unique<PendingOps>();
  PendingOps& ops = *notes->pending;
  std::erase_if(ops, [&](const auto& pending) { return pending.first == label; });
  if (ops.size() < kMostPending) ops.emplace_back(label, std::move(op));
}

int record_data(Session& session, const char* label, void* stream, const char* data,
                int device_id) {
  if (label == nullptr) return 0;
  // The work of an iteration, as inline_prof.samples, is a fact of the run: its last value is kept.
  const bool is_fact = std::string_view(label).starts_with("inline_prof.");
  const std::int64_t after_warmup = session.iteration() - session.settings.warmup;
  if (!is_fact && (after_warmup < 1 || after_warmup > session.config.data_iterations)) return 0;
  if (data == nullptr) return 1;

  const std::lock_guard lock(session.run.mutex);
  auto& all = session.run.runtime_data;
  auto mine = std::find_if(all.begin(), all.end(), [&](const record::RuntimeData& known) {
    return known.name == label && known.stream == stream && known.device_id == device_id;
  });
  if (mine == all.end()) {
    mine = all.insert(all.end(),
                      {.name = label, .device_id = device_id, .stream = stream, .data = {}});
  }
  if (is_fact) mine->data.clear();
  if (mine->data.size() < kMostPerThread) mine->data.emplace_back(data);
  return 1;
}

}  // namespace inline_prof::session
