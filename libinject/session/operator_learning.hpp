// Calls of a framework's operators, as an application says them in one iteration of the warm-up,
// and what the launches inside compute.
//
// A call is described once it is over, when its results are known.  The description of a launch is
// kept by its place in the iteration: the events that are discovered in the next one take it if
// they are the same launches.
#pragma once

#include "graphs/capture_notes.hpp"
#include "hook/launch.hpp"
#include "record/event_record.hpp"
#include "session/launch_site.hpp"

#include <inline_prof/abi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace inline_prof::libraries {
struct OpFrame;
}

namespace inline_prof::session {

class Session;

// One launch of the iteration in which operators are learned.
struct LearnedLaunch {
  std::array<unsigned, 3> grid{};
  std::shared_ptr<graphs::CallNotes> notes;  // null outside all calls
};

// A kernel on one stream in one layer: its launches in that iteration, and the events that were
// discovered later, both in their order.
// Or a library's call outside all layers, of which only the layer is learned.
struct LearnedKernel {
  bool is_library_call = false;
  std::string name;
  std::vector<LearnedLaunch> launches;
  std::vector<record::EventRecord*> events;
};

class OperatorLearning {
 public:
  explicit OperatorLearning(Session& session) : session_(session) {}

  // This thread's launches belong to one call until it is closed.  A call in a call is part of it.
  static void open_call() noexcept;
  // Returns the launches of the open call so far.  One without any is closed by this.
  [[nodiscard]] static int launches_in_call() noexcept;
  // `layer`, which may be null, is that of launches outside all layers.  Takes the session's mutex.
  static void close_call(const char* name, const char* layer, const inline_prof_work* tasks,
                         int task_count);
  // Describes a launch that becomes a node of a graph; null if no call is open.
  [[nodiscard]] static std::shared_ptr<graphs::NodeNotes> notes_of_node(const hook::Launch& launch);
  // Gives an event what the end of its call has said, if it has ended.
  static void describe(record::EventRecord& event, const graphs::CallNotes& notes);
  // Returns what `work` says of a launch that does its part `from`..`to` of the call.
  [[nodiscard]] static record::Op op_of(const inline_prof_work& work, const char* source,
                                        double from, double to);

  // The application asks what is wanted of it: it can say its operators.  No launch is described
  // unless it does.
  static void note_asking() noexcept { some_ask_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] static bool some_ask() noexcept {
    return some_ask_.load(std::memory_order_relaxed);
  }
  // True during the iteration in which operators are learned.  An application that does not say
  // where iterations begin is asked one iteration earlier, so that it has heard of it by then.
  [[nodiscard]] bool are_wanted() const noexcept;

  // With the session's mutex held.
  void iteration_starts(std::int64_t position);
  void warmup_ends() noexcept;
  void note_launch(const LaunchSite& site, const hook::Launch& launch);
  // Gives a new event what was learned of its launch; not in the iteration that is learned from,
  // whose events are met once more in the next.
  void describe_event(const LaunchSite& site, const hook::Launch& launch,
                      record::EventRecord& event);
  // The same for the first launch of a library's call, of which only the layer is learned.
  void name_library_event(const hook::Launch& launch, const libraries::OpFrame& op,
                          record::EventRecord& event);
  // Takes it back from kernels of which there are more or fewer launches than while learning, and
  // says how many.
  void settle();

 private:
  [[nodiscard]] bool says_iterations() const;
  [[nodiscard]] bool were_learned() const;
  [[nodiscard]] LearnedKernel& learned_kernel(const LaunchSite& site, std::string layer);
  [[nodiscard]] LearnedKernel& learned_library_call(const hook::Launch& launch,
                                                    const libraries::OpFrame& op);
  void note_library_call(const hook::Launch& launch, libraries::OpFrame& op);

  // The application may ask before there is a session.
  static inline constinit std::atomic<bool> some_ask_{false};

  Session& session_;
  std::atomic<bool> asks_{false};    // also shortly before they are learned
  std::atomic<bool> learns_{false};  // in this iteration
  std::map<std::tuple<const void*, const void*, std::string>, LearnedKernel> learned_;
};

}  // namespace inline_prof::session
