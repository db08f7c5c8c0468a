// After the characterisation of a phase: goes on measuring within a share of the time, for as long
// as the program runs.
//
// Our own thread chooses what the coming iterations measure, a second ahead; most measure nothing,
// and then the application's thread reads one number.  It also reads the finished pairs, keeps the
// histories and looks for changes.  A pair costs the GPU two event records, and the launching
// thread what the clock has shown; the larger one counts.  If more was spent than the share allows,
// chosen iterations are left out until it is saved again.
#pragma once

#include "record/run_record.hpp"
#include "session/watch_budget.hpp"
#include "timer/context_timer.hpp"
#include "watch/change_point.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::session {

class Session;
struct StreamInfo;

class Watching {
 public:
  explicit Watching(Session& session) : session_(session) {}

  // True if the run is to go on once its events are characterised.
  [[nodiscard]] bool is_wanted() const;

  // Without the mutex.

  // The run has gone on; it stays true unless the characterisation begins anew.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_.load(); }
  // The present phase is watched.
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }
  // An iteration starts: true if nothing is to be done, and it has been counted.
  [[nodiscard]] bool passes_over() noexcept;
  // Nothing is measured meanwhile, and phases are not followed.
  void pause(bool wanted) noexcept { is_paused_.store(wanted, std::memory_order_relaxed); }
  [[nodiscard]] bool is_paused() const noexcept {
    return is_paused_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] WatchBudget& budget() noexcept { return budget_; }

  // With the session's mutex held.

  // The present phase has all its samples.
  void begin();
  void forget_characterisation() noexcept { has_begun_.store(false); }
  // The next iteration is not passed over.
  void look_now() noexcept { next_work_.store(0); }
  // The present phase has ended.
  void stop() noexcept;
  // Ends what is timed of the iteration that is over, which `was_void`, no whole one.
  void end_iteration(bool was_void) noexcept;
  // Returns the targets that this iteration measures, and begins to time it if it is chosen.
  [[nodiscard]] std::vector<std::size_t> start_iteration(std::int64_t iteration);
  // The samples that were read on other threads than ours come here.
  [[nodiscard]] timer::WatchedSamples& inbox() noexcept { return inbox_; }
  // The program has left its iterations, and no others were found: they are searched for again
  // later.
  void note_lost_iterations() noexcept { lost_s_ = seconds_now(); }
  // The context is about to be destroyed.
  void lose_context(const timer::ContextTimer& timer) noexcept;
  // Iterations from one comparison of the launches with the warm-up's to the next.
  [[nodiscard]] std::int64_t compare_every() const noexcept { return compare_every_; }
  // The launches of the iteration that begins are compared.
  void note_comparison() noexcept;

  // On the writer's thread.

  // True unless no iteration has begun for so long that the program may have left its loop.
  [[nodiscard]] bool waits_for_iteration() noexcept;
  // Reads what has finished, keeps it, and chooses for the next iterations.
  void every_second();
  // Chooses for the first iterations of a phase that begins.
  void plan_new_phase();
  // Brings the record up to date, without a word to the driver: before the file is written.
  void update_record();

 private:
  struct Planned {
    std::int64_t iteration = 0;
    bool is_timed = false;  // as a whole
    std::vector<std::size_t> targets{};
    std::optional<std::size_t> in_graph{};  // a target whose turn it is
  };
  // The iteration's weight comes first, then those of the targets.
  struct Choices {
    int generation = -1;
    std::vector<double> weights{};
    double records_per_target = 1;
    std::vector<std::size_t> graph_targets{};
    std::vector<double> graph_weights{};  // of these
    double graph_part = 0;                // of all pairs
  };

  struct Reported {
    double began_s = 0;
    bool is_slower = false;
  };

  static constexpr std::size_t kNoLayer = ~std::size_t{0};
  struct Layer {
    std::string name{};
    int device_id = 0;
    double ns = 0;
    std::optional<watch::ChangeDetector> detector{};
  };
  // An event as it was characterised.
  struct Reference {
    explicit Reference(double time_ns) : ns(time_ns) {}
    double ns;
    std::size_t layer = kNoLayer;  // in `layers_`
  };

  void read_pairs();
  void take(timer::WatchedSamples& samples);
  void report(std::vector<record::FoundChange> found);
  void tell_command(const record::FoundChange& found, std::string text);
  [[nodiscard]] bool is_reported(const watch::ChangeGroup& group);
  void measure_pace();
  void forgive();
  void choose_weights();
  [[nodiscard]] double bias_ns_of(int device_id);
  void find_layers(std::vector<const record::EventRecord*> events);
  void add_to_layer(const record::EventRecord& event, double now, std::int64_t iteration,
                    double time_ns, std::vector<record::FoundChange>& found);
  void plan_ahead();
  [[nodiscard]] double pairs_per_iteration() const;
  // Chooses for the iterations from `first` to `last`, at most `most` of them; `until`: the last
  // one that was looked at.
  [[nodiscard]] std::vector<Planned> choose(std::int64_t first, std::int64_t last, std::size_t most,
                                            std::int64_t& until) const;
  // Returns the kernel inside a graph whose turn it is in the iteration.
  [[nodiscard]] std::optional<std::size_t> choose_in_graph(std::int64_t iteration,
                                                           double pairs) const;
  // More events than there is memory for: the least ones have no weight.
  static void drop_lightest(Choices& choices, std::size_t most_records);
  [[nodiscard]] double seconds_now() const;
  [[nodiscard]] record::EventRecord& iteration_of(int phase);
  void begin_timing_iteration(std::int64_t iteration) noexcept;
  [[nodiscard]] std::int64_t next_comparison(std::int64_t iteration) const noexcept;

  Session& session_;
  std::atomic<bool> is_on_{false};
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_paused_{false};
  std::atomic<std::int64_t> next_work_{0};  // the first iteration that is not passed over
  WatchBudget budget_;

  // With the session's mutex held.
  int generation_ = 0;  // of the targets: each phase that begins has one
  std::deque<Planned> planned_;
  std::int64_t planned_until_ = 0;  // iteration
  timer::WatchedSamples inbox_;
  timer::ContextTimer::Pair* iteration_pair_ = nullptr;
  const StreamInfo* iteration_stream_ = nullptr;
  const void* iteration_handle_ = nullptr;      // of that stream
  std::deque<record::EventRecord> iterations_;  // stand for whole iterations, by phase
  std::int64_t compare_every_ = 1;
  double lost_s_ = 0;  // 0: they are not lost

  // The writer's thread alone, but for the end of the process.
  std::mutex taking_;
  timer::WatchedSamples read_;
  Choices choices_;
  std::unordered_map<const record::EventRecord*, watch::ChangeDetector> detectors_;
  std::size_t series_ = 0;
  std::unordered_map<const record::EventRecord*, Reference> references_;
  std::vector<Layer> layers_;       // of all phases
  std::vector<Reported> reported_;  // the newest ones
  double last_look_s_ = 0;
  std::int64_t last_iteration_ = 0;
  double iteration_s_ = 0;      // how long one takes, by our clock; 0: not known
  double last_progress_s_ = 0;  // when an iteration had begun since the look before
  std::int64_t iterations_watched_ = 0;
  std::size_t histories_ = 0;
  std::uint64_t bytes_ = 0;  // of the histories and detectors
  std::uint64_t host_bytes_before_ = 0;
  double forgiven_s_ = 0;  // when a phase was last allowed
  bool has_said_who_is_left_out_ = false;
  std::atomic<std::int64_t> launches_{0};  // of an iteration
};

}  // namespace inline_prof::session
