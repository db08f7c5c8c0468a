#include "join/diagnose/belonging.hpp"

#include "join/rows/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

void warn_of_formats(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  std::map<std::string_view, std::pair<std::size_t, std::string_view>> found;  // count, the first
  for (const FileFacts& own : all) {
    auto& [count, file] = found[own.format];
    if (count++ == 0) file = own.file;
  }
  if (found.size() < 2) return;
  std::vector<std::string> words;
  words.reserve(found.size());
  for (const auto& [format, files] : found)
    words.push_back(fmt::format("{} of {} ({})", files.first, format, files.second));
  warnings.push_back(fmt::format(
      "files of different formats are not of one run: {}; each is read by its own rules",
      fmt::join(words, ", ")));
}

// True if each file sends to another or receives from it: stages of a pipeline run different
// things.
bool are_of_pipelines(const std::vector<FileFacts>& all) {
  std::map<std::string_view, std::size_t> files;
  for (const FileFacts& own : all) {
    for (const std::string& communicator : own.exchanges)
      ++files[communicator];
  }
  return std::ranges::all_of(all, [&](const FileFacts& own) {
    return std::ranges::any_of(own.exchanges,
                               [&](const std::string& each) { return files[each] > 1; });
  });
}

void warn_of_programs(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  std::set<std::string_view> lists;
  for (const FileFacts& own : all) {
    if (!own.event_list.empty()) lists.insert(own.event_list);
  }
  if (lists.size() < 2 || are_of_pipelines(all)) return;
  warnings.push_back(fmt::format(
      "the files come from {} different event lists: ranks did not launch the same, or the files "
      "do not belong together",
      lists.size()));
}

// Traces have no event list: of one program they have most kernels in common.
void warn_of_kernels(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  if (are_of_pipelines(all)) return;
  for (const FileFacts& own : all) {
    const std::set<std::string>& first = all.front().kernels;
    const std::size_t fewer = std::min(first.size(), own.kernels.size());
    const auto common = std::ranges::count_if(
        own.kernels, [&](const std::string& name) { return first.contains(name); });
    if (2 * static_cast<std::size_t>(common) >= fewer) continue;
    warnings.push_back(
        fmt::format("doubtful: the files are not of one run: {} and {} have {} of {} kernels in "
                    "common; give those of one run, or set them beside each other with compare",
                    all.front().file, own.file, common, fewer));
    return;
  }
}

void warn_of_gpus(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  const auto other =
      std::ranges::find_if(all, [&](const FileFacts& own) { return own.gpus != all.front().gpus; });
  if (other == all.end()) return;
  warnings.push_back(
      fmt::format("doubtful: the files are of different GPUs: {} of {}, {} of {}; a report of one "
                  "run adds them "
                  "up all the same",
                  all.front().file, fmt::join(all.front().gpus, ", "), other->file,
                  fmt::join(other->gpus, ", ")));
}

// Files that know no rank: what is there twice shows in the host and its devices.  A rank that was
// started again has another time, and its histories are joined.
void warn_of_repetitions(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  using Place =
      std::tuple<bool, std::int64_t, std::string_view, std::string_view, std::vector<std::int64_t>>;
  std::map<Place, std::vector<std::string_view>> files_of;
  std::map<Place, std::set<std::string_view>> starts_of;  // of files with histories
  for (const FileFacts& own : all) {
    if (!own.rank && own.host.empty()) continue;
    const Place place = own.rank ? Place{false, *own.rank, "", "", {}}
                                 : Place{true, 0, own.format, own.host, own.device_ids};
    files_of[place].push_back(own.file);
    if (own.is_watched) starts_of[place].insert(own.started_at);
  }
  for (const auto& [place, files] : files_of) {
    if (files.size() < 2 || starts_of[place].size() == files.size()) continue;
    const auto& [has_no_rank, rank, format, host, devices] = place;
    warnings.push_back(fmt::format(
        "{} files {}: {}; all of them count", files.size(),
        has_no_rank ? fmt::format("without a rank are of the same devices of host {}", host)
                    : fmt::format("say that they are rank {}", rank),
        fmt::join(files, ", ")));
  }
}

// One file alone may be what was asked for: its line in the head says which rank of how many it is.
void warn_of_missing_ranks(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  std::int64_t world_size = 0;
  std::set<std::int64_t> present;
  for (const FileFacts& own : all) {
    world_size = std::max(world_size, own.world_size.value_or(0));
    if (own.rank) present.insert(*own.rank);
  }
  if (all.size() < 2 || present.empty()) return;
  std::vector<std::string> gaps;  // "0", "2 to 5"
  std::int64_t missing = 0;
  std::int64_t next = 0;
  const auto note_gap = [&](std::int64_t end) {
    if (end <= next) return;
    gaps.push_back(end == next + 1 ? fmt::format("{}", next)
                                   : fmt::format("{} to {}", next, end - 1));
    missing += end - next;
  };
  for (const std::int64_t rank : present) {
    if (rank >= world_size) break;  // it does not belong here, and closes no gap
    note_gap(rank);
    next = rank + 1;
  }
  note_gap(world_size);
  if (missing == 0) return;
  warnings.push_back(fmt::format("{}{}: {} of {} ranks are missing", kMissingRanks,
                                 fmt::join(gaps, ", "), missing, world_size));
}

