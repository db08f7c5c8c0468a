// The overhead measurement after the last sample: blocks of iterations, armed, not armed, not
// armed, armed, and again.  With the session's mutex held, unless noted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::session {

class Session;

class Overhead {
 public:
  explicit Overhead(Session& session) : session_(session) {}

  // Remembers the targets of an armed iteration, which are armed again.
  void note_armed(const std::vector<std::size_t>& targets);
  // Also while the overhead is measured, whose armed iterations are like this one.
  void note_everything_armed() { armed_lately_.assign(1, {}); }
  void forget_armed() noexcept { armed_lately_.clear(); }

  // False if overhead is not to be measured, or there is nothing to arm.
  [[nodiscard]] bool begin(std::int64_t iteration);
  [[nodiscard]] bool is_over(std::int64_t iteration) const noexcept { return iteration >= end_; }
  // The targets of the iteration; none in a block that is not armed.
  [[nodiscard]] std::optional<std::vector<std::size_t>> targets_of(std::int64_t iteration) const;

  // Writes the iteration times of the complete blocks, without the first ones of each block, in
  // which the GPU may still have worked on the previous block.
  void gather();

 private:
  [[nodiscard]] bool is_armed(std::int64_t iteration) const noexcept;

  Session& session_;
  std::int64_t first_ = 0;  // iteration
  std::int64_t block_ = 0;  // iterations of a block
  std::int64_t lead_ = 0;   // iterations by which the application may run ahead of the GPU
  std::int64_t end_ = 0;    // the iteration after the last block
  std::vector<std::vector<std::size_t>> armed_lately_;
};

}  // namespace inline_prof::session
