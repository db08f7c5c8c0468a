// The run's iterations: warm-up, plan, what each measures, overhead measurement, end.  With the
// session's mutex held.
#pragma once

#include <cstdint>
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
  };

  void start_in_warmup(std::int64_t iteration);
  void start_measured_iteration(std::int64_t iteration);
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
};

}  // namespace inline_prof::session
