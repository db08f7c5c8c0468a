// Mode unit_test: a run of a test lasts from PROFILE_UNIT_TEST_START(name) to
// PROFILE_UNIT_TEST_STOP().  Its first runs are its warm-up; in later ones every event is measured.
#pragma once

#include "hook/launch.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace inline_prof::session {

class Session;

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

}  // namespace inline_prof::session
