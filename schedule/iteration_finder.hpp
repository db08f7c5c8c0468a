// Finds the iteration of a program in the order in which one stream's kernels are launched.
//
// A program is taken to iterate once the launches between two occurrences of an anchor, a kernel or
// three kernels in a row, have been the same often enough (needed_segments() in
// schedule/recurrence.hpp): 9 times for an iteration of 456 launches and more, 41 times for one of
// 100, 4096 launches in any case; half as many for one that no loop in a set-up looks like, and 20
// times where the host waits, or another thread goes on, at the same places in each.  What may
// differ: launches that depend on data, and evaluations between iterations.  No period is reported
// for programs without one.
//
// Launches of one kernel in a row are one occurrence of it.  The host's waits are an anchor as
// well.
//
// Of nested periods the outermost is taken that has been seen often enough: what comes at every
// n-th repetition of a block, a network's head or an optimizer's step, ends an iteration. Where
// nothing repeats evenly, each optimizer's step does: schedule/update_steps.hpp.
//
// Cost: a launch is appended to a log of bounded length; a look at the log visits a number of
// launches, and is put off until kWorkALaunch of them have been earned for each launch added.  So
// the search costs a bounded time a launch whatever the program does: 9 to 53 ns, 72 for a graph
// (tests/bench/finder_bench).  Memory: 6 MiB for the log, at most 11 MiB while it is looked at: 3
// for triples and positions, 8 for how often 16,384 kernels come in each of 128 segments.
#pragma once

#include "schedule/launch_log.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::schedule {

struct Cycle;
enum class Readings : std::uint8_t;

// An iteration starts at the `firsts_after_anchor`-th launch of `first` after a launch of `anchor`.
struct FoundIteration {
  std::uint32_t anchor = 0;             // launched once an iteration, as late in it as possible
  bool is_group = false;                // it is, several times, without `first` in between
  std::uint32_t first = 0;              // the iteration's first launch; may equal `anchor`
  std::size_t firsts_after_anchor = 1;  // at least 1
  std::size_t firsts_before_anchor =
      1;  // in an iteration, its first launch included; 0: any number
  std::size_t firsts_of_evaluation =
      0;  // between two iterations; 0: unknown, or not always as many
  // The order in which an iteration launches the two, from its beginning, true for `first`, if no
  // kernel is launched once an iteration. It is no repetition of a shorter one, unless its length
  // was given.
  std::vector<bool> word{};                // empty: `anchor` is launched once
  std::size_t launches_per_iteration = 0;  // median
  std::size_t periods_seen = 0;
  double confidence = 0;                        // 0..1, see IterationFinder
  std::optional<std::uint64_t> first_launch{};  // of the first iteration, counted from 0 over all
                                                // launches added; empty: it is no longer known, and
                                                // iterations are taken to end at the anchor
  // Launches of another period that the launches have too, within this one or of several of these;
  // given to a finder, it is found. 0: there is none.
  std::size_t other_period = 0;

  // Returns true if a follower finds the same beginnings.
  [[nodiscard]] bool begins_as(const FoundIteration& other) const {
    return anchor == other.anchor && first == other.first &&
           firsts_after_anchor == other.firsts_after_anchor && word == other.word;
  }
};

class IterationFinder {
 public:
  // The most launches that are kept; never fewer than half of them. Iterations of which ten fit are
  // found: 13,107 launches.
  static constexpr std::size_t kMostLaunches = LaunchLog::kMostLaunches;
  // Programs with more kernels than this on one stream are not searched.
  static constexpr std::size_t kMostKernels = std::size_t{16} << 10U;
  // The launches that may be visited again for each one added; for a graph, up to 128 times as
  // many.
  static constexpr std::ptrdiff_t kWorkALaunch = 8;
  // The same before any was added: a short program has few.
  static constexpr std::ptrdiff_t kWorkAtFirst = 8192;
  // The longest iteration that may be given.
  static constexpr std::size_t kLongestGiven = std::size_t{64} << 10U;  // launches

