#include "join/rows/event_bias.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace inline_prof::join {
namespace {

using read::PairState;

constexpr std::size_t index(PairState state) {
  return static_cast<std::size_t>(state);
}

PairState state_of(const read::Event& event, std::size_t sample) {
  // A whole graph is launched from a stream, so its pair stands outside; only nodes have theirs
  // inside.
  if (event.in_cuda_graph && !event.has_flag(format::kFlagGraphWhole)) return PairState::kGraph;
  const bool known = sample < event.tight.size();
  return known && event.tight[sample] == read::Tight::kNo ? PairState::kIdle : PairState::kBusy;
}

std::optional<double> look_up(const std::array<std::optional<double>, 3>& by_state,
                              PairState wanted) {
  for (const PairState state : {wanted, PairState::kBusy, PairState::kIdle}) {
    if (by_state[index(state)]) return by_state[index(state)];
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> chain_bias_us(const read::Calibration& calibration) {
  if (!calibration.empty_kernel_pair_us || !calibration.added_kernel_us) return std::nullopt;
  const double kernel_us = calibration.added_kernel_us->median;
  const double bias_us = calibration.empty_kernel_pair_us->median - kernel_us;
  if (kernel_us <= 0 || bias_us <= 0) return std::nullopt;
  return bias_us;
}

EventBias::EventBias(const BiasSetting& setting, const read::Profile& profile,
                     const std::vector<Row>& rows) {
  switch (profile.capabilities.has_event_pair_bias ? setting.kind : BiasSetting::Kind::kOff) {
    case BiasSetting::Kind::kGiven:
      constant_us_ = setting.given_us;
      source_ = "given";
      break;
    case BiasSetting::Kind::kOff:
      source_ = "off";
      break;
    case BiasSetting::Kind::kAuto:
    case BiasSetting::Kind::kChain:
      use_calibration(profile, setting.kind == BiasSetting::Kind::kChain);
      if (by_device_.empty()) use_nested_regions(profile, rows);
      break;
  }
}

void EventBias::use_calibration(const read::Profile& profile, bool against_chain) {
  std::array<std::vector<double>, 3> all;
  bool has_chain = false;
  for (const read::Calibration& calibration : profile.calibration) {
    std::optional<double> bias_us = against_chain ? chain_bias_us(calibration) : std::nullopt;
    has_chain = has_chain || bias_us;
    if (!bias_us && calibration.empty_pair_us) bias_us = calibration.empty_pair_us->median;
    if (!bias_us) continue;
    by_device_[calibration.device_id][index(calibration.state)] = bias_us;
    all[index(calibration.state)].push_back(*bias_us);
  }
  if (against_chain && !has_chain) warn_of_no_chain(profile);
  if (by_device_.empty()) return;
  source_ = has_chain ? "chain" : "calibration";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].empty()) elsewhere_[i] = median(all[i]);
  }
  std::set<std::int64_t> missing;
  for (const read::Event& event : profile.events) {
    if (!event.measured_ms.empty() && !by_device_.contains(event.device_id))
      missing.insert(event.device_id);
  }
  if (!missing.empty())
    warnings_.push_back(
        fmt::format("device {} was not calibrated: the median of the other devices is taken",
                    fmt::join(missing, ", ")));
}

void EventBias::warn_of_no_chain(const read::Profile& profile) {
  constexpr std::string_view read_as = "read as by auto";
  for (const read::Calibration& calibration : profile.calibration) {
    if (!calibration.empty_kernel_pair_us || !calibration.added_kernel_us) continue;
    warnings_.push_back(fmt::format(
        "--event-bias chain: a further kernel adds {:g} us to a pair that takes {:g} us around "
        "one, "
        "expected more than 0 and less than the pair; {}",
        calibration.added_kernel_us->median, calibration.empty_kernel_pair_us->median, read_as));
    return;
  }
  warnings_.push_back(
      fmt::format("--event-bias chain: the file has no pairs around a chain of "
                  "kernels (added_kernel_us); {}",
                  read_as));
}

void EventBias::use_nested_regions(const read::Profile& profile, const std::vector<Row>& rows) {
  if (const auto nested_regions = nested_region_bias(profile.events, rows)) {
    constant_us_ = nested_regions->bias_us;
    source_ = "closure";
    detail_ = fmt::format("{} regions, a lower bound", nested_regions->regions);
    return;
  }
  source_ = "none";
  warnings_.push_back(
      "the event pairs were not calibrated: corrected times still hold what a pair adds");
}

double EventBias::of_sample_us(const read::Event& event, std::size_t sample) const {
  if (by_device_.empty()) return constant_us_;
  const PairState state = state_of(event, sample);
  const auto device = by_device_.find(event.device_id);
  if (device != by_device_.end()) {
    if (const auto bias = look_up(device->second, state)) return *bias;
  }
  return look_up(elsewhere_, state).value_or(0.0);
}

std::optional<double> EventBias::of_all_samples_us(const read::Event& event) const {
  const double first_us = of_sample_us(event, 0);
  if (by_device_.empty()) return first_us;
  for (std::size_t i = 1; i < event.measured_ms.size(); ++i) {
    if (state_of(event, i) != state_of(event, 0)) return std::nullopt;
  }
  return first_us;
}

std::optional<NestedRegions> nested_region_bias(std::span<const read::Event> events,
                                                const std::vector<Row>& rows) {
  const auto is_timed = [&](std::size_t i) { return !events[i].measured_ms.empty(); };
  // An event may be the region of some and a child of another.
  std::vector<std::optional<double>> medians_us(events.size());
  const auto median_us = [&](std::size_t i) {
    if (!medians_us[i]) medians_us[i] = median(events[i].measured_ms) * 1e3;
    return *medians_us[i];
  };

  const auto children = children_of(rows);
  std::vector<double> estimates_us;
  for (std::size_t region = 0; region < rows.size(); ++region) {
    const auto& inner = children[region];
    if (inner.size() < 2 || !is_timed(region)) continue;
    if (!std::ranges::all_of(inner, is_timed)) continue;
    double sum_us = 0.0;
    for (const std::size_t child : inner)
      sum_us += median_us(child);
    const double excess_us = sum_us - median_us(region);
    if (excess_us < 0) continue;
    estimates_us.push_back(excess_us / (static_cast<double>(inner.size()) - 1.0));
  }
  if (estimates_us.empty()) return std::nullopt;
  const std::size_t regions = estimates_us.size();
  return NestedRegions{.bias_us = median(std::move(estimates_us)), .regions = regions};
}

}  // namespace inline_prof::join