// Ranks take steps together, so that one whose iterations take another time has found other ones:
// micro-steps, or a loop of its own. The launches of an iteration may differ, as between the stages
// of a pipeline.
void warn_of_iterations(const std::vector<FileFacts>& all, std::vector<std::string>& warnings) {
  constexpr double most_apart = 1.5;  // ranks of one run are within some percent
  constexpr std::size_t most_named = 4;
  std::vector<double> times;
  for (const FileFacts& own : all) {
    if (own.rank && own.iteration_ms && !own.is_whole_run) times.push_back(*own.iteration_ms);
  }
  if (times.empty()) return;
  // The longer one of two is more likely whole.
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const double usual = *middle;
  std::vector<std::string> words;
  std::size_t others = 0;
  for (const FileFacts& own : all) {
    if (!own.rank || !own.iteration_ms) continue;
    const double ratio = *own.iteration_ms / usual;
    if (ratio < most_apart && ratio > 1 / most_apart) continue;
    if (words.size() == most_named) {
      ++others;
      continue;
    }
    words.push_back(fmt::format("rank {} ({}, {:.3f} ms)", *own.rank,
                                own.is_whole_run
                                    ? "none: the whole run"
                                    : fmt::format("{} launches", own.iteration_launches),
                                *own.iteration_ms));
  }
  if (words.empty()) return;
  if (others > 0) words.push_back(fmt::format("{} more", others));
  warnings.push_back(fmt::format(
      "doubtful: the iterations found on {} take another time than those of the other ranks, "
      "{:.3f} ms: they are not the same steps; mark them, or set INLINE_PROF_ITERATION",
      fmt::join(words, ", "), usual));
}

}  // namespace

FileFacts file_facts(const read::Profile& profile) {
  FileFacts facts{.file = profile.file,
                  .format = profile.capabilities.format,
                  .rank = profile.rank,
                  .world_size = profile.world_size,
                  .event_list = event_list_of(profile),
                  .exchanges = exchanges_of(profile),
                  .gpus = {},
                  .kernels = kernels_of(profile),
                  .host = profile.host_name,
                  .device_ids = {},
                  .started_at = profile.started_at,
                  .iteration_ms = {},
                  .iteration_launches = profile.profiler.iteration_launches.value_or(0),
                  .is_watched = profile.watched.has_value()};
  for (const read::Device& device : profile.devices) {
    facts.device_ids.push_back(device.device_id);
    facts.gpus.insert(device.name);
  }
  std::ranges::sort(facts.device_ids);
  facts.is_whole_run = profile.profiler.iteration_source == "none";
  if ((profile.profiler.iteration_source == "auto" || facts.is_whole_run) &&
      !profile.iter_time_ms.empty())
    facts.iteration_ms = median(profile.iter_time_ms);
  return facts;
}

bool has_ended(const read::Profile& profile) {
  const auto is_of_end = [](const std::string& warning) {
    return (warning.starts_with("the program ended") && !warning.ends_with("by a signal")) ||
           warning.starts_with("no iteration boundary was met") ||
           warning.find(" samples were taken") != std::string::npos;
  };
  return std::ranges::any_of(profile.warnings, is_of_end);
}

std::string why_incomplete(const read::Profile& profile) {
  const auto says = [](const std::string& warning) {
    return warning.starts_with("the program") || warning.starts_with("doubtful: ") ||
           warning.starts_with("no iteration boundary was met") ||
           warning.find(" samples were taken") != std::string::npos;
  };
  const auto found = std::ranges::find_if(profile.warnings, says);
  return found == profile.warnings.end() ? "a checkpoint of a run that was cut off" : *found;
}

std::vector<std::string> belonging_warnings(const std::vector<FileFacts>& files, FilesOfRun which) {
  std::vector<std::string> warnings;
  warn_of_formats(files, warnings);
  warn_of_programs(files, warnings);
  warn_of_kernels(files, warnings);
  warn_of_gpus(files, warnings);
  warn_of_repetitions(files, warnings);
  warn_of_iterations(files, warnings);
  if (which == FilesOfRun::kAll) warn_of_missing_ranks(files, warnings);
  return warnings;
}

}  // namespace inline_prof::join
