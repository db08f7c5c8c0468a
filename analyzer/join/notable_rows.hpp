// The rows that a report speaks of in words.  Rows that enclose others do not count: the prediction
// of a region is that of its parts.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::join {

// Pointers into Analysis::merged; null where there is no such row.
struct NotableRows {
  std::vector<const MergedRow*> slow;      // largest share first
  double slow_percent = 0.0;               // of the iteration, together
  std::size_t judged = 0;                  // that a prediction with an interval is held against
  std::size_t upper_bounds = 0;            // that may be slow, or only launched late
  const MergedRow* unpredicted = nullptr;  // the largest that is measured and not predicted
};

[[nodiscard]] NotableRows notable_rows(const Analysis& analysis);

// Returns the merged rows that were measured alone and have a time, those first that lose most in
// the run.
[[nodiscard]] std::vector<const MergedRow*> isolated_by_loss(const Analysis& analysis);

// The samples that the events of the first file lack.
struct MissingSamples {
  std::int64_t events = 0;
  std::int64_t graph_nodes = 0;  // among them: one takes all its samples before the next begins
  std::int64_t without = 0;      // that have none, and should
  std::int64_t left_out = 0;     // by the schedule; not among the events
  std::int64_t few = 0;          // that have too few for an interval
  std::int64_t repeat = 0;       // as the run was asked for
  std::int64_t warmup_iterations = 0;

  [[nodiscard]] std::int64_t steps(std::int64_t samples) const {
    constexpr std::int64_t until_clone = 12;  // its graph's clone is built, and launched 10 times
    return events * samples + graph_nodes * until_clone + warmup_iterations;
  }
};

// An interval of a median needs as many.
inline constexpr std::int64_t kLeastSamples = 6;

// True for an event of a run that came to its end which nobody asked for.
[[nodiscard]] bool is_left_out(const Row& row, const read::Profile& profile);

// Empty where more steps would not help, or their number is not known.
[[nodiscard]] std::optional<MissingSamples> missing_samples(const Analysis& analysis);

// Its prediction is a bare bound, without an interval.
[[nodiscard]] bool is_bound(const MergedRow& row);

struct OrderedRow {
  std::size_t row = 0;    // index into Analysis::merged
  std::size_t depth = 0;  // how many regions enclose it
};

struct RowOrder {
  std::vector<OrderedRow> rows;
  // Left out: rows without a time and a prediction, and so are those inside them.
  std::size_t nothing_known = 0;
  std::size_t other_layers = 0;  // left out, too
};

// Merged rows as a person reads them: the largest first, inner rows below their region, at most
// `top` of them (0: all), and of layers whose end fits the glob if there is one.  Rows of unknown
// time come last.
[[nodiscard]] RowOrder row_order(const Analysis& analysis, std::size_t top,
                                 std::string_view layers = {});

}  // namespace inline_prof::join
