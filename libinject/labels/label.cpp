// PROFILE_RECORD and PROFILE_OP.
#include "labels/label.hpp"

#include "graphs/capture_notes.hpp"
#include "labels/label_calls.hpp"
#include "session/armed_event.hpp"
#include "session/discovery.hpp"
#include "session/planning.hpp"
#include "session/rebinding.hpp"
#include "session/state.hpp"
#include "session/trigger.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "sys/thread_memory.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>

namespace inline_prof::hook {

namespace {

// --- this thread's own

constexpr std::size_t kDeepestLabel = 32;     // deeper ones are measured, but have no kernel names
constexpr std::size_t kMostKernelNames = 64;  // further names are left out
constexpr std::size_t kMostPending = 64;      // operations that were described but not started yet

struct PendingOps {
  std::vector<std::pair<const Label*, record::Op>> ops;
};

struct ThreadNotes {
  std::array<OpenLabel, kDeepestLabel> open{};
  std::size_t open_count = 0;
  std::unique_ptr<PendingOps> pending;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local sys::PerThread<ThreadNotes> thread_notes;

// --- all labels

struct LabelBook {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Label>> labels;
  std::unordered_map<std::string, std::unique_ptr<LabelEnd>> ends;
  bool gates_open = true;
  bool complained_of_ending = false;
};

// Never destroyed: call sites may be reached during exit.
LabelBook& label_book() {
  static auto* const labels = new LabelBook;
  return *labels;
}

// Beyond this the names probably contain numbers, and are no labels.
constexpr std::size_t kMostLabels = 16'384;

// Null if there is no room.
Label* label_named(LabelBook& labels, const std::string& name) {
  if (labels.labels.size() >= kMostLabels && !labels.labels.contains(name)) {
    if (State* run = state()) run->table_full.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  auto& label = labels.labels[name];
  if (!label) {
    label = std::make_unique<Label>();
    label->name = name;
    label->open_gate(labels.gates_open);
  }
  return label.get();
}

constexpr std::string_view kStart = ".start";
constexpr std::string_view kStop = ".stop";

// Null for a text that ends in neither ".start" nor ".stop".
const LabelEnd* end_named(const char* text) {
  LabelBook& labels = label_book();
  const std::lock_guard lock(labels.mutex);
  const std::string whole(text);
  if (const auto known = labels.ends.find(whole); known != labels.ends.end()) {
    return known->second.get();
  }
  const bool is_start = whole.ends_with(kStart);
  if ((!is_start && !whole.ends_with(kStop)) ||
      whole.size() == (is_start ? kStart.size() : kStop.size())) {
    if (!labels.complained_of_ending) {
      sys::say(sys::LogLevel::kWarning,
               "PROFILE_RECORD(\"%s\"): expected a name that ends in .start or .stop", text);
    }
    labels.complained_of_ending = true;
    return nullptr;
  }
  auto end = std::make_unique<LabelEnd>();
  end->is_start = is_start;
  end->label = label_named(
      labels, whole.substr(0, whole.size() - (is_start ? kStart.size() : kStop.size())));
  if (end->label == nullptr) return nullptr;
  return (labels.ends[whole] = std::move(end)).get();
}

// The gate of call sites that are not needed any more.
constinit std::uint32_t shut_for_ever = 0;

void shut(inline_prof_site* site) noexcept {
  if (site != nullptr) __atomic_store_n(&site->gate, &shut_for_ever, __ATOMIC_RELEASE);
}

CUstream stream_of_label(void* stream) noexcept {
  return stream == nullptr ? CU_STREAM_LEGACY : static_cast<CUstream>(stream);
}

// --- warm-up

std::unique_ptr<record::Op> take_pending_op(const Label& label) {
  ThreadNotes* const notes = thread_notes.get();
  if (notes == nullptr || notes->pending == nullptr) return nullptr;
  auto& ops = notes->pending->ops;
  const auto mine =
      std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return op.first == &label; });
  if (mine == ops.end()) return nullptr;
  auto op = std::make_unique<record::Op>(std::move(mine->second));
  ops.erase(mine);
  return op;
}

bool is_open(const OpenLabel& label, int discovery) noexcept {
  return label.discovery == discovery && label.site->open_occurrence == label.occurrence;
}

// Those that another thread has stopped make room.
void note_open(const OpenLabel& label) noexcept {
  ThreadNotes* const notes = thread_notes.make();
  if (notes == nullptr) return;
  const auto begin = notes->open.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(notes->open_count);
  const auto kept = std::remove_if(
      begin, end, [&](const OpenLabel& each) { return !is_open(each, label.discovery); });
  notes->open_count = static_cast<std::size_t>(kept - begin);
  if (notes->open_count < kDeepestLabel) notes->open[notes->open_count++] = label;
}

// The phase was read before the lock was taken: the plan may have been made meanwhile.
bool is_over(const State& state) {
  const Phase phase = state.phase.load(std::memory_order_relaxed);
  return phase != Phase::kDiscovering && phase != Phase::kUnitTests;
}

void start_in_warmup(State& state, Label& label, CUstream stream, bool is_captured) {
  auto op = take_pending_op(label);
  if (is_captured) {
    capture_notes::open_label(label.name.c_str(), op ? std::make_unique<record::Op>(*op) : nullptr);
  }
  const std::lock_guard lock(state.mutex);
  if (is_over(state)) return;
  LaunchSite* site = label_site(state, label, stream);
  if (site == nullptr) return;
  const std::uint32_t occurrence = site->slot->count.fetch_add(1, std::memory_order_relaxed);
  if (occurrence >= site->events.size() || site->events[occurrence] == nullptr) {
    record::EventRecord* event = add_event(state, *site, occurrence, {});
    if (event == nullptr) return;
    event->start_index = state.next_index++;
    event->end_index = -1;
    event->op = std::move(op);
    if (is_captured) event->add_flag(record::Flag::kRecaptured);
  }
  site->open_occurrence = static_cast<int>(occurrence);
  note_open({.stream = stream,
             .event = site->events[occurrence],
             .site = site,
             .occurrence = site->open_occurrence,
             .discovery = state.discovery});
}

void stop_in_warmup(State& state, Label& label, CUstream stream) {
  const std::lock_guard lock(state.mutex);
  if (is_over(state)) return;
  timer::LaunchSlot* slot = launch_table.find(&label, table_key(state, stream));
  LaunchSite* site =
      slot == nullptr ? nullptr : state.site_by_slot[launch_table.index_of(*slot)].get();
  if (site == nullptr || site->open_occurrence < 0) {
    // The first one is said, with how many there were at the end.
    if (!label.was_unmatched && state.unmatched_labels++ == 0)
      warn(state, label.name +
                      ".stop was met without a .start before it in the warm-up: a label "
                      "that is open where an iteration begins is not measured there");
    label.was_unmatched = true;
    return;
  }
  record::EventRecord* event = site->events[static_cast<std::size_t>(site->open_occurrence)];
  if (event->end_index < 0) event->end_index = state.next_index++;
  site->open_occurrence = -1;
}

// --- measuring

void record_armed(State& state, const LabelEnd& end, CUstream stream, const char* extra_info) {
  ArmedEvent* armed = armed_for(end.label, stream);
  if (armed == nullptr) return;
  if (end.is_start) {
    WantedOccurrence* wanted = count_occurrence(*armed);
    if (wanted == nullptr) return;
    // Launches of other threads are allowed between the events: a backward pass runs on its own
    // thread.
    auto* pair = begin_pair(state, *armed, *wanted, OtherThreads::kAreWelcome);
    if (pair == nullptr) return;
    if (extra_info != nullptr) extra_of(*pair).start = extra_info;
    armed->pair.store(pair, std::memory_order_release);
    return;
  }
  auto* pair = armed->pair.exchange(nullptr, std::memory_order_acq_rel);
  if (pair == nullptr) return;
  if (extra_info != nullptr) extra_of(*pair).stop = extra_info;
  end_pair(state, *armed, stream, *pair, true);
}

void record_in_unit_test(State& state, const LabelEnd& end, CUstream stream,
                         const char* extra_info) {
  {
    const std::lock_guard lock(state.mutex);
    if (state.running_test == nullptr) return;
  }
  if (measures_everything.load(std::memory_order_acquire)) {
    return record_one_shot_label(state, end, stream, extra_info);
  }
  if (end.is_start) return start_in_warmup(state, *end.label, stream, false);
  stop_in_warmup(state, *end.label, stream);
}

// Before the first iteration labels are only needed for captures.
void note_captured_label(const LabelEnd& end) {
  if (!end.is_start) return capture_notes::close_label(end.label->name.c_str());
  capture_notes::open_label(end.label->name.c_str(), take_pending_op(*end.label));
}

}  // namespace

void open_all_gates(bool open) {
  LabelBook& labels = label_book();
  const std::lock_guard lock(labels.mutex);
  labels.gates_open = open;
  for (const auto& [name, label] : labels.labels)
    label->open_gate(open);
}

std::string met_label_names() {
  LabelBook& labels = label_book();
  const std::lock_guard lock(labels.mutex);
  std::string text;
  sys::on_large_stack([&] {  // a tree is cleared level by level
    std::set<std::string_view> names;
    for (const auto& [name, label] : labels.labels)
      names.insert(name);
    for (const std::string_view name : names)
      text.append(text.empty() ? "" : ", ").append(name);
  });
  return text;
}

const OpenLabel* innermost_label(const void* stream, int discovery) noexcept {
  const ThreadNotes* const notes = thread_notes.get();
  if (notes == nullptr) return nullptr;
  for (std::size_t i = notes->open_count; i > 0; --i) {
    const OpenLabel& label = notes->open[i - 1];
    if (label.stream == stream && is_open(label, discovery)) return &label;
  }
  return nullptr;
}

void add_kernel_name(record::EventRecord& event, const std::string& kernel_name) {
  auto& names = event.kernel_names;
  if (names.size() == kMostKernelNames) return;
  if (std::find(names.begin(), names.end(), kernel_name) == names.end()) {
    names.push_back(kernel_name);
  }
}

void record_label(inline_prof_site* site, const char* text, void* stream, const char* extra_info) {
  State* run = state();
  if (run == nullptr || text == nullptr) return;
  if (trigger::is_paused()) return;
  const Phase phase = run->phase.load(std::memory_order_acquire);
  if (phase == Phase::kDone) {
    shut(site);
    return;
  }
  const auto* known =
      site == nullptr
          ? nullptr
          : static_cast<const LabelEnd*>(__atomic_load_n(&site->label, __ATOMIC_ACQUIRE));
  const auto* end = known == nullptr ? end_named(text) : known;
  if (end == nullptr) {
    shut(site);
    return;
  }
  if (site != nullptr && known == nullptr) {
    // The gate is set last: a thread that sees it also sees the label.
    __atomic_store_n(&site->label, const_cast<LabelEnd*>(end), __ATOMIC_RELEASE);
    __atomic_store_n(&site->gate, &end->label->gate, __ATOMIC_RELEASE);
  }
  CUstream on = stream_of_label(stream);
  const bool is_captured =
      open_captures.load(std::memory_order_relaxed) != 0 && timer::is_capturing(on);
  if (is_captured && phase != Phase::kOverheadMeasurement &&
      (phase != Phase::kDiscovering || !end->is_start)) {
    note_captured_label(*end);
  }
  if (phase == Phase::kMeasuring || phase == Phase::kOverheadMeasurement) {
    if (sites_are_lost.load(std::memory_order_relaxed)) {
      look_for_lost(*run, {.function = nullptr, .label = end->label, .graph = nullptr}, on);
    }
    if (measures_everything.load(std::memory_order_acquire)) {
      return record_one_shot_label(*run, *end, on, extra_info);
    }
    record_armed(*run, *end, on, extra_info);
  } else if (phase == Phase::kUnitTests) {
    record_in_unit_test(*run, *end, on, extra_info);
  } else if (phase == Phase::kDiscovering) {
    if (end->is_start) return start_in_warmup(*run, *end->label, on, is_captured);
    stop_in_warmup(*run, *end->label, on);
  }
}

void describe_label(const char* text, const char* kind, const inline_prof_attribute* attributes,
                    int attribute_count) {
  State* run = state();
  if (run == nullptr || text == nullptr || kind == nullptr) return;
  if (run->phase.load(std::memory_order_relaxed) != Phase::kDiscovering &&
      open_captures.load(std::memory_order_relaxed) == 0) {
    return;
  }
  record::Op op{.kind = kind, .attributes = {}, .source = "PROFILE_OP"};
  for (int i = 0; i < attribute_count; ++i) {
    const inline_prof_attribute& attribute = attributes[i];
    if (attribute.name == nullptr) continue;
    if (attribute.text != nullptr) {
      op.attributes.emplace_back(attribute.name, std::string(attribute.text));
    } else {
      op.attributes.emplace_back(attribute.name, attribute.value);
    }
  }
  const Label* label = nullptr;
  {
    LabelBook& labels = label_book();
    const std::lock_guard lock(labels.mutex);
    label = label_named(labels, text);
  }
  if (label == nullptr) return;
  ThreadNotes* const notes = thread_notes.make();
  if (notes == nullptr) return;
  if (notes->pending == nullptr) notes->pending = std::make_unique<PendingOps>();
  auto& ops = notes->pending->ops;
  std::erase_if(ops, [&](const auto& pending) { return pending.first == label; });
  if (ops.size() < kMostPending) ops.emplace_back(label, std::move(op));
}

}  // namespace inline_prof::hook
