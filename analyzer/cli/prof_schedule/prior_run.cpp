#include "cli/prof_schedule/prior_run.hpp"

#include "base/median.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"
#include "schedule/read_request.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace inline_prof::cli {
namespace {

// A real file of 512 events with 50 samples each has 1.2 MB.
constexpr std::size_t kMaxProfBytes = std::size_t{512} << 20U;

}  // namespace

PriorRun read_prior_run(const std::string& path) {
  read::Profile profile =
      read::read_profile(schedule::read_text(path, schedule::Accept::kAnyStream, kMaxProfBytes),
                         path, read::Wanted::kWithoutOffsets);
  PriorRun run;
  if (!profile.iter_time_ms.empty())
    run.iteration_ms = base::median(std::move(profile.iter_time_ms));
  std::ranges::stable_sort(profile.events, {}, &read::Event::start_index);
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;  // other devices repeat it
  for (const read::Event& event : profile.events) {
    if (event.occurrence > std::numeric_limits<int>::max()) {
      throw read::InputError(
          fmt::format("{}: {}: expected an occurrence that fits into 32 bits, "
                      "found {}",
                      path, event.name, event.occurrence));
    }
    if (event.has_flag(format::kFlagNotMeasurable)) {
      ++run.not_measurable_count;
    } else if (seen.emplace(event.name, event.layer, event.occurrence).second) {
      run.met.push_back({.event = event.name,
                         .layer = event.layer,
                         .occurrence = static_cast<int>(event.occurrence),
                         .kernel = event.kernel_name});
    }
  }
  return run;
}

}  // namespace inline_prof::cli
