// The run's iterations: warm-up, plan, what each measures, overhead measurement, end.  With the
// session's mutex held.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace inline_prof::session {

class Session;

class RunController {
 public:
  explicit RunController(Session& session) : session_(session) {}

  // True once the run is over.
  [[nodiscard]] bool start_iteration();

  // True once every requested sample has been recorded.
  [[nodiscard]] bool everything_was_recorded() const;

  // Every sample of the characterisation is there: what can be said of it is.
  void close_characterisation();
  // Writes the notes that can only be written once the run is over.
  void close_record();

 private:
  // The targets of one iteration.
  struct Choice {
    enum class Kind { kNothing, kTargets, kEverything, kOver } kind = Kind::kNothing;
    std::vector<std::size_t> targets{};

    // Nothing where there are no targets.
    [[nodiscard]] static Choice of(std::vector<std::size_t> targets) {
      const Kind kind = targets.empty() ? Kind::kNothing : Kind::kTargets;
      return {.kind = kind, .targets = std::move(targets)};
    }
  };

  void start_in_warmup(std::int64_t iteration);
  void start_measured_iteration(std::int64_t iteration);
  void leave_out_pass();
  [[nodiscard]] bool is_fresh_start(std::int64_t position) const;
  [[nodiscard]] Choice choose(std::int64_t iteration);
  [[nodiscard]] Choice choose_in_one_shot(std::int64_t iteration) const;
  [[nodiscard]] Choice choose_by_need(std::int64_t iteration);
  [[nodiscard]] Choice choose_from_plan(std::int64_t iteration) const;
  [[nodiscard]] Choice choose_for_overhead(std::int64_t iteration) const;
  [[nodiscard]] Choice choose_inside_graphs();
  void carry_out(const Choice& choice, std::int64_t iteration);

  Session& session_;
  int draining_iterations_ = 0;
  std::vector<std::int64_t> passes_left_out_;  // by phase; no iterations
};

// The overhead measurement after the last sample: blocks of iterations, armed, not armed, not
// armed, armed, and again.  With the session's mutex held, unless noted.
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

// Prints the progress on stderr, for a user who waits.
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
