// Mode one_shot: every event of an iteration has its pair in the same iteration.  Pairs stand
// between all launches, so that the iteration is slower than others; in return the events of one
// iteration are seen together.
#pragma once

#include "hook/launch.hpp"
#include "labels/label.hpp"
#include "session/launch_site.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

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

// Mode unit_test: a run of a test lasts from PROFILE_UNIT_TEST_START(name) to
// PROFILE_UNIT_TEST_STOP().  Its first runs are its warm-up; in later ones every event is measured.
struct UnitTest {
  std::string name;
  std::uintptr_t tag = 0;  // keeps its launches apart from other tests' in the launch table
  std::int64_t runs = 0;
};

class UnitTests {
 public:
  explicit UnitTests(Session& session) : session_(session) {}

  // These take the session's mutex.
  void start(const char* name);
  void stop();
  [[nodiscard]] hook::LaunchTicket begin_launch(const hook::Launch& launch);

  // Null outside all tests, and in other modes.
  [[nodiscard]] const UnitTest* running() const noexcept {
    return running_.load(std::memory_order_relaxed);
  }
  // Stands for a stream in the launch table: the stream, and the test that is running.
  [[nodiscard]] const void* key_of(const void* stream) const noexcept {
    const UnitTest* test = running();
    if (test == nullptr) return stream;
    // Only compared, never dereferenced.  NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(stream) ^ test->tag);
  }

 private:
  [[nodiscard]] bool is_measured(const UnitTest& test) const;
  void prepare_to_measure();
  void end_run();

  Session& session_;
  std::unordered_map<std::string, UnitTest> tests_;
  std::atomic<const UnitTest*> running_{nullptr};
};

// A run in which no iteration is found: launches of every kernel are sampled in turn, one at a
// time, and counted exactly.  In prof.json the whole run is one iteration.
class WithoutIterations {
 public:
  explicit WithoutIterations(Session& session) : session_(session) {}

  // With the session's mutex held.
  void begin();
  void leave();
  void sample_from_now_on(LaunchSite& site);
  void choose_next_sample();
  // The run was too short for samples: lists what it launched, and how often.
  void list_unsampled();
  // Counts the launches of every event so far; returns the sum of all.
  std::uint64_t count_calls();
  // Estimates the time of all launches by that of those up to the last sample that was read.
  void extend_time_to_the_end();

  // Takes the mutex.
  [[nodiscard]] hook::LaunchTicket begin_launch(const hook::Launch& launch);

 private:
  // The run's time so far, up to the end of the sample that was read last.
  void note_time_so_far(float time_ms);

  Session& session_;
  std::size_t next_sampled_ = 0;  // whose turn it is
  // Launches before the clock started, before each sample, and before the sample at whose end the
  // run's time was read last.
  std::uint64_t launches_before_clock_ = 0;
  std::vector<std::uint64_t> launches_before_samples_;
  std::uint64_t launches_timed_ = 0;
};

}  // namespace inline_prof::session
