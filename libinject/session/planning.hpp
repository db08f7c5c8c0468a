// From the warm-up to the plan: what was met becomes targets, the schedule chooses among them. With
// the session's mutex held.
#pragma once

#include "schedule/classes.hpp"
#include "schedule/select.hpp"
#include "session/phases.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::session {

class Session;

class Planning {
 public:
  explicit Planning(Session& session) : session_(session) {}

  void make_plan();
  // Turns what was discovered into what can be measured.
  void settle_discovery();
  // Warns of names in the schedule that no event had.
  void say_what_was_never_met();
  // Returns the time that a pair adds between its events: plausible where it was not calibrated.
  [[nodiscard]] double pair_ms();

 private:
  [[nodiscard]] bool plan_run();
  [[nodiscard]] std::vector<schedule::MetEvent> gather_targets(std::vector<Target>& targets);
  void close_open_labels();
  void merge_ops_into_labels();
  void leave_out_rare_events();
  [[nodiscard]] std::vector<schedule::ClassMember> name_classes();
  void begin_adaptive(const std::vector<schedule::ClassMember>& members);
  [[nodiscard]] schedule::Selection plain_part(const schedule::Selection& selection);
  [[nodiscard]] std::vector<std::size_t> graph_targets() const;

  Session& session_;
  std::vector<std::string> never_met_;
};

}  // namespace inline_prof::session
