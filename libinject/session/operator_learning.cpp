#include "session/operator_learning.hpp"

#include "labels/layer_path.hpp"
#include "launch/kernel_handles.hpp"
#include "libraries/op_frame.hpp"
#include "session/session.hpp"
#include "sys/thread_memory.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace inline_prof::session {
namespace {

// A call with more launches is not described.
constexpr std::size_t kMostLaunches = record::EventList::kCapacity;

constexpr std::size_t kLongestName = 80;  // of a kernel in a warning

struct CallLaunch {
  std::string kernel;  // empty: a library's, which describes it itself
  double threads = 0;
  std::shared_ptr<graphs::CallNotes> notes;
};

struct OpenCall {
  int depth = 0;
  bool is_too_long = false;
  std::vector<CallLaunch> launches;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local sys::PerThread<OpenCall> this_call;

// Null outside all calls.
OpenCall* call_now() noexcept {
  OpenCall* const call = this_call.get();
  return call == nullptr || call->depth == 0 ? nullptr : call;
}

double threads_of(const hook::Launch& launch) noexcept {
  double threads = 1;
  for (const unsigned side : launch.grid)
    threads *= side;
  for (const unsigned side : launch.block)
    threads *= side;
  return threads;
}

// Returns the notes that the end of this call will fill in for the launch; null outside all calls.
std::shared_ptr<graphs::CallNotes> notes_to_be(const hook::Launch& launch,
                                               const std::string& kernel) {
  OpenCall* const call = call_now();
  if (call == nullptr) return nullptr;
  if (call->launches.size() == kMostLaunches) {
    call->is_too_long = true;
    return nullptr;
  }
  auto notes = std::make_shared<graphs::CallNotes>();
  call->launches.push_back({.kernel = kernel, .threads = threads_of(launch), .notes = notes});
  return notes;
}

// Numbers of all launches of a call together.
bool is_shared_out(std::string_view attribute) noexcept {
  return attribute == "flops" || attribute.ends_with("_bytes");
}

bool fits(const inline_prof_work& work, std::string_view kernel) {
  if (work.kernel == nullptr) return true;
  std::string_view words = work.kernel;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('|'));
    if (kernel.find(word) != std::string_view::npos) return true;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return false;
}

// Cuts a number in parts that add up to it.
std::int64_t part_of(std::int64_t whole, double from, double to) noexcept {
  const auto up_to = [&](double share) {
    return (static_cast<std::int64_t>(2 * static_cast<double>(whole) * share) + 1) / 2;
  };
  return up_to(to) - up_to(from);
}

void describe_launches(std::vector<CallLaunch>& launches, const char* name, const char* layer,
                       const inline_prof_work* tasks, int task_count) {
  const auto none = static_cast<std::size_t>(std::max(task_count, 0));
  std::vector<std::size_t> task_of(launches.size(), none);
  std::vector<double> threads(none, 0);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].kernel.empty()) continue;
    for (std::size_t work = 0; work < none && task_of[i] == none; ++work) {
      if (tasks[work].kind != nullptr && fits(tasks[work], launches[i].kernel)) task_of[i] = work;
    }
    if (task_of[i] != none) threads[task_of[i]] += launches[i].threads;
  }
  std::vector<double> before(none, 0);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::size_t work = task_of[i];
    graphs::CallNotes& notes = *launches[i].notes;
    if (layer != nullptr) notes.layer = layer;
    if (launches[i].kernel.empty()) continue;
    if (work == none) {
      notes.op = {
          .kind = std::string(op_kind_name(OpKind::kOperator)), .attributes = {}, .source = name};
      continue;
    }
    const double from = before[work] / threads[work];
    before[work] += launches[i].threads;
    notes.op = OperatorLearning::op_of(tasks[work], name, from, before[work] / threads[work]);
  }
}

// Gives the event the next place of the kernel.  Null if nothing was learned there.
const LearnedLaunch* next_place(LearnedKernel& learned, record::EventRecord& event) {
  const std::size_t place = learned.events.size();
  learned.events.push_back(&event);
  const bool is_known = place < learned.launches.size() && learned.launches[place].notes != nullptr;
  return is_known ? &learned.launches[place] : nullptr;
}

bool are_alike(const LearnedLaunch& left, const LearnedLaunch& right) {
  if (left.notes == nullptr || right.notes == nullptr) return false;
  const record::Op& one = left.notes->op;
  const record::Op& other = right.notes->op;
  return one.kind == other.kind && one.attributes == other.attributes &&
         one.source == other.source && left.notes->layer == right.notes->layer;
}

