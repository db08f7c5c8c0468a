// Streams, contexts and modules that the application destroys, and what it makes in their place.
//
// A handle stands for something only as long as that lives: afterwards the driver may give it out
// again for something else.  So when the application destroys a stream, a context or a module, the
// launch sites on it lose their handles at once, and no launch is taken for theirs.  A kernel of
// the same name, or a label or graph, that is then launched where no site is known takes the place
// of the one that was lost, and its stream that of the stream that was lost: a program that resets
// its device, or makes a stream for each step, is measured on.
//
// A program may also leave a stream for another one without destroying it.  Where something that is
// armed was not launched in its iteration, the next one is counted: a stream on which nothing at
// all is launched then counts as lost.  If nothing takes its place, it is as it was.
#pragma once

#include "session/launch_site.hpp"

#include <cuda.h>

#include <cstdint>

namespace inline_prof::session {

class Session;

// With the session's mutex held, unless noted.
class Rebinding {
 public:
  explicit Rebinding(Session& session) : session_(session) {}

  // Before the driver is told, so that the handle is not given out yet.
  void lose_stream(CUstream stream);
  void lose_context(timer::ContextTimer& timer);
  void lose_module(const void* module);

  // Returns the site whose place this takes, with its new handles; null if none was lost that fits.
  [[nodiscard]] LaunchSite* rebind(const Launched& launched, CUstream stream);

  // While sites are lost: the same for a launch that may be of a lost site.  Takes the mutex.
  void note_launch(const Launched& launched, CUstream stream);
  // While a boundary is lost: the same for a launch with which an iteration may begin.  Takes the
  // mutex.
  void note_boundary_launch(const Launched& launched, CUstream stream);

  // The measured iterations begin: what was lost before is searched for.
  void begin_search_if_lost();
  // An iteration starts.  Streams on which nothing was launched in the last one count as lost.
  void lose_silent_streams(std::int64_t iteration);
  // Called once per iteration, after that.  Gives up after kIterationsOfSearch.
  void go_on_searching();
  // A phase ends: the search ends with it.
  void forget();
  // All sites are forgotten: none is lost any more.
  void forget_lost_sites() noexcept { some_are_lost_ = false; }

 private:
  [[nodiscard]] bool is_measuring() const;
  void begin_search();
  void end_search();
  void place(LaunchSite& site);
  [[nodiscard]] bool lose_stream(StreamInfo& stream);
  template <typename Predicate>
  void lose_functions(const Predicate& is_gone);
  template <typename Predicate>
  [[nodiscard]] bool some_site(const Predicate& predicate) const;
  [[nodiscard]] const KernelInfo* kernel_behind(CUfunction function);
  void revive(StreamInfo& stream, CUstream handle);
  [[nodiscard]] bool has_kernels(const StreamInfo& stream) const;
  [[nodiscard]] bool is_silent(const StreamInfo& stream) const;

  Session& session_;
  bool some_are_lost_ = false;  // sites, whose handles have gone
  int iterations_left_ = 0;     // of a search
  int launches_left_ = 0;
  bool is_counted_ = false;  // this iteration, from its start
  std::int64_t next_attempt_ = 0;
  int attempts_in_vain_ = 0;
};

}  // namespace inline_prof::session
