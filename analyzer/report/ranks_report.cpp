#include "base/median.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

// The resolution of an event: below it nobody is last.
constexpr double kLeastWaitUs = 0.5;

std::string device_name(const join::RankDevice& device) {
  std::string name = device.host.empty() || device.is_named_twice ? device.file : device.host;
  if (device.rank) name += fmt::format(" rank {}", *device.rank);
  return printable(fmt::format("{} device {}", name, device.device_id));
}

std::string event_name(const std::string& layer, const std::string& event,
                       std::int64_t occurrence) {
  std::string name = layer.empty() ? "" : layer + " ";
  name += readable_name(event);
  if (occurrence > 0) name += fmt::format(" #{}", occurrence);
  return printable(name);
}

template <typename Items, typename Line>
void add_list(std::string& out, std::string_view title, std::string_view none, const Items& items,
              std::size_t top, const Line& line) {
  if (items.empty()) {
    out += fmt::format("\n{}\n", none);
    return;
  }
  out += fmt::format("\n{}\n", title);
  const std::size_t shown = top == 0 ? items.size() : std::min(top, items.size());
  for (std::size_t i = 0; i < shown; ++i)
    out += line(items[i]) + "\n";
  if (shown < items.size()) out += fmt::format("{} of {}\n", shown, items.size());
}

// Says how much longer the devices of a pattern take, as a whole and by event.
std::string pattern_lines(const join::RankPattern& pattern, std::size_t width) {
  constexpr std::size_t most_events = 3;  // --format json has all
  std::string lines = printable(
      fmt::format("  {} {}, {} devices", pattern.dimension, pattern.value, pattern.devices));
  if (pattern.ratio) lines += fmt::format(": {:.3f} times as a whole", *pattern.ratio);
  const std::size_t shown = std::min(most_events, pattern.events.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const join::RankPattern::Event& event = pattern.events[i];
    lines += fmt::format(
        "\n    {}\n      {:.2f} us, the others {:.2f} us, {:.3f} times; {} of {} devices",
        shortened(event_name(event.layer, event.event, event.occurrence),
                  std::max<std::size_t>(width, 24) - 4),
        event.time_us, event.median_us, event.ratio, event.slow_devices, event.devices);
  }
  if (shown < pattern.events.size())
    lines += fmt::format("\n    and {} events more", pattern.events.size() - shown);
  return lines;
}

std::string rank_numbers(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t most_ranks = 8;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most_ranks, ranks.size()));
  return fmt::format(
      "{}{}", fmt::join(ranks.begin(), ranks.begin() + shown, ", "),
      ranks.size() > most_ranks ? fmt::format(" and {} more", ranks.size() - most_ranks) : "");
}

// Says what a stage does in an iteration.  Its bubble is the time without any of its own work.
std::string stage_lines(std::size_t number, const join::PipelineStage& stage) {
  constexpr double most_unmeasured = 0.02;
  const join::StageTimes& times = stage.times;
  std::string lines = fmt::format("  stage {}: rank {}\n", number, rank_numbers(stage.ranks));
  if (times.unmeasured_part > most_unmeasured)
    return lines + fmt::format("    not known: {:.0f} % of its events have no sample\n",
                               100 * times.unmeasured_part);
  lines += fmt::format(
      "    computes {:.1f} us, collectives {:.1f} us, sends {:.1f} us, receives {:.1f} "
      "us, both at once {:.1f} us\n",
      times.computing_us, times.collectives_us, times.sends_us, times.receives_us,
      times.exchanges_us);
  if (times.iteration_us) {
    const double bubble_us =
        std::max(0.0, *times.iteration_us - times.computing_us - times.collectives_us);
    lines += fmt::format(
        "    bubble {:.1f} us, {:.1f} % of {:.1f} us: waiting for other stages, or idle\n",
        bubble_us, 100 * bubble_us / *times.iteration_us, *times.iteration_us);
  }
  const double links_us = times.sends_us + times.receives_us + times.exchanges_us;
  if (times.predicted_us && links_us > *times.predicted_us)
    lines += fmt::format(
        "    {:.1f} us of its sends and receives are waiting: the transfers are "
        "predicted to take {:.1f} us\n",
        links_us - *times.predicted_us, *times.predicted_us);
  return lines;
}

}  // namespace

