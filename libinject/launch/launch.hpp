// What is done around each launch of the application.
#pragma once

#include "graphs/capture_notes.hpp"
#include "graphs/clone_measurement.hpp"
#include "launch/launching_threads.hpp"
#include "session/armed_event.hpp"
#include "session/phase.hpp"
#include "timer/context_timer.hpp"
#include "timer/launch_table.hpp"
#include "timer/stream_watch.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace inline_prof::hook {

struct Copy;
struct ExecutableGraph;

struct Launch {
  const char* api;
  CUfunction function;  // for a graph launch or a copy: a key that stands for it
  CUstream stream;      // never null: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD instead
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::array<unsigned, 3> cluster;
  unsigned dynamic_shared_bytes;
  ExecutableGraph* graph = nullptr;  // null for a kernel launch
  bool may_overlap = false;          // with the kernel before it (programmatic dependent launch)
  const Copy* copy = nullptr;        // null for a launch
};

struct LaunchTicket {
  enum class Kind { kNothing, kMeet, kMeasured, kReplay };
  Kind kind = Kind::kNothing;
  ArmedEvent* armed = nullptr;           // null in a run without iterations
  timer::ContextTimer* timer = nullptr;  // set in that case
  timer::ContextTimer::Pair* pair = nullptr;
  clone_measurement::Replay replay{};  // for a kernel inside a graph
  // Where the launch was counted; taken back if the driver refuses it.
  std::atomic<std::uint32_t>* counted = nullptr;
  bool is_captured = false;  // the launch becomes a node of a graph
};

extern constinit timer::LaunchTable launch_table;

// True if launches are seen through CUPTI; our wrappers then only forward.
extern constinit std::atomic<bool> cupti_sees_launches;

// Whether our wrappers mark this launch (timer/stream_watch.hpp): no other thread can look for a
// mark, or spoil a pair, while only one launches.
[[nodiscard]] inline bool is_to_be_marked() noexcept {
  return is_one_of_several_threads() && !cupti_sees_launches.load(std::memory_order_relaxed);
}

// The check after the filter: true if the launch only has to be forwarded.  While launches are
// counted, that is one whose slot exists already (it is counted here); later, one whose function
// only shares a filter bit with an armed one.  `counted`: its slot, if it was counted.
[[nodiscard]] inline bool settle_launch(const void* function, const void* stream,
                                        timer::LaunchSlot*& counted) noexcept {
  if (open_captures.load(std::memory_order_relaxed) != 0) return false;
  if (counting.load(std::memory_order_relaxed)) {
    if (is_boundary(function) || looking_for_period.load(std::memory_order_relaxed)) return false;
    timer::LaunchSlot* slot = launch_table.find(function, stream);
    if (slot == nullptr || !count_quietly(*slot)) return false;
    counted = slot;
    return true;
  }
  return is_settled(function);
}

// The same, for our wrappers.
[[nodiscard]] inline bool settle_quietly(const void* function, const void* stream,
                                         timer::LaunchSlot*& counted) noexcept {
  return cupti_sees_launches.load(std::memory_order_relaxed) ||
         settle_launch(function, stream, counted);
}

// Called before and after the application's call, for launches that are not settled.
[[nodiscard]] LaunchTicket before_launch(const Launch& launch);
void after_launch(const Launch& launch, const LaunchTicket& ticket, bool launched);

// one_shot.cpp
struct LabelEnd;
[[nodiscard]] LaunchTicket begin_one_shot_launch(State& state, const Launch& launch);
void record_one_shot_label(State& state, const LabelEnd& end, CUstream stream,
                           const char* extra_info);

// unit_test.cpp
[[nodiscard]] LaunchTicket begin_unit_test_launch(State& state, const Launch& launch);

void count_graph_launch() noexcept;
[[nodiscard]] std::uint64_t graph_launch_count() noexcept;

}  // namespace inline_prof::hook
