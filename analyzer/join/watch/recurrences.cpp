#include "base/median.hpp"
#include "join/watch/watched_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

constexpr double kMostRanks = 0.75;        // a change of this part of the ranks is the program's
constexpr double kMostOfHistory = 0.5;     // slow for this part of the time: always
constexpr std::size_t kNewestColumns = 3;  // slow in so many of the newest: by now
constexpr double kSomeOfHistory = 0.2;     // less than this part of the time is not worth a word

double length_s(const TimeColumn& column) {
  return column.end_s - column.start_s;
}

using Readings = std::vector<watch::MachineReading>;

// Returns what is known of a value from a time on.
std::vector<double> known_since(const Readings& readings, double since_s,
                                double watch::MachineReading::*value) {
  std::vector<double> found;
  for (const watch::MachineReading& reading : readings) {
    if (reading.time_s >= since_s && !std::isnan(reading.*value)) found.push_back(reading.*value);
  }
  return found;
}

// Says in which readings a rank differs from its peers since a time.
std::vector<std::string> machine_evidence(const WatchedRun& run, std::size_t rank, double since_s) {
  using R = watch::MachineReading;
  std::vector<std::string> evidence;
  // Returns a number of the rank's values, and the median of its peers'.
  const auto beside_peers = [&](double R::*value, const auto& number) {
    std::optional<double> own;
    std::vector<double> peers;
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const auto found = known_since(run.ranks[i].machine, since_s, value);
      if (found.empty()) continue;
      if (i == rank) {
        own = number(found);
      } else {
        peers.push_back(number(found));
      }
    }
    return std::pair(own,
                     peers.empty() ? std::nullopt : std::optional(base::median_in_place(peers)));
  };
  const auto middle = [](const std::vector<double>& found) { return base::median(found); };
  for (const auto& [value, name, unit, least, most] :
       {std::tuple(&R::sm_clock_mhz, "SM clock", "MHz", 0.97, 1e9),
        std::tuple(&R::memory_clock_mhz, "memory clock", "MHz", 0.97, 1e9),
        std::tuple(&R::temperature_c, "temperature", "C", 0.0, 1.12)}) {
    const auto [own, peers] = beside_peers(value, middle);
    if (own && peers && (*own < least * *peers || *own > most * *peers))
      evidence.push_back(fmt::format("{} {:.0f} {}, its peers {:.0f}", name, *own, unit, *peers));
  }
  for (const auto& [bit, name] : watch::kLowClockReasons) {
    const auto share = [bit = bit](const std::vector<double>& found) {
      const auto set = std::ranges::count_if(
          found, [&](double mask) { return (static_cast<std::uint64_t>(mask) & bit) != 0; });
      return static_cast<double>(set) / static_cast<double>(found.size());
    };
    const auto [own, peers] = beside_peers(&R::throttle_reasons, share);
    if (own.value_or(0) >= 0.1 && *own >= 2 * peers.value_or(0))
      evidence.push_back(fmt::format("{} in {:.0f} % of the readings", name, 100 * *own));
  }
  for (const auto& [value, name] :
       {std::pair(&R::ecc_errors, "ECC"), std::pair(&R::nvlink_errors, "NVLink")}) {
    const auto counts = known_since(run.ranks[rank].machine, since_s, value);
    if (!counts.empty() && counts.back() > counts.front())
      evidence.push_back(
          fmt::format("{:.0f} more {} errors", counts.back() - counts.front(), name));
  }
  return evidence;
}

// The columns in which a rank is slower than its peers.
struct SlowTime {
  double slow_s = 0.0;
  double known_s = 0.0;
  std::size_t first_of_newest = 0;  // slow from here to the end
  std::size_t newest = 0;           // so many columns
  std::vector<double> ratios;       // where slow

  [[nodiscard]] bool is_mostly() const { return known_s > 0 && slow_s >= kMostOfHistory * known_s; }
  [[nodiscard]] bool is_newly() const { return newest >= kNewestColumns; }
  [[nodiscard]] bool has_passed() const { return slow_s > 0 && newest == 0; }
};

SlowTime slow_time(const Series& relative, const std::vector<TimeColumn>& columns,
                   double least_ratio) {
  SlowTime time;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::isnan(relative[i])) continue;
    time.known_s += length_s(columns[i]);
    if (relative[i] < least_ratio) {
      time.newest = 0;
      continue;
    }
    if (time.newest++ == 0) time.first_of_newest = i;
    time.slow_s += length_s(columns[i]);
    time.ratios.push_back(relative[i]);
  }
  return time;
}

// Says that the iteration hides a slow rank where all ranks take the same for it.
void add_hidden(std::vector<std::string>& evidence, const WatchedRun& run, std::size_t rank,
                double ratio) {
  const auto iterations = relative_to_peers(run, &WatchedRank::iteration_us);
  const auto last = std::find_if(iterations[rank].rbegin(), iterations[rank].rend(),
                                 [](float one) { return !std::isnan(one); });
  if (last != iterations[rank].rend() && std::abs(*last - 1) < 0.2 * (ratio - 1))
    evidence.emplace_back("the iteration does not show it: its peers wait in collectives");
}

