#include "join/watch/watched_run.hpp"

#include "base/median.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

constexpr float kNotKnown = std::numeric_limits<float>::quiet_NaN();
constexpr double kWholeSeconds = 2.0;  // files say when they began to the second
constexpr double kMostOfTime = 0.75;   // changes of this part of the kernels' time are of all of it

using RankKey = std::tuple<std::int64_t, std::size_t, std::int64_t>;  // rank, group, device

double middle_of(const TimeColumn& column) {
  return (column.start_s + column.end_s) / 2;
}

// Puts the values of a file into the columns of the run that it was watched in.
void fill(Series& values, const std::vector<TimeColumn>& columns, const Series& own,
          const std::vector<TimeColumn>& own_columns) {
  if (own_columns.empty()) return;
  std::size_t at = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double time_s = middle_of(columns[i]);
    const double slack_s = (columns[i].end_s - columns[i].start_s) / 2;
    if (time_s < own_columns.front().start_s - slack_s ||
        time_s > own_columns.back().end_s + slack_s)
      continue;
    while (at + 1 < own_columns.size() && own_columns[at + 1].start_s <= time_s)
      ++at;
    if (!std::isnan(own[at])) values[i] = own[at];
  }
}

// The columns of the group that was watched longest.
std::vector<TimeColumn> longest_columns(const std::vector<WatchedFile>& files,
                                        const std::vector<std::size_t>& groups) {
  std::map<std::size_t, std::pair<double, std::vector<TimeColumn>>> of_group;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto& [length_s, columns] = of_group[groups[i]];
    for (const TimeColumn& column : files[i].columns) {
      length_s += column.end_s - column.start_s;
      columns.push_back(column);
    }
  }
  const auto longest =
      std::ranges::max_element(of_group, {}, [](const auto& group) { return group.second.first; });
  return longest == of_group.end() ? std::vector<TimeColumn>() : longest->second.second;
}

// Medians over the ranks: what is slow on one of them is the ranks' matter.
void add_layers(WatchedRun& run, const std::vector<WatchedFile>& files) {
  const std::size_t count = run.columns.size();
  std::map<std::string, std::pair<SharedText, std::vector<Series>>> layers;
  for (const WatchedFile& file : files) {
    for (const WatchedLayer& layer : file.layers) {
      auto& [name, of_files] = layers[layer.name.str()];
      name = layer.name;
      fill(of_files.emplace_back(count, kNotKnown), run.columns, layer.us, file.columns);
    }
  }
  std::vector<std::pair<double, WatchedLayer>> sorted;
  std::vector<double> known;
  for (const auto& [key, layer] : layers) {
    const auto& [name, of_files] = layer;
    WatchedLayer middle{name, Series(count, kNotKnown)};
    double total_us = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      known.clear();
      for (const Series& us : of_files) {
        if (!std::isnan(us[i])) known.push_back(us[i]);
      }
      if (known.empty()) continue;
      middle.us[i] = static_cast<float>(base::median_in_place(known));
      total_us += double{middle.us[i]};
    }
    sorted.emplace_back(total_us, std::move(middle));
  }
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& layer) { return layer.first; });
  for (auto& [total_us, layer] : sorted)
    run.layers.push_back(std::move(layer));
}

// Takes changes of series, or of runs.
template <typename Change>
bool began_together(const Change& a, const Change& b) {
  return std::abs(a.began_s - b.began_s) <= std::max({kSameTimeS, a.within_s, b.within_s});
}

// The changes of one rank that began together, in one direction.
struct Cluster {
  std::vector<const SeriesChange*> changes;
  std::size_t rank = 0;

  [[nodiscard]] bool is_slower() const { return changes.front()->ratio > 1; }
  // Waiting follows what changed elsewhere.
  [[nodiscard]] bool waits(const SeriesChange& change) const {
    if (change.is_iteration || change.is_collective) return true;
    if (!change.event.empty()) return false;
    // A layer waits if its collectives changed alone.
    bool has_collective = false;
    for (const SeriesChange* other : changes) {
      if (other->event.empty() || other->layer != change.layer) continue;
      if (!other->is_collective) return false;
      has_collective = true;
    }
    return has_collective;
  }
  [[nodiscard]] bool is_waiting() const {
    return std::ranges::all_of(changes, [&](const auto* change) { return waits(*change); });
  }
  // True for an event whose layer is told, too.
  [[nodiscard]] bool is_part(const SeriesChange& change) const {
    return !change.event.empty() && std::ranges::any_of(changes, [&](const auto* other) {
      return other->event.empty() && !other->is_iteration && other->layer == change.layer;
    });
  }
};

