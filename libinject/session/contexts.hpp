// Contexts and streams of the application.  With the session's mutex held, unless noted.
#pragma once

#include "timer/context_timer.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <set>
#include <string>

namespace inline_prof::session {

class Session;

struct StreamInfo {
  CUstream handle = nullptr;
  timer::ContextTimer* timer = nullptr;
  int index = 0;  // in order of first appearance
  std::uint64_t launches = 0;
  bool is_alive = true;
  // Not alive because nothing was launched there (rebinding.hpp): it may be again.
  bool is_silent = false;
  bool is_heard = false;  // something unknown was launched there in this iteration
  int silences = 0;       // in a row, each ended by another stream
};

class Contexts {
 public:
  explicit Contexts(Session& session) : session_(session) {}

  [[nodiscard]] std::deque<timer::ContextTimer>& timers() noexcept { return timers_; }
  [[nodiscard]] std::deque<StreamInfo>& streams() noexcept { return streams_; }

  // Calibrates the context, in which nothing is running yet; one for each device.  Takes the mutex.
  void created(CUcontext context);
  // A calibration goes on, on a thread of the application's.  Needs no mutex.
  [[nodiscard]] bool is_calibrating() const noexcept { return calibrating_.load() > 0; }
  // Says why pairs in graphs were not calibrated; empty if they were.  With the mutex held.
  [[nodiscard]] const std::string& graph_note() const noexcept { return graph_note_; }

  // Null if the driver does not tell the context's device, or the stream's context.
  [[nodiscard]] timer::ContextTimer* timer_of(CUcontext context);
  [[nodiscard]] timer::ContextTimer* timer_of_stream(CUstream stream);
  [[nodiscard]] StreamInfo* stream_of(CUstream stream);

  // Iteration times are those of the device with the lowest number; null: there is none.
  [[nodiscard]] timer::ContextTimer* first_timer();
  [[nodiscard]] StreamInfo* busiest_stream(const timer::ContextTimer& timer);
  // One origin event on each device's busiest stream.
  void record_origins(std::int64_t iteration);
  // Leaves out the time of an iteration, before the next origin. False if it would have had none.
  bool leave_out(std::int64_t iteration);
  // Reads finished samples.  True once all recorded samples have been read.
  bool poll_all();
  // Counts the samples that will not be read any more.
  void count_pending();

 private:
  Session& session_;
  std::deque<timer::ContextTimer> timers_;
  std::deque<StreamInfo> streams_;
  std::set<int> calibrated_devices_;
  std::atomic<int> calibrating_{0};
  std::string graph_note_;
};

}  // namespace inline_prof::session
