#include "base/median.hpp"
#include "read/input_error.hpp"
#include "read/profile.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>

namespace inline_prof::read {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t prime = 1099511628211U;  // of FNV-1a
  return (hash ^ value) * prime;
}

// Shared ones over all.
double likeness(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<std::uint64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  const std::size_t all = a.size() + b.size() - both.size();
  return all == 0 ? 0 : static_cast<double>(both.size()) / static_cast<double>(all);
}

void set_shares(Profile& profile) {
  std::vector<double> times_ms;
  for (const Phase& phase : profile.phases)
    times_ms.push_back(phase.iter_time_ms.empty() ? 0
                                                  : base::median(phase.iter_time_ms) *
                                                        static_cast<double>(phase.iterations));
  const double all_ms = std::accumulate(times_ms.begin(), times_ms.end(), 0.0);
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    if (times_ms[i] > 0) profile.phases[i].share = times_ms[i] / all_ms;
  }
}

// Phases may differ in nothing but their grids.
std::size_t phase_like(const Profile& profile, const Launched& launched) {
  std::size_t best = main_phase(profile);
  double most = 0;
  for (std::size_t i = 0; i < profile.phases.size(); ++i) {
    if (!profile.phases[i].measured) continue;
    const Launched own = launched_in(profile, i);
    const double share =
        likeness(own.kernels, launched.kernels) + 0.1 * likeness(own.grids, launched.grids);
    if (share < most || (share == most && i != best)) continue;
    best = i;
    most = share;
  }
  return best;
}

std::size_t chosen_phase(const Profile& profile, const PhaseChoice& choice) {
  if (choice.number) return *choice.number - 1;
  if (choice.like) return phase_like(profile, *choice.like);
  return main_phase(profile);
}

// Leaves out the changes of other phases' events, and numbers the others' events anew.
void follow_events(std::vector<FoundChange>& changes, const Profile& profile) {
  std::vector<std::size_t> number_of(profile.events.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < number_of.size(); ++i) {
    number_of[i] = kept;
    if (profile.events[i].phase == profile.phase) ++kept;
  }
  std::erase_if(changes, [&](const FoundChange& change) {
    return change.event && profile.events[*change.event].phase != profile.phase;
  });
  for (FoundChange& change : changes) {
    if (change.event) change.event = number_of[*change.event];
  }
}

}  // namespace

std::size_t main_phase(const Profile& profile) {
  const auto& phases = profile.phases;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!phases[longest].measured ||
        (phases[i].measured && phases[i].share.value_or(0) > phases[longest].share.value_or(0)))
      longest = i;
  }
  return longest;
}

Launched launched_in(const Profile& profile, std::size_t phase) {
  Launched launched;
  for (const Event& event : profile.events) {
    if (event.phase != phase) continue;
    std::uint64_t hash = std::hash<std::string>()(event.name);
    hash = mixed(hash, static_cast<std::uint64_t>(event.occurrence));
    hash = mixed(hash, event.in_cuda_graph ? 1 : 0);
    launched.kernels.push_back(hash);
    for (const std::int64_t extent : event.launch.grid)
      hash = mixed(hash, static_cast<std::uint64_t>(extent));
    launched.grids.push_back(hash);
  }
  std::ranges::sort(launched.kernels);
  std::ranges::sort(launched.grids);
  return launched;
}

void show_phase(Profile& profile, const PhaseChoice& choice) {
  const std::size_t count = std::max<std::size_t>(profile.phases.size(), 1);
  if (choice.number && (*choice.number == 0 || *choice.number > count))
    throw InputError(fmt::format("{}: /{}: {} phase{}, expected phase {} to be one of them",
                                 profile.file, format::kPhases.key, count, count == 1 ? "" : "s",
                                 *choice.number));
  if (profile.phases.size() < 2) return;
  set_shares(profile);
  if (choice.all) return;
  profile.phase = chosen_phase(profile, choice);
  const Phase& shown = profile.phases[profile.phase];
  profile.iter_time_ms = shown.iter_time_ms;
  profile.profiler.iteration_source = shown.iteration_source;
  profile.profiler.iteration_confidence = shown.iteration_confidence;
  if (profile.watched) follow_events(profile.watched->changes, profile);
  std::erase_if(profile.events, [&](const Event& event) { return event.phase != profile.phase; });
}

namespace {

std::string iterations_of(const Phase& phase) {
  if (phase.stretches.empty()) return "no iteration";
  const auto& [first, last] = phase.stretches.front();
  const std::string_view noun = phase.iterations == 1 ? "iteration" : "iterations";
  if (phase.stretches.size() > 1)
    return fmt::format("{} {} in {} stretches, the first from {} on", phase.iterations, noun,
                       phase.stretches.size(), first);
  if (first == 1) return fmt::format("first {} {}", phase.iterations, noun);
  return fmt::format("{} {} from {} on", phase.iterations, noun, first);
}

std::string launches_of(const Phase& phase) {
  std::vector<std::string> parts;
  if (phase.kernel_launches == 1) parts.emplace_back("one kernel");
  if (phase.kernel_launches > 1)
    parts.push_back(fmt::format("{} kernels launched one by one", phase.kernel_launches));
  if (phase.graph_launches == 1)
    parts.push_back(fmt::format("a graph of {} kernels", phase.graph_kernels));
  if (phase.graph_launches > 1)
    parts.push_back(
        fmt::format("{} graphs with {} kernels", phase.graph_launches, phase.graph_kernels));
  return fmt::format("{}", fmt::join(parts, " and "));
}

// Words of prof.json, as a sentence goes on; it is clear that the first iterations came first.
std::string beginning_of(const Phase& phase) {
  if (phase.reason == "the first iterations") return "";
  if (phase.reason == "other launches") return "began when other kernels were launched";
  if (phase.reason == "other grids")
    return "began when the same kernels were launched with other grids";
  return phase.reason == "iterations came no more"
             ? "began after the earlier iterations had stopped"
             : phase.reason;
}

}  // namespace

std::string phase_name(const Profile& profile) {
  if (profile.phases.size() < 2) return {};
  return fmt::format("phase {} of {}", profile.phase + 1, profile.phases.size());
}

std::string shown_phase(const Profile& profile) {
  const std::string name = phase_name(profile);
  return name.empty() ? name : name + ": " + phase_words(profile.phases[profile.phase]);
}

std::string phase_words(const Phase& phase) {
  std::string text = iterations_of(phase);
  if (const std::string launches = launches_of(phase); !launches.empty())
    text += ", each " + launches;
  if (phase.share) text += fmt::format("; {:.1f} % of the time", *phase.share * 100);
  if (!phase.measured) text += "; ended before anything was measured";
  if (const std::string beginning = beginning_of(phase); !beginning.empty())
    text += "; " + beginning;
  return text;
}

}  // namespace inline_prof::read
