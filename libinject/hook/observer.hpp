// Reports of the wrappers to the session, which no wrapper includes.
#pragma once

#include "hook/guard.hpp"
#include "hook/launch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

namespace inline_prof::hook {

// A graph that the application has just made: whether a launch of it can be measured.
struct GraphNeeds {
  bool is_planned = false;      // the plan is made: only graphs that are in it are needed
  bool may_come_later = false;  // a phase to come may launch it
  // Names of the events that the schedule asks for; null: any.
  const std::unordered_set<std::string>* names = nullptr;
  std::uint64_t most_copy_bytes = 0;  // of all private copies of graphs
};

// Functions are called inside the fence (guard.hpp), on the thread of the application's call.
class Observer {
 public:
  // Around the application's call, for each launch that the filter does not settle.  The second one
  // only if the ticket has an end.
  [[nodiscard]] virtual LaunchTicket before_launch(const Launch& launch) = 0;
  virtual void after_launch(const Launch& launch, const LaunchTicket& ticket, bool launched) = 0;
  // A library call has returned that had opened `pair` on `stream`.
  virtual void end_pair(timer::ContextTimer::Pair& pair, const void* stream, PairOf pair_of) = 0;
  // A graph was launched whose kernels cannot be told apart.
  virtual void count_graph_launch() noexcept = 0;

  // The context has been created, and nothing runs in it yet.
  virtual void context_created(CUcontext context) = 0;
  // Before the driver is told, so that no handle is given out again yet.
  virtual void context_gone(CUcontext context) = 0;
  virtual void primary_context_reset(CUdevice device) = 0;
  virtual void stream_gone(CUstream stream) = 0;
  virtual void module_gone(const void* module) = 0;
  virtual void library_gone(CUlibrary library) = 0;
  // After the driver was told: it counts references.
  virtual void primary_context_released(CUdevice device) = 0;
  // This thread has a context, and may launch from now on.
  virtual void thread_may_launch() = 0;

  // The host waits for the device, or copies (LaunchFilter::wants_waits).
  virtual void host_waits() = 0;
  virtual void host_copies() = 0;
  // Ranks add up so many bytes, while iterations are searched for.
  virtual void ranks_reduce(std::size_t bytes) = 0;
  // An NVTX range is opened.  True if it encloses whole iterations, and is no layer.  Has a fence
  // of its own.
  [[nodiscard]] virtual bool range_opens(const char* text) noexcept = 0;

  virtual void capture_begins() noexcept = 0;
  virtual void capture_ends() noexcept = 0;
  // The application makes an executable graph.
  [[nodiscard]] virtual GraphNeeds graph_is_made() = 0;
  [[nodiscard]] virtual GraphNeeds graph_needs() = 0;
  // There is no room for a further graph: those that were launched before the first iteration go.
  virtual void make_room_for_graphs() = 0;

  // Number of the present iteration.
  [[nodiscard]] virtual std::int64_t iteration() const noexcept = 0;
  // On stderr and in prof.json, once for each text.
  virtual void warn_once(std::string warning) = 0;

 protected:
  ~Observer() = default;
};

inline constinit std::atomic<Observer*> the_observer{nullptr};

// Null before the first GPU call, and in a forked child.
[[nodiscard]] inline Observer* observer() noexcept {
  return the_observer.load(std::memory_order_acquire);
}

// Tells the session, inside the fence.
template <typename Report>
void report(const char* where, const Report& report) noexcept {
  if (Observer* session = observer()) fenced(where, [&] { report(*session); });
}

}  // namespace inline_prof::hook
