// Mode one_shot: every event of an iteration has its pair in the same iteration.  Pairs stand
// between all launches, so that the iteration is slower than others; in return the events of one
// iteration are seen together.
#pragma once

#include "hook/launch.hpp"
#include "labels/label.hpp"
#include "session/launch_site.hpp"

namespace inline_prof::session {

class Session;

class OneShot {
 public:
  explicit OneShot(Session& session) : session_(session) {}

  // With the session's mutex held.
  void begin();
  void stop();

  [[nodiscard]] hook::LaunchTicket begin_launch(const hook::Launch& launch);
  // Takes the mutex.
  void record_label(const labels::LabelEnd& end, CUstream stream, const char* extra_info);

 private:
  // Counts an occurrence and returns its event; null if the warm-up did not meet it.
  [[nodiscard]] record::EventRecord* next_event(const void* function, CUstream stream,
                                                LaunchSite*& site);
  [[nodiscard]] timer::ContextTimer::Pair* begin_pair(const LaunchSite& site, CUstream stream,
                                                      record::EventRecord& event);

  Session& session_;
};

}  // namespace inline_prof::session
