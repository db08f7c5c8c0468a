#include "join/phase_words.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::join {
namespace {

std::string iterations_of(const read::Phase& phase) {
  if (phase.stretches.empty()) return "no iteration";
  const auto& [first, last] = phase.stretches.front();
  const std::string_view noun = phase.iterations == 1 ? "iteration" : "iterations";
  if (phase.stretches.size() > 1) {
    return fmt::format("{} {} in {} stretches, the first from {} on", phase.iterations, noun,
                       phase.stretches.size(), first);
  }
  if (first == 1) return fmt::format("first {} {}", phase.iterations, noun);
  return fmt::format("{} {} from {} on", phase.iterations, noun, first);
}

std::string launches_of(const read::Phase& phase) {
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
std::string beginning_of(const read::Phase& phase) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
      {{"the first iterations", ""},
       {"other launches", "began when other kernels were launched"},
       {"other grids", "began when the same kernels were launched with other grids"},
       {"iterations came no more", "began after the earlier iterations had stopped"}}};
  for (const auto& [reason, text] : words) {
    if (phase.reason == reason) return std::string(text);
  }
  return phase.reason;
}

}  // namespace

std::string phase_name(const read::Profile& profile) {
  if (profile.phases.size() < 2) return {};
  return fmt::format("phase {} of {}", profile.phase + 1, profile.phases.size());
}

std::string phase_words(const read::Phase& phase) {
  std::string text = iterations_of(phase);
  if (const std::string launches = launches_of(phase); !launches.empty())
    text += ", each " + launches;
  if (phase.share) text += fmt::format("; {:.1f} % of the time", *phase.share * 100);
  if (!phase.measured) text += "; ended before anything was measured";
  if (const std::string beginning = beginning_of(phase); !beginning.empty())
    text += "; " + beginning;
  return text;
}

}  // namespace inline_prof::join
