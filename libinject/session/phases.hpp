// A program does not launch the same in all its iterations: it captures graphs after some, trains
// and evaluates in turn, changes its batch.  Iterations that launch the same are a phase, and an
// event list, with its samples, belongs to one.
//
// Some iterations are compared with the warm-up: all their launches are counted.  These are the
// first ones that are measured, which tell how much iterations differ anyway; one in 32, or in 8 if
// there are several phases; and the one behind an iteration in which an armed event was not
// launched as expected.  If three in a row differ, the phase is left, and the warm-up begins again.
// An iteration that is known from another phase ends it at once: that phase goes on where it
// stopped.
#pragma once

#include "hook/launch.hpp"
#include "schedule/plan.hpp"
#include "session/adaptive_controller.hpp"
#include "session/launch_site.hpp"
#include "sys/clock.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace inline_prof::session {

class Session;

// Events that are measured in the same iteration: one name on all devices and streams.
struct Target {
  std::vector<record::EventRecord*> events;
};

// The targets of a phase, and how far their measurement has come.
struct Course {
  std::vector<Target> targets{};
  schedule::Plan plan{};
  std::size_t plain_targets = 0;  // the first ones; kernels inside graphs are measured afterwards
  std::vector<std::size_t> in_graphs{};            // targets that are such kernels
  std::unique_ptr<AdaptiveController> adaptive{};  // null for the other policies
  bool is_settled = false;                         // said what is missing of its samples
  std::int64_t position = 0;  // of the last iteration, while the program is in another phase
  std::vector<std::uint64_t> signatures{};  // of iterations
};

// With the session's mutex held, unless noted.
class Phases {
 public:
  explicit Phases(Session& session) : session_(session) {}

  [[nodiscard]] Course& course() noexcept { return current_; }
  // Number of the present phase, in RunRecord::phases.
  [[nodiscard]] int index() const noexcept { return index_; }
  // The iteration before its first one.
  [[nodiscard]] std::int64_t start() const noexcept { return start_; }
  void begin_after(std::int64_t iteration) noexcept { start_ = iteration; }
  // When profiling began, by sys::monotonic_seconds().  Needs no mutex.
  [[nodiscard]] double began_s() const noexcept { return began_s_; }
  // Number of an iteration in the present phase, counted from 1.
  [[nodiscard]] std::int64_t position_of(std::int64_t iteration) const noexcept {
    return iteration - start_;
  }
  [[nodiscard]] bool some_are_planned() const noexcept { return !courses_.empty(); }
  [[nodiscard]] std::size_t planned_count() const noexcept { return courses_.size(); }
  // The last iteration that was found to be this phase's.
  [[nodiscard]] std::int64_t last_good() const noexcept { return comparison_.last_good; }

  // Counts a launch of a compared iteration, before it is made.  Needs no mutex.
  void compare(const hook::Launch& launch);
  // Called each second: where no iteration has begun since the last call, launches are counted
  // until one does, or until they are too many for one.
  void watch(std::int64_t iteration);
  // True if another phase may be searched for.  Needs no mutex.
  [[nodiscard]] bool may_find_another() const;

  // An iteration starts, and the one before was `was_void`, no whole one: true if the phase was
  // left, and the warm-up begins with it.
  [[nodiscard]] bool has_left(std::int64_t iteration, bool was_void);
  // The next measured iteration begins the characterisation anew: all phases lose their samples,
  // and the warm-up begins with it.  Returns an empty string, or why that cannot be.
  [[nodiscard]] std::string ask_to_begin_anew();
  // Ends the phase after iteration `last`; if none is left, there was no such phase.
  void leave(std::int64_t last, std::string reason);

  // An iteration of the warm-up has ended: true if a known phase goes on with the next.
  [[nodiscard]] bool is_known_iteration();
  // True if what was discovered is that of a known phase, which goes on.
  [[nodiscard]] bool go_on_with_known();
  // Gives the events of a phase without any layer those of an earlier phase's events of their
  // names: PyTorch's hooks are not set again where that would compile the program anew.
  void take_layers_of_earlier();
  // A watched run lasts for weeks: one of the renewals of the warm-up that are left becomes free.
  void forgive_renewal() noexcept;
  // The search after a phase found no new iterations.
  void stop_search();

  // The plan of a new phase is made; with the record's mutex held, too.
  void note();
  // Likewise; more is known of the iterations of the present phase.
  void note_confidence(double confidence);
  // The warm-up is over.
  void measure();

  // The present phase has all its samples: true as long as others are waited for.
  [[nodiscard]] bool waits_for_others();
  // True if a kernel inside a graph was to be measured, and nothing was tried: its phase came back
  // without the graph, or ended first.
  [[nodiscard]] bool some_in_graphs_had_no_turn() const;
  // The run is over: says what is missing in the other phases.
  void settle_others();

 private:
  // Whether iterations still launch what they launched in the warm-up.
  struct Comparison {
    std::vector<double> first_deviations{};
    double most = 0;    // of a deviation, as long as nothing has changed
    int differing = 0;  // iterations in a row
    std::int64_t last_good = 0;
    std::int64_t next_hint = 0;
    int hints_in_vain = 0;
    bool has_other_grids = false;  // that is what differs in the last one
    bool is_put_off = false;       // what hints at another phase may have another cause
  };

  [[nodiscard]] bool are_followed() const;
  [[nodiscard]] bool is_current(const record::EventRecord& event) const;
  [[nodiscard]] bool has_record() const;
  [[nodiscard]] std::uint64_t signature() const;
  [[nodiscard]] int phase_with(std::uint64_t signature) const;
  [[nodiscard]] double take_deviation();
  [[nodiscard]] bool is_another(double deviation);
  [[nodiscard]] bool is_hinted_at(std::int64_t iteration);
  void begin_counting_anew();
  void reset_comparison(std::int64_t last_good);
  void stop_comparing();
  void end_stretch(std::int64_t last);
  void go_on_with(int phase);
  void measure_nothing();
  void begin_anew(std::int64_t iteration);

  Session& session_;
  Course current_;
  std::vector<Course> courses_;  // by phase; that of the present one is empty
  int index_ = 0;
  std::int64_t start_ = 0;
  const double began_s_ = sys::monotonic_seconds();
  double phase_began_s_ = 0;
  std::string reason_ = "the first iterations";
  Comparison comparison_;
  bool is_asked_to_begin_anew_ = false;
  std::atomic<std::uint64_t> foreign_launches_{0};  // of kernels that the warm-up has not met
  std::atomic<int> renewals_{0};                    // how often the warm-up has begun again
  bool has_said_that_there_are_too_many_ = false;
  // Iterations that were compared, and those that differed between others that did not.
  std::int64_t compared_ = 0;
  std::int64_t briefly_other_ = 0;
  int brief_visits_ = 0;
  std::int64_t idle_iterations_ = 0;
  // If no iteration has begun for a second, launches are counted until one does.
  std::int64_t watched_ = 0;  // iteration
  std::atomic<bool> is_watching_{false};
  std::atomic<std::int64_t> launches_left_{0};  // until the iterations count as over
};

}  // namespace inline_prof::session