// `rank_of(file, device)` gives the number of a rank; empty if it has none.
template <typename RankOf>
std::vector<Cluster> clusters_of(const std::vector<WatchedFile>& files, const RankOf& rank_of) {
  std::vector<Cluster> clusters;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const WatchedFile& file = files[i];
    std::vector<const SeriesChange*> sorted;
    for (const SeriesChange& change : file.changes)
      sorted.push_back(&change);
    std::ranges::stable_sort(sorted, {}, &SeriesChange::began_s);
    const std::size_t first = clusters.size();
    for (const SeriesChange* change : sorted) {
      auto rank = rank_of(i, change->device_id);
      if (!rank && !file.devices.empty()) rank = rank_of(i, file.devices.front().device_id);
      if (!rank) continue;
      const auto own = std::find_if(clusters.begin() + static_cast<std::ptrdiff_t>(first),
                                    clusters.end(), [&](const Cluster& cluster) {
                                      return (change->is_iteration || cluster.rank == *rank) &&
                                             cluster.is_slower() == (change->ratio > 1) &&
                                             began_together(*change, *cluster.changes.front());
                                    });
      if (own != clusters.end()) {
        own->changes.push_back(change);
      } else {
        clusters.push_back({{change}, *rank});
      }
    }
  }
  return clusters;
}

// Returns the kernels' own time of a rank where the change began.
double own_us_at(const WatchedRun& run, std::size_t rank, double time_s) {
  double own_us = 0.0;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    const float us = run.ranks[rank].own_us[i];
    if (!std::isnan(us) && (own_us == 0.0 || run.columns[i].end_s <= time_s)) own_us = us;
  }
  return own_us;
}

RunChange change_of(const Cluster& cluster, const WatchedRun& run) {
  RunChange change;
  const SeriesChange& known_best =
      **std::ranges::min_element(cluster.changes, {}, &SeriesChange::within_s);
  change.began_s = known_best.began_s;
  change.within_s = known_best.within_s;
  change.began_iteration = known_best.began_iteration;
  change.ranks = {cluster.rank};
  change.is_iteration = cluster.is_waiting();
  std::map<std::string, std::pair<double, SharedText>> lost_us;  // of each layer
  double lower_us = 0.0, upper_us = 0.0;
  double own_us = 0.0;  // before, of kernels that are no collectives
  const bool has_iteration = std::ranges::any_of(cluster.changes, &SeriesChange::is_iteration);
  for (const SeriesChange* one : cluster.changes) {
    if (change.reason.empty()) change.reason = one->reason;
    // The iteration holds all others, and collectives wait.
    const bool is_left_out =
        change.is_iteration ? has_iteration && !one->is_iteration : cluster.waits(*one);
    if (is_left_out || cluster.is_part(*one)) continue;
    change.before_us += one->before_us;
    change.after_us += one->before_us * one->ratio;
    lower_us += one->before_us * one->ratio_ci95.lower;
    upper_us += one->before_us * one->ratio_ci95.upper;
    if (one->is_iteration) continue;
    auto& [lost, name] = lost_us[one->layer.str()];
    lost += std::abs(one->before_us * (one->ratio - 1));
    name = one->layer;
    if (!one->is_collective) own_us += one->before_us;
  }
  if (change.before_us > 0) {
    change.ratio = change.after_us / change.before_us;
    change.ratio_ci95 = {lower_us / change.before_us, upper_us / change.before_us};
  } else {
    change.ratio = cluster.changes.front()->ratio;
    change.ratio_ci95 = cluster.changes.front()->ratio_ci95;
  }
  std::vector<std::pair<double, SharedText>> sorted;
  sorted.reserve(lost_us.size());
  for (const auto& [name, layer] : lost_us)
    sorted.push_back(layer);
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& layer) { return layer.first; });
  for (const auto& [lost, name] : sorted)
    change.layers.push_back(name);
  change.is_everything = change.layers.size() > 1 &&
                         own_us >= kMostOfTime * own_us_at(run, cluster.rank, change.began_s);
  return change;
}

