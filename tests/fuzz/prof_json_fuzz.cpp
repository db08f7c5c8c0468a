// prof.json: the parser in windows, the parser of the whole and the tree accept the same documents,
// and read the same out of them.
#include "property.hpp"
#include "read/prof_json/prof_json.hpp"
#include "read/prof_json/prof_members.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {
namespace {

constexpr std::size_t kOneWindow = std::numeric_limits<std::size_t>::max();

// An offset that is not known is NaN, and equals itself here.
bool same_offsets(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

bool same_bins(const std::vector<watch::Bin>& a, const std::vector<watch::Bin>& b) {
  return std::ranges::equal(a, b, [](const watch::Bin& one, const watch::Bin& other) {
    return one.start_s == other.start_s && one.end_s == other.end_s &&
           one.first_iteration == other.first_iteration &&
           one.last_iteration == other.last_iteration &&
           one.sketch.first_bucket() == other.sketch.first_bucket() &&
           one.sketch.counts() == other.sketch.counts();
  });
}

bool same_watched(const std::optional<Watched>& a, const std::optional<Watched>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->pairs == b->pairs && same_bins(a->iteration, b->iteration) &&
         a->machine.size() == b->machine.size() && a->changes.size() == b->changes.size();
}

bool same_events(const Event& a, const Event& b) {
  return a.name == b.name && a.layer == b.layer && a.event_class == b.event_class &&
         a.kernel_name == b.kernel_name && a.kernel_names == b.kernel_names &&
         a.device_id == b.device_id && a.stream == b.stream && a.stream_index == b.stream_index &&
         a.start_index == b.start_index && a.end_index == b.end_index &&
         a.occurrence == b.occurrence && a.calls == b.calls && a.in_cuda_graph == b.in_cuda_graph &&
         a.flags == b.flags && a.launch.grid == b.launch.grid &&
         a.op.has_value() == b.op.has_value() && a.measured_ms == b.measured_ms &&
         same_offsets(a.offsets_ms, b.offsets_ms) && a.iterations == b.iterations &&
         a.tight == b.tight && same_bins(a.history, b.history) &&
         a.extra_infos_start == b.extra_infos_start && a.extra_infos_stop == b.extra_infos_stop;
}

bool same_profiles(const Profile& a, const Profile& b) {
  if (a.events.size() != b.events.size()) return false;
  for (std::size_t i = 0; i < a.events.size(); ++i)
    if (!same_events(a.events[i], b.events[i])) return false;
  return a.host_name == b.host_name && a.rank == b.rank && a.world_size == b.world_size &&
         a.complete == b.complete && a.devices.size() == b.devices.size() &&
         a.iter_time_ms == b.iter_time_ms && a.calibration.size() == b.calibration.size() &&
         a.runtime_data.size() == b.runtime_data.size() &&
         a.overhead.has_value() == b.overhead.has_value() && a.not_seen == b.not_seen &&
         a.warnings == b.warnings && same_watched(a.watched, b.watched);
}

std::optional<Profile> read_tree(const std::string& text) {
  try {
    return read_prof_json_from_tree(text, "fuzz");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<Profile> read_any(const std::string& text) {
  try {
    return read_prof_json(text, "fuzz", Wanted::kAll);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void check_both_parsers(std::string text) {
  text.reserve(text.size() + 64);
  const auto in_windows = read_stream(text, 64);
  const auto in_one = read_stream(text, kOneWindow);
  fuzz::require(in_windows.has_value() == in_one.has_value(), "windows do not change what is read");
  if (in_windows) {
    fuzz::require(same_profiles(in_windows->profile, in_one->profile),
                  "windows do not change what is found");
  }
  const auto fast = read_any(text);
  const auto slow = read_tree(text);
  fuzz::require(fast.has_value() == slow.has_value(), "both parsers accept the same documents");
  if (fast) fuzz::require(same_profiles(*fast, *slow), "both parsers find the same");
}

}  // namespace
}  // namespace inline_prof::read

void inline_prof::fuzz::check(const std::string& text) {
  read::check_both_parsers(text);
}
