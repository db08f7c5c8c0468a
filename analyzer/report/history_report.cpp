#include "base/median.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace inline_prof::report {
namespace {

std::string layer_words(const join::RunChange& change) {
  if (change.is_iteration && change.layers.empty()) return "the iteration";
  if (change.is_everything) return "all kernels";
  if (change.layers.empty()) return "kernels";
  std::string first = fmt::format("{} {}", change.is_iteration ? "collectives of" : "layer",
                                  printable(change.layers.front().str()));
  if (change.layers.size() == 1) return first;
  return fmt::format("{} and {} more", first, change.layers.size() - 1);
}

std::string rank_words(const join::WatchedRun& run, const std::vector<std::size_t>& ranks) {
  if (run.ranks.size() < 2) return {};
  if (ranks.size() == 1) return " of " + join::name_of(run, ranks.front());
  if (ranks.size() == run.ranks.size()) return fmt::format(" of all {} ranks", ranks.size());
  constexpr std::size_t most_names = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most_names, ranks.size()); ++i)
    names.push_back(join::name_of(run, ranks[i]));
  return fmt::format(" of {} of {} ranks ({}{})", ranks.size(), run.ranks.size(),
                     fmt::join(names, ", "), ranks.size() > most_names ? ", ..." : "");
}

template <typename Items>
std::size_t shown_of(const Items& items, std::size_t top) {
  return top == 0 ? items.size() : std::min(top, items.size());
}

// Returns the median of some columns; NaN if none is known.
double median_of(const join::Series& series, std::size_t begin, std::size_t end) {
  std::vector<double> known;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isnan(series[i])) known.push_back(series[i]);
  }
  return known.empty() ? std::numeric_limits<double>::quiet_NaN() : base::median_in_place(known);
}

}  // namespace

std::string change_words(const join::WatchedRun& run, const join::RunChange& change) {
  const bool is_slower = change.ratio > 1;
  const auto turned = [&](double ratio) { return is_slower ? ratio : 1 / ratio; };
  const double lower = turned(is_slower ? change.ratio_ci95.lower : change.ratio_ci95.upper);
  const double upper = turned(is_slower ? change.ratio_ci95.upper : change.ratio_ci95.lower);
  std::string text = fmt::format(
      "{}{} became {:.3f} times {} [{:.3f}, {:.3f}] at {}, iteration {}", layer_words(change),
      rank_words(run, change.ranks), turned(change.ratio), is_slower ? "slower" : "faster", lower,
      upper, join::minute_words(change.began_s), grouped(change.began_iteration));
  if (!change.reason.empty()) text += ": " + printable(change.reason);
  if (change.is_iteration && change.reason.empty())
    text += change.layers.empty()
                ? ": no kernel of its own did, so look at the host, the input or the network"
                : ": they wait for other ranks";
  if (!change.waiting.empty())
    text += fmt::format("; {} other rank{} for it", change.waiting.size(),
                        change.waiting.size() == 1 ? " waits" : "s wait");
  return text;
}

std::string watched_words(const join::WatchedRun& run) {
  std::size_t processes = 0;
  for (const join::WatchedRank& rank : run.ranks)
    processes += rank.processes;
  std::string text = fmt::format("{}{} GPU{}", run.is_simulated ? kSimulatedWords : "",
                                 run.ranks.size(), run.ranks.size() == 1 ? "" : "s");
  if (!run.columns.empty())
    text += fmt::format(" from {} to {}", join::minute_words(run.columns.front().start_s),
                        join::minute_words(run.until_s));
  if (processes > run.ranks.size())
    text += fmt::format(", started {} times again", processes - run.ranks.size());
  text += fmt::format("; {} pairs of events", grouped(run.pairs));
  if (run.cost_share)
    text += fmt::format(", at most {:.3g} % of the time (budget {:.3g} %)", 100 * *run.cost_share,
                        100 * run.budget);
  return text;
}

void add_watched(std::string& out, const join::WatchedRun& run, std::size_t top,
                 std::size_t width) {
  add_labelled(out, "watched", watched_words(run), width);
  for (std::size_t i = 0; i < shown_of(run.recurrences, top); ++i) {
    const join::Recurrence& one = run.recurrences[i];
    add_labelled(out, one.cause, printable(one.what), width);
    for (const std::string& evidence : one.evidence)
      add_labelled(out, "", "- " + printable(evidence), width);
  }
  if (run.recurrences.empty())
    add_labelled(out, "recurring", "nothing: no rank, and no time, is slower than the others",
                 width);
  const std::size_t shown = shown_of(run.changes, top);
  for (std::size_t i = run.changes.size() - shown; i < run.changes.size(); ++i)
    add_labelled(out, "changed", change_words(run, run.changes[i]), width);
  if (run.changes.empty()) add_labelled(out, "changed", "nothing", width);
  if (shown < run.changes.size())
    add_labelled(out, "", fmt::format("{} older changes left out", run.changes.size() - shown),
                 width);
}

std::string history_text(const join::WatchedRun& run, std::size_t top, std::size_t width) {
  std::string out;
  add_watched(out, run, top, width);
  out += fmt::format("\n{:>10} {:>10} {:>7}  {}\n", "first us", "last us", "times",
                     "layers, raw times: the first and the last tenth of the history");
  const std::size_t columns = run.columns.size();
  const std::size_t tenth = std::max<std::size_t>(columns / 10, 1);
  for (std::size_t i = 0; i < shown_of(run.layers, top) && columns > 0; ++i) {
    const join::Series& us = run.layers[i].us;
    const double before = median_of(us, 0, tenth);
    const double after = median_of(us, columns - tenth, columns);
    out += fmt::format("{:>10.2f} {:>10.2f} {:>7.3f}  {}\n", before, after, after / before,
                       shortened(printable(run.layers[i].name.str()), width - 32));
  }
  if (shown_of(run.layers, top) < run.layers.size())
    out += fmt::format("and {} more, which take less\n", run.layers.size() - top);
  return out;
}

}  // namespace inline_prof::report