bool are_equal(const RunChange& a, const RunChange& b) {
  if ((a.ratio > 1) != (b.ratio > 1) || !began_together(a, b) || a.is_iteration != b.is_iteration ||
      a.is_everything != b.is_everything)
    return false;
  if (a.is_everything || (a.layers.empty() && b.layers.empty())) return true;
  const auto shared = std::ranges::count_if(a.layers, [&](const SharedText& layer) {
    return std::ranges::find(b.layers, layer) != b.layers.end();
  });
  return 2 * static_cast<std::size_t>(shared) >= std::min(a.layers.size(), b.layers.size()) &&
         shared > 0;
}

void merge(RunChange& into, const RunChange& more) {
  const auto before = static_cast<double>(into.ranks.size());
  const auto mean = [&](double& value, double other) {
    value = (value * before + other) / (before + 1);
  };
  mean(into.before_us, more.before_us);
  mean(into.after_us, more.after_us);
  mean(into.ratio, more.ratio);
  mean(into.ratio_ci95.lower, more.ratio_ci95.lower);
  mean(into.ratio_ci95.upper, more.ratio_ci95.upper);
  if (std::tie(more.within_s, more.began_s) < std::tie(into.within_s, into.began_s)) {
    into.began_s = more.began_s;
    into.within_s = more.within_s;
    into.began_iteration = more.began_iteration;
  }
  if (into.reason.empty()) into.reason = more.reason;
  if (std::ranges::find(into.ranks, more.ranks.front()) == into.ranks.end())
    into.ranks.push_back(more.ranks.front());
  for (const SharedText& layer : more.layers) {
    if (std::ranges::find(into.layers, layer) == into.layers.end()) into.layers.push_back(layer);
  }
}

// Moves ranks that only wait to the change that they wait for.
void give_waiting_ranks(std::vector<RunChange>& changes) {
  for (RunChange& waiting : changes) {
    if (!waiting.is_iteration) continue;
    const auto cause = std::ranges::find_if(changes, [&](const RunChange& other) {
      return !other.is_iteration && (other.ratio > 1) == (waiting.ratio > 1) &&
             began_together(other, waiting);
    });
    if (cause == changes.end()) continue;
    cause->waiting = std::move(waiting.ranks);
    waiting.ranks.clear();
  }
  std::erase_if(changes, [](const RunChange& change) { return change.ranks.empty(); });
}

std::vector<RunChange> changes_of(const std::vector<Cluster>& clusters, const WatchedRun& run) {
  std::vector<RunChange> changes;
  for (const Cluster& cluster : clusters) {
    const RunChange own = change_of(cluster, run);
    const auto equal = std::ranges::find_if(
        changes, [&](const RunChange& other) { return are_equal(other, own); });
    if (equal != changes.end()) {
      merge(*equal, own);
    } else {
      changes.push_back(own);
    }
  }
  give_waiting_ranks(changes);
  std::ranges::stable_sort(changes, {}, &RunChange::began_s);
  return changes;
}

}  // namespace

std::vector<std::size_t> groups_of(const std::vector<WatchedFile>& files) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return files[i].started_at_s; });
  std::vector<std::size_t> groups(files.size());
  std::map<std::string, std::vector<std::size_t>> newest_of;  // the newest file of each group
  for (const std::size_t i : order) {
    const WatchedFile& file = files[i];
    std::string name = fmt::format("rank {}", file.rank.value_or(-1));
    if (!file.rank) {
      name = file.host;
      for (const WatchedDevice& device : file.devices)
        name += fmt::format(" {}", device.device_id);
    }
    std::vector<std::size_t>& newest = newest_of[name];
    const auto own = std::ranges::find_if(newest, [&](std::size_t before) {
      return files[before].until_s <= file.started_at_s + kWholeSeconds;
    });
    groups[i] = own == newest.end() ? i : groups[*own];
    if (own == newest.end()) {
      newest.push_back(i);
    } else {
      *own = i;
    }
  }
  return groups;
}