// Returns the ranks whose slowness is their own, by host.  Where ranks take turns, the last of them
// needs a reading of its machine that says so.
std::map<std::string, std::vector<std::size_t>> always_slow(const WatchedRun& run,
                                                            const std::vector<SlowTime>& slow) {
  constexpr std::ptrdiff_t turns = 2;  // of ranks that were slow and are no more
  const bool is_changing = std::ranges::count_if(slow, &SlowTime::has_passed) >= turns;
  std::map<std::string, std::vector<std::size_t>> of_host;
  for (std::size_t rank = 0; rank < slow.size(); ++rank) {
    const SlowTime& time = slow[rank];
    if (time.is_mostly() ||
        (time.is_newly() &&
         (!is_changing ||
          !machine_evidence(run, rank, run.columns[time.first_of_newest].start_s).empty())))
      of_host[run.ranks[rank].host].push_back(rank);
  }
  return of_host;
}

// Returns the ranks that it names.
std::set<std::size_t> add_hardware(std::vector<Recurrence>& found, const WatchedRun& run,
                                   const std::vector<SlowTime>& slow) {
  std::set<std::size_t> named;
  const auto of_host = always_slow(run, slow);
  for (const auto& [host, ranks] : of_host) {
    const std::size_t first = ranks.front();
    const SlowTime& time = slow[first];
    const std::size_t from = time.newest > 0 ? time.first_of_newest : 0;
    double since_s = run.columns[from].start_s;
    std::int64_t since = run.columns[from].first_iteration;
    std::vector<std::string> told;
    for (const RunChange& change : run.changes) {
      if (change.ratio < 1 || std::ranges::find(change.ranks, first) == change.ranks.end())
        continue;
      // The library knows the time better than the columns do.
      if (from > 0 && change.began_s >= run.columns[from - 1].start_s &&
          change.began_s <= run.columns[from].end_s) {
        since_s = change.began_s;
        since = change.began_iteration;
      }
      if (!change.reason.empty())
        told.push_back(fmt::format("at {}: {}", minute_words(change.began_s), change.reason));
    }
    Recurrence one{.cause = "hardware", .ranks = ranks};
    std::vector<double> ratios;
    std::vector<std::string> names;
    for (const std::size_t rank : ranks) {
      ratios.push_back(base::median(slow[rank].ratios));
      names.push_back(name_of(run, rank));
    }
    one.ratio = base::median(ratios);
    constexpr std::size_t most_names = 4;
    if (names.size() > most_names) names.resize(most_names);
    one.what = fmt::format(
        "{}{} on {}: {} own kernels take {:.3f} times what {} peers' take, {}",
        fmt::join(names, ", "), ranks.size() > names.size() ? ", ..." : "",
        host.empty() ? run.ranks[first].file : host, ranks.size() == 1 ? "its" : "their", one.ratio,
        ranks.size() == 1 ? "its" : "their",
        time.newest > 0 && from > 0
            ? fmt::format("since {}, iteration {}", minute_words(since_s), since)
            : fmt::format("in {:.0f} % of the time", 100 * time.slow_s / time.known_s));
    one.evidence = machine_evidence(run, first, since_s);
    one.evidence.insert(one.evidence.end(), told.begin(), told.end());
    if (one.evidence.empty())
      one.evidence.emplace_back(
          "no reading of the machine stands out: its part of the work may be larger, too");
    add_hidden(one.evidence, run, first, one.ratio);
    named.insert(ranks.begin(), ranks.end());
    found.push_back(std::move(one));
  }
  return named;
}

// Finds time in which now one rank is slow, now another.
void add_wandering(std::vector<Recurrence>& found, const WatchedRun& run,
                   const std::vector<Series>& relative, const std::set<std::size_t>& left_out,
                   double least_ratio) {
  double all_s = 0.0, slow_s = 0.0;
  std::map<std::size_t, double> of_rank_s;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    all_s += length_s(run.columns[i]);
    bool is_slow = false;
    for (std::size_t rank = 0; rank < relative.size(); ++rank) {
      if (left_out.contains(rank) || !(relative[rank][i] >= least_ratio)) continue;
      is_slow = true;
      of_rank_s[rank] += length_s(run.columns[i]);
      ratios.push_back(relative[rank][i]);
    }
    if (is_slow) slow_s += length_s(run.columns[i]);
  }
  constexpr std::size_t fewest_ranks = 3;
  if (of_rank_s.size() < fewest_ranks || slow_s < kSomeOfHistory * all_s) return;
  Recurrence one{.cause = "data"};
  double most_s = 0.0;
  for (const auto& [rank, rank_s] : of_rank_s) {
    most_s = std::max(most_s, rank_s);
    one.ranks.push_back(rank);
  }
  if (most_s > kMostOfHistory * slow_s) return;
  one.ratio = base::median(ratios);
  one.what = fmt::format(
      "in {:.0f} % of the time some rank is {:.3f} times slower than its peers, now one, now "
      "another",
      100 * slow_s / all_s, one.ratio);
  one.evidence.push_back(
      fmt::format("{} of {} ranks were slow, none in more than {:.0f} % of the time: uneven work, "
                  "such as sequences of different length",
                  of_rank_s.size(), run.ranks.size(), 100 * most_s / all_s));
  found.push_back(std::move(one));
}

