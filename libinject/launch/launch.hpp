// What the session does around a launch of the application's.
#pragma once

#include "graphs/capture_notes.hpp"
#include "graphs/clone_measurement.hpp"
#include "session/armed_event.hpp"
#include "timer/context_timer.hpp"
#include "timer/launch_table.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace inline_prof::hook {

struct ExecutableGraph;

struct Launch {
  const char* api;
  CUfunction function;  // of a replay: stands for its graph
  CUstream stream;      // never null: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD stand for it
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::array<unsigned, 3> cluster;
  unsigned dynamic_shared_bytes;
  ExecutableGraph* graph = nullptr;  // replayed; null: a kernel
};

struct LaunchTicket {
  enum class Kind { kNothing, kMeet, kMeasured, kReplay };
  Kind kind = Kind::kNothing;
  ArmedEvent* armed = nullptr;           // null in a run without iterations
  timer::ContextTimer* timer = nullptr;  // then set
  timer::ContextTimer::Pair* pair = nullptr;
  clone_measurement::Replay replay{};  // of a kernel inside a graph
  // Where the launch was counted, to be taken back if the driver refuses it.
  std::atomic<std::uint32_t>* counted = nullptr;
  bool is_captured = false;            // it becomes a node of a graph that the application captures
};

// True from start-up until the plan is made: every launch is counted.
extern constinit std::atomic<bool> counting;
extern constinit timer::LaunchTable launch_table;

// True from the first launch of a second thread on.
extern constinit std::atomic<bool> several_threads_launch;
void note_first_launch_of_thread() noexcept;
[[gnu::tls_model("initial-exec")]] inline constinit thread_local bool this_thread_launches = false;

[[nodiscard]] inline bool is_one_of_several_threads() noexcept {
  if (!this_thread_launches) [[unlikely]]
    note_first_launch_of_thread();
  return several_threads_launch.load(std::memory_order_relaxed);
}

// True where launches are seen through CUPTI: our wrappers then only forward.
extern constinit std::atomic<bool> cupti_sees_launches;

// Behind the filter word: true where there is nothing to do but forward the launch.  While launches
// are counted, that is one that was met before, counted here; later, one that only shares its bit
// of the filter with an armed function.  `counted`: where, if it was.
[[nodiscard]] inline bool settle_launch(const void* function, const void* stream,
                                        timer::LaunchSlot*& counted) noexcept {
  if (open_captures.load(std::memory_order_relaxed) != 0) return false;
  if (counting.load(std::memory_order_relaxed)) {
    if (is_boundary(function) || looking_for_period.load(std::memory_order_relaxed)) return false;
    timer::LaunchSlot* slot = launch_table.find(function, stream);
    if (slot == nullptr || !slot->count_quietly(is_one_of_several_threads())) return false;
    counted = slot;
    return true;
  }
  return is_settled(function);
}

// The same for our wrappers.
[[nodiscard]] inline bool settle_quietly(const void* function, const void* stream,
                                         timer::LaunchSlot*& counted) noexcept {
  return cupti_sees_launches.load(std::memory_order_relaxed) ||
         settle_launch(function, stream, counted);
}

// Before and after the application's call, only for launches that are not settled.
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
