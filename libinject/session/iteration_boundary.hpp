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

// Functions whose launches are looked at for that, whatever else is armed.  Two: a period is told
// by its anchor and its first kernel.
inline constexpr std::size_t kBoundaryFunctions = 2;
extern constinit std::array<std::atomic<const void*>, kBoundaryFunctions> boundary_functions;

[[nodiscard]] inline bool is_boundary(const void* function) noexcept {
  return boundary_functions[0].load(std::memory_order_relaxed) == function ||
         boundary_functions[1].load(std::memory_order_relaxed) == function;
}

// Their bits of the filter word.
[[nodiscard]] std::uint64_t boundary_filter() noexcept;

// A boundary function has another handle, or is on another stream, from now on.
void move_boundary(const void* old_function, const void* old_stream, const void* function,
                   const void* stream) noexcept;

// Before each launch that is looked at: true where an iteration starts with it.
[[nodiscard]] bool starts_iteration(const Launch& launch);

// While nobody has said where iterations begin: one launch more, in the order of the streams.  The
// launch has been made.  With the mutex held.
void look_for_period(State& state, const LaunchSite& site);

// The sites that were seen so far are forgotten.
void forget_searches();

// True while launches are looked at for that, each of them.
extern constinit std::atomic<bool> looking_for_period;

// A kernel met for the first time: is it the one that the user named?  With the mutex held.
void note_kernel(const State& state, const Launch& launch, const KernelInfo& kernel);

// A range of the application's opens (NVTX).  Starts an iteration where the user's pattern fits.
// Outside any fence: it has one of its own.  True where the user has named the range for that: then
// it encloses whole iterations and is no layer.
bool note_range(const char* text) noexcept;

}  // namespace inline_prof::hook