// Returns a launch that all launches with this grid are like; null if they differ, or there is
// none.
const LearnedLaunch* only_launch_with(const LearnedKernel& learned,
                                      const std::array<unsigned, 3>& grid) {
  const LearnedLaunch* found = nullptr;
  for (const LearnedLaunch& launch : learned.launches) {
    if (launch.grid != grid) continue;
    if (launch.notes == nullptr || launch.notes->op.kind.empty()) return nullptr;
    if (found != nullptr && !are_alike(*found, launch)) return nullptr;
    found = &launch;
  }
  return found;
}

}  // namespace

void OperatorLearning::open_call() noexcept {
  OpenCall* const call = this_call.make();
  if (call == nullptr || ++call->depth > 1) return;
  call->launches.clear();
  call->is_too_long = false;
}

int OperatorLearning::launches_in_call() noexcept {
  OpenCall* const call = call_now();
  if (call == nullptr) return 0;
  if (call->launches.empty()) --call->depth;
  return static_cast<int>(call->launches.size());
}

void OperatorLearning::close_call(const char* name, const char* layer,
                                  const inline_prof_work* tasks, int task_count) {
  OpenCall* const call = call_now();
  if (call == nullptr || --call->depth > 0 || call->launches.empty()) return;
  Session* session = the_session();
  if (session == nullptr) return call->launches.clear();
  if (call->is_too_long) task_count = 0;
  const std::lock_guard lock(session->mutex);
  describe_launches(call->launches, name == nullptr ? "" : name, layer, tasks, task_count);
  call->launches.clear();
}

void OperatorLearning::describe(record::EventRecord& event, const graphs::CallNotes& notes) {
  if (notes.op.kind.empty()) return;
  event.op = std::make_unique<record::Op>(notes.op);
  if (event.layer_name.empty()) event.layer_name = notes.layer;
}

record::Op OperatorLearning::op_of(const inline_prof_work& work, const char* source, double from,
                                   double to) {
  record::Op op{.kind = work.kind, .attributes = {}, .source = source};
  for (int i = 0; i < work.attribute_count; ++i) {
    const inline_prof_attribute& attribute = work.attributes[i];
    if (attribute.name == nullptr) continue;
    if (attribute.text != nullptr) {
      op.attributes.emplace_back(attribute.name, std::string(attribute.text));
    } else if (work.is_each == 0 && is_shared_out(attribute.name)) {
      op.attributes.emplace_back(attribute.name, part_of(attribute.value, from, to));
    } else {
      op.attributes.emplace_back(attribute.name, attribute.value);
    }
  }
  return op;
}

std::shared_ptr<graphs::NodeNotes> OperatorLearning::notes_of_node(const hook::Launch& launch) {
  if (call_now() == nullptr) return nullptr;
  auto notes = std::make_shared<graphs::NodeNotes>();
  notes->layer = labels::current_layer();
  notes->of_call = notes_to_be(launch, launch::identity_of(launch.function).name);
  return notes;
}

// Whether the application says where iterations begin.
bool OperatorLearning::says_iterations() const {
  const std::string& source = session_.run.iteration_source;
  return source == "macro" || source == "optimizer";
}

LearnedKernel& OperatorLearning::learned_kernel(const LaunchSite& site, std::string layer) {
  return learned_[{site.function, session_.unit_tests.key_of(site.stream->handle),
                   std::move(layer)}];
}

LearnedKernel& OperatorLearning::learned_library_call(const hook::Launch& launch,
                                                      const libraries::OpFrame& op) {
  LearnedKernel& learned = learned_[{op.event_name, session_.unit_tests.key_of(launch.stream), ""}];
  learned.is_library_call = true;
  return learned;
}

// Its first launch on each stream becomes an event.
void OperatorLearning::note_library_call(const hook::Launch& launch, libraries::OpFrame& op) {
  libraries::OpPart& part = libraries::part_on(op, launch.stream);
  if (part.is_learned || !labels::current_layer().empty()) return;
  part.is_learned = true;
  LearnedKernel& learned = learned_library_call(launch, op);
  if (learned.launches.size() == record::EventList::kCapacity) return;
  learned.launches.push_back({.grid = launch.grid, .notes = notes_to_be(launch, "")});
}

