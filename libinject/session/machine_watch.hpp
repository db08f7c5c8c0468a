// While a run is watched: keeps what NVML reads of its GPUs, and says what that shows of a change.
#pragma once

#include "record/machine_reader.hpp"
#include "record/run_record.hpp"

#include <string>

namespace inline_prof::session {

class Session;

class MachineWatch {
 public:
  explicit MachineWatch(Session& session) : session_(session) {}

  // Called on the writer's thread. Never waits for NVML.
  void every_second();

  // Returns what the readings up to `until_s` show of a change; empty: nothing.
  [[nodiscard]] std::string reason_of(const record::FoundChange& found, double until_s);

  // The process is about to end. Returns false if a call of NVML's goes on.
  bool stop(int milliseconds) noexcept { return reader_.stop(milliseconds); }

 private:
  void keep(const record::MachineAnswer& answer);
  void say_once(const record::MachineAnswer& answer);
  void explain_late(double now_s);
  [[nodiscard]] std::string reason_with_record(const record::FoundChange& found, double until_s);

  Session& session_;
  record::MachineReader reader_;
  double asked_s_ = 0;
  double waits_since_s_ = 0;  // for an answer; 0: it does not
  bool has_said_problem_ = false;
};

}  // namespace inline_prof::session
