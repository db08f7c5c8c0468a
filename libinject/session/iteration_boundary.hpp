// Where an iteration starts if the application makes no call that says so: at a range of its own
// (NVTX), at a kernel that the user names, or at the launches that a period was found to begin
// with.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace inline_prof::hook {

struct KernelInfo;
struct Launch;
struct LaunchSite;
struct State;

// Functions whose launches are examined for that, whatever else is armed.  Two: a period is
// recognised by its anchor and its first kernel.
inline constexpr std::size_t kBoundaryFunctions = 2;
extern constinit std::array<std::atomic<const void*>, kBoundaryFunctions> boundary_functions;

[[nodiscard]] inline bool is_boundary(const void* function) noexcept {
  return boundary_functions[0].load(std::memory_order_relaxed) == function ||
         boundary_functions[1].load(std::memory_order_relaxed) == function;
}

// Their filter bits.
[[nodiscard]] std::uint64_t boundary_filter() noexcept;

// A boundary function has another handle, or is on another stream, from now on.
void move_boundary(const void* old_function, const void* old_stream, const void* function,
                   const void* stream) noexcept;

// While the stream, the context or the module of one of them is gone: what takes its place is
// looked for before each launch, since an iteration may begin with that.
extern constinit std::atomic<bool> boundary_is_lost;
// The sites are forgotten, those that were lost among them.  With the mutex held.
void forget_lost_boundary(State& state);

// Called before each examined launch: true if an iteration starts with it.
[[nodiscard]] bool starts_iteration(const Launch& launch);

// While iterations are still looked for: adds one launch, in stream order, after it was made.  With
// the mutex held.  False where the warm-up has begun again, and `site` is gone.
[[nodiscard]] bool look_for_period(State& state, const LaunchSite& site);

// Before the plan is made: the period that was found is looked at once more, and no further one is
// looked for.  False where it was a part of a longer one: the warm-up has begun again.  With the
// mutex held.
[[nodiscard]] bool confirm_period(State& state);

// The host waits for the device, or copies from it.
void note_host_wait();

// Where iterations come from a period: what hints at their end.  So many count as another number
// of waits.  Not with a mutex of ours.
inline constexpr std::uint32_t kHintsOfGraph = 8;
void note_hint_of_phase(std::uint32_t weight = 1);
[[nodiscard]] bool hints_are_counted() noexcept;
// A measured iteration starts.
void count_hints_from_now_on(const State& state);

// The sites that were seen so far are forgotten.
void forget_searches();

// True while every launch is examined for that.
extern constinit std::atomic<bool> looking_for_period;

// Checks whether a new kernel is the one that the user has named.  With the mutex held.
void note_kernel(const State& state, const Launch& launch, const KernelInfo& kernel);

// The application opens an NVTX range.  Starts an iteration if the user's pattern matches.  Has a
// fence of its own.  True if the user has named this range: then it encloses whole iterations and
// is not a layer.
bool note_range(const char* text) noexcept;

}  // namespace inline_prof::hook
