// PROFILE_RECORD and PROFILE_OP in a run.
#pragma once

#include "labels/label.hpp"
#include "record/event_record.hpp"

#include <inline_prof/abi.h>

#include <cuda.h>

#include <cstddef>

namespace inline_prof::session {

struct LaunchSite;
class Session;

class LabelEvents {
 public:
  explicit LabelEvents(Session& session) : session_(session) {}

  // The calls of abi.h.  These take the session's mutex.
  void record(inline_prof_site* site, const char* text, void* stream, const char* extra_info);
  void describe(const char* text, const char* kind, const inline_prof_attribute* attributes,
                int attribute_count);

  // A label that this thread has started, while events are being discovered.  Any thread may stop
  // it.
  struct Open {
    const void* stream;
    record::EventRecord* event;
    const LaunchSite* site;
    int occurrence;
    int discovery;        // Discovery::number(), then
    bool notes_launches;  // all launches inside are seen in this iteration
  };
  // The innermost label on `stream` of this discovery that was not stopped; null if there is none.
  // With the session's mutex held, as for say_unmatched().
  [[nodiscard]] const Open* innermost(const void* stream) const noexcept;
  // A launch of this thread was met in the warm-up.  With the session's mutex held.
  void note_launch(LaunchSite& site, std::uint32_t occurrence, const void* stream);
  // The targets of a phase are known.
  void note_what_is_needed();
  // False once every label that is measured can be told by the launches inside it: then nobody
  // needs to call record() any more.
  [[nodiscard]] bool are_calls_needed() const noexcept {
    return are_calls_needed_.load(std::memory_order_relaxed);
  }
  // Warns of labels that were stopped but not started.
  void say_unmatched();

  // All gates are open during a capture that may be of a phase to come.
  void capture_begins() noexcept;
  void capture_ends() noexcept;

 private:
  void start_in_warmup(labels::Label& label, CUstream stream, bool is_captured,
                       bool notes_launches);
  void stop_in_warmup(labels::Label& label, CUstream stream);
  void record_armed(const labels::LabelEnd& end, CUstream stream, const char* extra_info);
  void record_in_unit_test(const labels::LabelEnd& end, CUstream stream, const char* extra_info);

  Session& session_;
  std::size_t unmatched_ = 0;
  std::atomic<bool> capture_opened_gates_{false};
  std::atomic<bool> are_calls_needed_{true};
};

// PROFILE_RECORD_DATA: 1 where data are wanted in this iteration; with `data` not null they are
// kept.
[[nodiscard]] int record_data(Session& session, const char* label, void* stream, const char* data,
                              int device_id);

}  // namespace inline_prof::session