std::string ranks_table(const join::RankComparison& comparison, const TableOptions& options) {
  const auto fitting = [&](const std::string& text, std::size_t taken) {
    return shortened(text, std::max<std::size_t>(options.width, taken + 20) - taken);
  };
  const bool has_stages = !comparison.stages.empty();
  std::size_t compared = has_stages ? 0 : comparison.devices;
  for (const join::PipelineStage& stage : comparison.stages)
    compared = std::max(compared, stage.ranks.size());
  const auto none = [&](std::string_view what, std::string_view untold) {
    return compared >= 3 ? std::string(what)
                         : fmt::format("fewer than three devices{}: {} cannot be told",
                                       has_stages ? " in a stage" : "", untold);
  };
  std::string out(comparison.is_simulated ? kSimulatedWords : "");
  out +=
      !has_stages
          ? fmt::format("{}, {} events each; raw times{}\n", counted(comparison.devices, "device"),
                        comparison.events, comparison.watched ? ", the newest of each event" : "")
          : fmt::format(
                "{} devices in {} stages of a pipeline, all that a rank holds being one, "
                "each compared with those of its stage; raw times\n",
                comparison.devices, comparison.stages.size());
  if (!comparison.phase.empty()) add_labelled(out, "phase", comparison.phase, options.width);
  if (comparison.watched) add_watched(out, *comparison.watched, options.top, options.width);
  if (has_stages) {
    out += "\nstages: an iteration's time, less what event pairs add\n";
    for (std::size_t i = 0; i < comparison.stages.size(); ++i)
      out += stage_lines(i, comparison.stages[i]);
  }
  if (!comparison.patterns.empty()) {
    add_list(out, "patterns: what the devices at one position need longer for than the others", "",
             comparison.patterns, options.top, [&](const join::RankPattern& pattern) {
               return pattern_lines(pattern, options.width);
             });
  }
  add_list(out, "slow devices: median over their time, beside that of all devices",
           none("no device is slower than the others as a whole", "which is slow"),
           comparison.slow_devices, options.top, [&](const join::Straggler& slow) {
             std::string line = fmt::format("  {}: {:.3f} times",
                                            fitting(device_name(slow.device), 18), slow.ratio);
             if (slow.of_predicted)
               line += fmt::format("\n    {:.2f} times what is predicted, all devices {:.2f} times",
                                   *slow.of_predicted, *slow.others_of_predicted);
             return line;
           });
  add_list(
      out, "stragglers: events that one device needs longer for than the others",
      none("no device needs longer for an event than the others",
           "which of their events are slow") +
          (comparison.events_of_few_samples == 0 || compared < 3
               ? ""
               : fmt::format("\n  of {} this cannot be told: fewer than {} samples on some device",
                             counted(comparison.events_of_few_samples, "event"),
                             join::kLeastRankSamples)),
      comparison.stragglers, options.top, [&](const join::Straggler& slow) {
        const std::string times = fmt::format("{:.2f} us, the others {:.2f} us, {:.3f} times",
                                              slow.time_us, slow.median_us, slow.ratio);
        return fmt::format("  {}\n    {}: {}",
                           fitting(event_name(slow.layer, slow.event, slow.occurrence), 2),
                           fitting(device_name(slow.device), 6 + times.size()), times);
      });
  if (!comparison.collectives.empty() || !comparison.unsplit.empty()) {
    add_list(
        out, "collectives: transfer is the least of all devices, the rest is waiting",
        "no collective could be split into transfer and waiting", comparison.collectives,
        options.top, [&](const join::CollectiveSplit& split) {
          const bool is_waiting = split.wait_us >= kLeastWaitUs;
          const std::string group =
              split.ranks.empty() ? "" : " of ranks " + rank_numbers(split.ranks);
          std::string lines = fmt::format(
              "  {}{}\n    transfer {:.2f} us, {}{}",
              fitting(event_name(split.layer, split.event, split.occurrence), 2 + group.size()),
              group, split.transfer_us,
              is_waiting ? fmt::format("waiting {:.2f} us, ", split.wait_us) : "",
              split.iterations == 0 ? "medians of different iterations"
                                    : counted(split.iterations, "iteration"));
          if (split.predicted_us)
            lines += fmt::format("\n    predicted {:.2f} us: the transfer takes {:.2f} times that",
                                 *split.predicted_us, *split.ratio);
          if (!is_waiting || !split.last) return lines;
          return lines +
                 fmt::format("\n    last to arrive: {}", fitting(device_name(*split.last), 20));
        });
  }
  if (!comparison.warnings.empty()) out += '\n';
  for (const std::string& warning : comparison.warnings)
    add_labelled(out, "warning", warning, options.width);
  std::map<std::string_view, std::vector<std::string_view>> unsplit;  // by reason
  for (const std::string_view words : comparison.unsplit) {
    const std::size_t end = words.rfind(": ");
    unsplit[words.substr(end)].push_back(words.substr(0, end));
  }
  for (const auto& [reason, names] : unsplit)
    add_labelled(
        out, "not split",
        fmt::format("{}{}{}", names.front(),
                    names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "", reason),
        options.width);
  return out;
}

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
  std::string text =
      (run.is_simulated ? std::string(kSimulatedWords) : "") + counted(run.ranks.size(), "GPU");
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
