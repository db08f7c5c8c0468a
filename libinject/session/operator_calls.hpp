// Calls of a framework's operators, as an application says them in one iteration of the warm-up,
// and what the launches inside compute.
//
// A call is described once it is over, when its results are known.  The description of a launch is
// kept by its place in the iteration: the events that are discovered in the next one take it if
// they are the same launches.
#pragma once

#include "record/event_record.hpp"

#include <inline_prof/abi.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace inline_prof::libraries {
struct OpFrame;
}

namespace inline_prof::hook {

struct CallNotes;
struct Launch;
struct LaunchSite;
struct NodeNotes;
struct State;

// One launch of the iteration in which operators are learned.
struct LearnedLaunch {
  std::array<unsigned, 3> grid{};
  std::shared_ptr<CallNotes> notes;  // null outside all calls
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

using LearnedKernels = std::map<std::tuple<const void*, const void*, std::string>, LearnedKernel>;

namespace operator_calls {

// What this thread launches belongs to one call until it is closed.  A call in a call is part of
// it.
void open() noexcept;
// Of the open call so far.  One without any is closed by this.
[[nodiscard]] int launches() noexcept;
// `layer`, which may be null, is that of launches outside all layers.
void close(const char* name, const char* layer, const inline_prof_work* works, int work_count);

// The application asks what is wanted of it: it can say its operators.
void note_asking() noexcept;
// True during the iteration in which operators are learned.  An application that does not say where
// iterations begin is asked one iteration earlier, so that it has heard of it by then.
[[nodiscard]] bool are_wanted(const State& state) noexcept;

// With the state's mutex held.
void iteration_starts(State& state, std::int64_t position);
void warmup_ends(State& state) noexcept;
void note_launch(State& state, const LaunchSite& site, const Launch& launch);
// Gives a new event what was learned of its launch.
void describe_event(State& state, const LaunchSite& site, const Launch& launch,
                    record::EventRecord& event);
// The same for the first launch of a library's call, of which only the layer is learned.
void name_library_event(State& state, const Launch& launch, const libraries::OpFrame& op,
                        record::EventRecord& event);
// Takes it back from kernels of which there are more or fewer launches than while learning, and
// says how many.
void settle(State& state);

// Gives an event what the end of its call has said, if it has ended.
void describe(record::EventRecord& event, const CallNotes& notes);

// A launch that becomes a node of a graph; null where no call is open.
[[nodiscard]] std::shared_ptr<NodeNotes> notes_of_node(const Launch& launch);

}  // namespace operator_calls
}  // namespace inline_prof::hook
