// Prints the progress on stderr, for a user who waits.
#pragma once

#include <cstdint>

namespace inline_prof::session {

class Session;

class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}

  // Called at an iteration's start, with the session's mutex held: prints a line every few seconds.
  // Only if INLINE_PROF_PROGRESS asks for it, and on rank 0 alone.
  void report(std::int64_t iteration);

 private:
  // Iterations until the last sample; below 0 if that is not known.
  [[nodiscard]] std::int64_t iterations_left(std::int64_t iteration) const;

  Session& session_;
  std::int64_t first_second_ = 0;
  std::int64_t first_iteration_ = 0;
  std::int64_t last_second_ = 0;
};

}  // namespace inline_prof::session