  // `period`: the launches of an iteration, if known: it begins where they begin to repeat, three
  // times in a row, and nothing else is searched for. 0: unknown.
  explicit IterationFinder(std::size_t period = 0) : period_(period) {}

  // Adds a launch: `symbol` stands for a kernel, or for a graph of `kernels` ones. Returns true if
  // found() has changed. The sequence is searched when it has grown by a third, or by a half since
  // an iteration was found, and when one that has been seen some times will have been seen often
  // enough. May allocate.
  // `updates`: it is a kernel of an optimizer's step.
  bool add(std::uint32_t symbol, std::uint32_t kernels = 1, bool updates = false) {
    const Added added = append(symbol, kernels, updates);
    return added == Added::kAndIsDue ? look() : added == Added::kAndChanged;
  }

  // The two parts of add(): a look takes 4 KiB of stack.
  enum class Added : std::uint8_t { kQuietly, kAndChanged, kAndIsDue };
  [[nodiscard]] Added append(std::uint32_t symbol, std::uint32_t kernels = 1, bool updates = false);
  // Searches the sequence. Returns true if found() has changed.
  [[nodiscard]] bool look();

  // Notes that the host waited for the device, or copied from or to it, after the launch added
  // last. If it does so in each iteration, this tells the end of an iteration from the end of a
  // set-up that has the same last launches.
  void add_wait();
  // Notes that another thread than the first launch's makes the next launch, as where a framework
  // has a thread for backward passes, or that the first one does again. A loop over layers is one
  // thread's.
  void add_turn();
  // Notes that ranks add up so many bytes. A group of gradients ends an iteration, or each of its
  // micro-steps; a sum of losses does not.
  void add_reduction(std::size_t bytes);

  // Checks the found iteration once more, before it is used. Returns true as add() does.
  bool confirm();

  // The confidence is the share of answers that were right over the programs of
  // tests/unit/schedule/recordings_test.cpp, as far as it can be told: (n + 1) / (n + 2) for n
  // periods, Laplace's rule of succession (P.-S. Laplace, Essai philosophique sur les
  // probabilites, 1814), times the share of launches that do not vary, and
  //   at most 0.88 up to 16 periods, and 0.9 below 64: equal iterations may be the micro-steps of a
  //   longer one
  //   at most 0.85 where launches vary by more than a quarter
  //   at most 0.84 where a part of it comes again and again in nine tenths of it: the part might be
  //   the iteration, and the rest a pause between some of them
  //   at most 0.45 where most launches are in what interrupts them, or this is longer and came
  //   first; where they update no parameters that are known by name, and this has many kernels of
  //   its own, or neither waits, threads nor reductions are in them, or waits in fewer than 16
  //   launches of which some are interrupted, or another thread is and some
  //   are interrupted or a twentieth varies; where several kernels come together in some of them
  //   alone, or two or three launches that the host waits for behind every n-th: these may be
  //   micro-steps; where what interrupts them comes often, but not regularly, and may be their
  //   beginning; where the beginning is not sure (Boundary::is_sure), or several iterations may be
  //   taken for one (holds_iterations() in iteration_boundary.cpp); where a follower misses a tenth
  //   of them; and where half as much as the iterations have was launched since the last one
  // halved where the boundary is not known
  //
  // What was found may change, or be withdrawn, while launches are added: twelve micro-steps look
  // like iterations until the optimizer's step comes.
  [[nodiscard]] const std::optional<FoundIteration>& found() const { return found_; }

  [[nodiscard]] std::uint64_t launch_count() const {
    return log_.dropped() + log_.launches().size();
  }

 private:
  // An anchor: the occurrences of a kernel, or of a kernel that two given ones follow, or of the
  // host's waits.
  struct Anchor {
    std::uint32_t kernel = 0;
    bool is_alone = true;
    bool is_wait = false;
    std::uint32_t second = 0;
    std::uint32_t third = 0;
  };
  struct Candidate {
    Anchor anchor{};
    std::size_t times = 0;
    std::size_t gap = 0;  // launches, median of the last ones
    std::size_t irregular = 0;
    bool is_unfinished = false;  // equal segments, but too few of them so far
    bool is_promising = false;   // half of them, at least
  };