// Finds stretches in which all ranks are slow, and which pass.
void add_passing(std::vector<Recurrence>& found, const WatchedRun& run, double least_ratio) {
  std::vector<double> level_us;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    std::vector<double> known;
    for (const WatchedRank& rank : run.ranks) {
      if (!std::isnan(rank.own_us[i])) known.push_back(rank.own_us[i]);
    }
    if (known.empty()) continue;
    level_us.push_back(base::median_in_place(known));
    columns.push_back(i);
  }
  if (level_us.empty()) return;
  const double usual_us = base::median(level_us);
  std::vector<std::pair<std::size_t, std::size_t>> passed;  // first and last column
  std::vector<double> ratios;
  for (std::size_t i = 0; i < level_us.size(); ++i) {
    const std::size_t first = i;
    while (i < level_us.size() && level_us[i] >= least_ratio * usual_us)
      ++i;
    if (i == first || i == level_us.size() || first == 0) continue;
    passed.emplace_back(columns[first], columns[i - 1]);
    for (std::size_t k = first; k < i; ++k)
      ratios.push_back(level_us[k] / usual_us);
  }
  constexpr std::size_t fewest_times = 2;
  if (passed.size() < fewest_times) return;
  const TimeColumn& first = run.columns[passed.back().first];
  const TimeColumn& last = run.columns[passed.back().second];
  Recurrence one{.cause = "data"};
  one.ratio = base::median(ratios);
  one.what =
      fmt::format("{} times {} slower for a while, {:.3f} times the usual", passed.size(),
                  run.ranks.size() > 1 ? "all ranks together were" : "the kernels were", one.ratio);
  one.evidence.push_back(fmt::format("the last time from {} to {}, iterations {} to {}",
                                     minute_words(first.start_s), minute_words(last.end_s),
                                     first.first_iteration, last.last_iteration));
  found.push_back(std::move(one));
}

void add_program(std::vector<Recurrence>& found, const WatchedRun& run) {
  const auto ranks = static_cast<double>(run.ranks.size());
  for (std::size_t i = 0; i < run.changes.size(); ++i) {
    const RunChange& change = run.changes[i];
    if (change.ratio <= 1 || change.is_iteration || !change.reason.empty() ||
        static_cast<double>(change.ranks.size()) < kMostRanks * ranks)
      continue;
    const bool has_passed = std::any_of(
        run.changes.begin() + static_cast<std::ptrdiff_t>(i), run.changes.end(),
        [&](const RunChange& later) { return later.ratio < 1 && later.layers == change.layers; });
    if (has_passed) continue;
    Recurrence one{.cause = "program", .ranks = change.ranks};
    one.ratio = change.ratio;
    one.what = fmt::format("{} slower since {}, iteration {}: {:.3f} times",
                           run.ranks.size() > 1
                               ? fmt::format("{} of {} ranks are", change.ranks.size(), ranks)
                               : "the kernels are",
                           minute_words(change.began_s), change.began_iteration, change.ratio);
    one.evidence.push_back(
        change.is_everything || change.layers.empty()
            ? "in all their kernels"
            : fmt::format("in {}{}", change.layers.front().str(),
                          change.layers.size() > 1
                              ? fmt::format(" and {} more layers", change.layers.size() - 1)
                              : ""));
    if (run.ranks.size() > 1) one.evidence.emplace_back("at the same time, so it is no single GPU");
    found.push_back(std::move(one));
  }
}

}  // namespace

std::vector<Recurrence> find_recurrences(const WatchedRun& run, double least_ratio) {
  std::vector<Recurrence> found;
  if (run.columns.empty() || run.ranks.empty()) return found;
  const std::vector<Series> relative = relative_to_peers(run, &WatchedRank::own_us);
  std::vector<SlowTime> slow;
  slow.reserve(relative.size());
  for (const Series& one : relative)
    slow.push_back(slow_time(one, run.columns, least_ratio));
  const std::set<std::size_t> hardware = add_hardware(found, run, slow);
  add_program(found, run);
  add_wandering(found, run, relative, hardware, least_ratio);
  add_passing(found, run, least_ratio);
  return found;
}

}  // namespace inline_prof::join