std::vector<bool> have_newer(const std::vector<WatchedFile>& files) {
  const std::vector<std::size_t> groups = groups_of(files);
  std::map<std::size_t, double> newest_s;
  for (std::size_t i = 0; i < files.size(); ++i) {
    double& started_at_s = newest_s.try_emplace(groups[i], files[i].started_at_s).first->second;
    started_at_s = std::max(started_at_s, files[i].started_at_s);
  }
  std::vector<bool> newer(files.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    newer[i] = files[i].started_at_s < newest_s[groups[i]];
  return newer;
}

WatchedRun watched_run(std::vector<WatchedFile> files, double least_ratio) {
  std::ranges::stable_sort(files, {}, &WatchedFile::started_at_s);
  const std::vector<std::size_t> groups = groups_of(files);
  WatchedRun run;
  run.columns = longest_columns(files, groups);
  std::map<RankKey, std::size_t> number_of;
  const auto key_of = [&](std::size_t i, std::int64_t device_id) {
    return RankKey(files[i].rank.value_or(std::numeric_limits<std::int64_t>::max()), groups[i],
                   device_id);
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const WatchedDevice& device : files[i].devices)
      number_of.try_emplace(key_of(i, device.device_id), 0);
  }
  for (std::size_t number = 0; auto& [key, own] : number_of)
    own = number++;
  const Series unknown(run.columns.size(), kNotKnown);
  run.ranks.resize(number_of.size());
  for (WatchedRank& rank : run.ranks)
    rank.iteration_us = rank.own_us = unknown;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const WatchedFile& file = files[i];
    run.until_s = std::max(run.until_s, file.until_s);
    run.is_simulated = run.is_simulated || file.is_simulated;
    run.budget = std::max(run.budget, file.budget);
    run.pairs += file.pairs;
    if (file.cost_share) run.cost_share = std::max(run.cost_share.value_or(0.0), *file.cost_share);
    for (const WatchedDevice& device : file.devices) {
      WatchedRank& rank = run.ranks[number_of.at(key_of(i, device.device_id))];
      rank.host = file.host;
      rank.rank = file.rank;
      rank.device_id = device.device_id;
      rank.file = file.file;
      rank.event_list = file.event_list;
      ++rank.processes;
      fill(rank.iteration_us, run.columns, file.iteration_us, file.columns);
      fill(rank.own_us, run.columns, device.own_us, file.columns);
      for (const read::DeviceReadings& machine : file.machine) {
        if (machine.device_id == device.device_id)
          rank.machine.insert(rank.machine.end(), machine.readings.begin(), machine.readings.end());
      }
    }
  }
  add_layers(run, files);
  const auto rank_of = [&](std::size_t i, std::int64_t device_id) {
    const auto found = number_of.find(key_of(i, device_id));
    return found == number_of.end() ? std::nullopt : std::optional(found->second);
  };
  run.changes = changes_of(clusters_of(files, rank_of), run);
  run.recurrences = find_recurrences(run, least_ratio);
  return run;
}

std::vector<Series> relative_to_peers(const WatchedRun& run, Series WatchedRank::*series) {
  std::vector<Series> relative(run.ranks.size(), Series(run.columns.size(), kNotKnown));
  std::map<std::string, std::vector<std::size_t>> peers_of;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    peers_of[run.ranks[rank].event_list].push_back(rank);
  std::vector<double> known;
  for (const auto& [list, peers] : peers_of) {
    for (std::size_t i = 0; i < run.columns.size() && peers.size() > 1; ++i) {
      known.clear();
      for (const std::size_t rank : peers) {
        const float us = (run.ranks[rank].*series)[i];
        if (!std::isnan(us)) known.push_back(us);
      }
      const double middle = known.empty() ? 0.0 : base::median_in_place(known);
      if (!(middle > 0)) continue;
      for (const std::size_t rank : peers)
        relative[rank][i] = static_cast<float>((run.ranks[rank].*series)[i] / middle);
    }
  }
  return relative;
}

std::string name_of(const WatchedRun& run, std::size_t rank) {
  const WatchedRank& own = run.ranks[rank];
  if (!own.rank)
    return base::printable(
        fmt::format("{} device {}", own.host.empty() ? own.file : own.host, own.device_id));
  const auto devices = std::ranges::count(run.ranks, own.rank, &WatchedRank::rank);
  return devices == 1 ? fmt::format("rank {}", *own.rank)
                      : fmt::format("rank {} device {}", *own.rank, own.device_id);
}

}  // namespace inline_prof::join