  [[nodiscard]] std::vector<Candidate> kernels();
  [[nodiscard]] std::optional<Candidate> waits();
  [[nodiscard]] std::vector<Candidate> triples();
  void sort(std::vector<Candidate>& all) const;
  [[nodiscard]] static std::vector<Candidate>::iterator end_of_group(
      std::vector<Candidate>& all, std::vector<Candidate>::iterator group);
  [[nodiscard]] std::vector<std::uint32_t> positions(const Anchor& anchor, std::size_t most);
  [[nodiscard]] std::size_t fewest_segments(const Candidate& candidate);
  void look_after(std::size_t launches);
  // Returns a proven cycle, with its anchor in anchor_ and all its positions in positions_.
  [[nodiscard]] std::optional<Cycle> proven(Candidate& candidate, Readings readings,
                                            std::size_t& alike);
  [[nodiscard]] std::optional<Cycle> first_proven(std::vector<Candidate>& all, Readings readings);
  // Doubts what was found if its anchor has not been launched for long.
  void note_presence(std::uint32_t kernel);
  [[nodiscard]] std::size_t launches_since() const;
  [[nodiscard]] bool still_holds();
  [[nodiscard, gnu::cold]] bool settle_on(const Cycle& cycle);
  [[nodiscard]] Readings readings_of_anchor(Readings readings) const;
  // Returns true if the host's waits are where the iterations begin: little else is steady.
  [[nodiscard]] bool begins_at_waits(const Cycle& cycle) const;
  [[nodiscard, gnu::cold]] bool begin_with_varying(FoundIteration& found,
                                                   std::span<const std::uint32_t> starts);
  [[nodiscard, gnu::cold]] bool settle(const std::vector<std::uint32_t>& iteration,
                                       const Cycle& cycle, FoundIteration found,
                                       std::span<const std::uint32_t> starts);
  void doubt_what_is_not_followed(FoundIteration& found, const Cycle& cycle);
  // Returns true if it is another one than before.
  [[nodiscard]] bool take(FoundIteration found);
  [[nodiscard]] std::size_t firsts_of_evaluation(const FoundIteration& found) const;
  [[nodiscard]] bool given_is_seen();
  [[nodiscard]] bool settle_on_given();
  [[nodiscard]] bool would_be_found(std::size_t period) const;
  [[nodiscard]] bool give_up();

  std::size_t period_;
  std::size_t repeated_ = 0;  // launches in a row that are those of one period before
  LaunchLog log_{};
  std::uint64_t seen_ = 0;               // launches, those of graphs included
  std::uint64_t seen_at_anchor_ = 0;     // ... at the found anchor's last launch
  std::uint64_t next_look_at_seen_ = 0;  // ... by then
  std::uint64_t next_look_ =
      UINT64_MAX;  // launch_count() by then: something will have been seen often enough
  std::uint64_t soonest_look_ = 0;  // launch_count() by then, at least
  std::ptrdiff_t allowance_ = kWorkAtFirst;
  // The anchor that has to come so many times; 0: none.
  std::uint32_t awaited_ = 0;
  std::size_t awaited_runs_ = 0;
  bool gave_up_ = false;
  Anchor anchor_{};  // of the cycle that was found, or is being examined
  std::vector<std::uint32_t> positions_{};
  LaunchTriples triples_{};
  // By kernel: the number of launches before which it is not examined again.
  std::vector<std::uint64_t> next_try_{};
  std::optional<FoundIteration> found_{};
  bool boundary_is_sure_ = false;    // of what was found
  bool is_between_updates_ = false;  // what was found: see schedule/update_steps.hpp
};

}  // namespace inline_prof::schedule