// Whether the application has said any operator.
bool OperatorLearning::were_learned() const {
  return std::any_of(learned_.begin(), learned_.end(), [](const auto& entry) {
    const auto& launches = entry.second.launches;
    return std::any_of(launches.begin(), launches.end(),
                       [](const LearnedLaunch& launch) { return launch.notes != nullptr; });
  });
}

bool OperatorLearning::are_wanted() const noexcept {
  return asks_.load(std::memory_order_relaxed);
}

void OperatorLearning::iteration_starts(std::int64_t position) {
  const std::int64_t half = session_.settings.warmup / 2;
  const bool is_wanted = half >= 1 && position == half && some_ask_.load(std::memory_order_relaxed);
  const bool is_soon = half > 1 && position == half - 1 && !says_iterations();
  asks_.store(is_wanted || is_soon, std::memory_order_relaxed);
  learns_.store(is_wanted, std::memory_order_relaxed);
  if (!is_wanted) return;
  learned_.clear();
  // Every launch is examined, known ones as well.
  for (const auto& site : session_.sites.all())
    site->slot->limit.store(0, std::memory_order_relaxed);
}

void OperatorLearning::warmup_ends() noexcept {
  asks_.store(false, std::memory_order_relaxed);
  learns_.store(false, std::memory_order_relaxed);
}

void OperatorLearning::note_launch(const LaunchSite& site, const hook::Launch& launch) {
  if (!learns_.load(std::memory_order_relaxed)) return;
  if (site.kernel == nullptr || launch.copy != nullptr) return;
  // Launches inside a label or a library's call are described there.
  if (session_.label_events.innermost(launch.stream) != nullptr) return;
  if (libraries::OpFrame* op = libraries::outermost_op()) return note_library_call(launch, *op);
  LearnedKernel& learned = learned_kernel(site, labels::current_layer());
  if (learned.launches.size() == record::EventList::kCapacity) return;
  learned.name = site.kernel->event_name.substr(0, kLongestName);
  learned.launches.push_back(
      {.grid = launch.grid, .notes = notes_to_be(launch, site.kernel->name)});
}

void OperatorLearning::describe_event(const LaunchSite& site, const hook::Launch& launch,
                                      record::EventRecord& event) {
  if (learned_.empty() || learns_.load(std::memory_order_relaxed)) return;
  LearnedKernel& learned = learned_kernel(site, event.layer_name);
  learned.name = site.kernel->event_name.substr(0, kLongestName);
  const LearnedLaunch* const same = next_place(learned, event);
  if (same != nullptr && same->grid == launch.grid) describe(event, *same->notes);
}

void OperatorLearning::name_library_event(const hook::Launch& launch, const libraries::OpFrame& op,
                                          record::EventRecord& event) {
  if (learned_.empty() || learns_.load(std::memory_order_relaxed)) return;
  if (!event.layer_name.empty()) return;
  const LearnedLaunch* const same = next_place(learned_library_call(launch, op), event);
  if (same != nullptr) event.layer_name = same->notes->layer;
}

void OperatorLearning::settle() {
  std::size_t other = 0;
  std::string first;
  if (!were_learned()) return learned_.clear();
  for (auto& [key, learned] : learned_) {
    // Rare ones were left out: those of an evaluation, which the iteration that is learned from
    // need not have.
    std::erase_if(learned.events, [this](const record::EventRecord* event) {
      return session_.sites.of_event(event) == nullptr;
    });
    const std::size_t count = learned.events.size();
    if (learned.launches.size() == count || count == 0) continue;
    if (learned.is_library_call) {
      for (record::EventRecord* event : learned.events)
        event->layer_name.clear();
      continue;
    }
    // A kernel that is launched more or less often has lost its places, unless all launches of a
    // grid are alike.
    for (record::EventRecord* event : learned.events) {
      const LearnedLaunch* same = only_launch_with(learned, event->shape->grid);
      event->op = nullptr;
      event->layer_name = std::get<2>(key);
      if (same != nullptr) describe(*event, *same->notes);
    }
    if (other++ > 0) continue;
    first = learned.name + " " + std::to_string(learned.launches.size()) + " times instead of " +
            std::to_string(count);
  }
  learned_.clear();
  if (other == 0) return;
  session_.warn(
      "the iteration in which operators were learned launched " + first +
      (other == 1 ? "" : ", and differed in " + std::to_string(other - 1) + " more kernels") +
      ": what is not alike in them is not known");
}

}  // namespace inline_prof::session
