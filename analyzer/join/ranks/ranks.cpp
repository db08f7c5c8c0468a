#include "join/ranks/ranks.hpp"

#include "join/rows/file_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>

namespace inline_prof::join {
namespace {

RankEvent key_of(const read::Event& event) {
  return {event.layer, event.name, event.occurrence};
}

std::string name_of(const RankEvent& event) {
  const auto& [layer, name, occurrence] = event;
  return fmt::format("{}{}{}{}", layer, layer.empty() ? "" : " ", name,
                     occurrence > 0 ? fmt::format(" #{}", occurrence) : "");
}

const read::Device* device_of(const read::Profile& profile, std::int64_t device_id) {
  const auto it = std::ranges::find(profile.devices, device_id, &read::Device::device_id);
  return it == profile.devices.end() ? nullptr : &*it;
}

// A time that is not known yet.
constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

void add_known(double& sum_us, double us) {
  sum_us = std::isnan(sum_us) ? us : sum_us + us;
}

void predict_events(RankEvents& events, const read::Profile& profile,
                    const PredictOperation& predict) {
  events.predicted_us.assign(events.in_file_order.size(), kNotMeasured);
  if (profile.events.empty()) return;
  const std::int64_t first_device = profile.events.front().device_id;
  const read::Device* const device = device_of(profile, first_device);
  if (device != nullptr) events.gpu = device->name;
  for (const read::Event& event : profile.events) {
    if (event.device_id != first_device || !event.op) continue;
    if (const auto time_us = predict(*event.op, device))
      add_known(events.predicted_us[events.places.at(key_of(event))], *time_us);
  }
}

std::shared_ptr<const RankEvents> events_of(const read::Profile& profile,
                                            const PredictOperation& predict) {
  auto own = std::make_shared<RankEvents>();
  for (const read::Event& event : profile.events) {
    const RankEvent key = key_of(event);
    if (own->places.try_emplace(key, own->in_file_order.size()).second)
      own->in_file_order.push_back(key);
  }
  // All ranks of a run list the same, but for those that ran something else.
  static std::mutex mutex;
  static std::shared_ptr<const RankEvents> last;
  const std::lock_guard lock(mutex);
  if (last == nullptr || last->in_file_order != own->in_file_order) {
    predict_events(*own, profile, predict);
    last = std::move(own);
  }
  return last;
}

// By their names: files, and hash tables, have other orders.
template <typename Events>
std::vector<RankEvent> in_order(const Events& events) {
  std::vector<RankEvent> sorted(events.begin(), events.end());
  std::ranges::sort(sorted, {}, [](const RankEvent& event) {
    const auto& [layer, name, occurrence] = event;
    return std::tie(layer.str(), name.str(), occurrence);
  });
  return sorted;
}

// Adds up the rows that are in no other.
StageTimes stage_times_of(const read::Profile& profile, const PredictOperation& predict) {
  StageTimes times;
  const FileRows file = rows_of(profile, std::nullopt, {});
  times.iteration_us = file.run.iteration.us;
  double predicted_us = 0.0;
  bool are_all_predicted = true;
  double events = 0;
  double unmeasured = 0;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const Row& row = file.rows[i];
    if (row.parent) continue;
    events += 1;
    unmeasured += row.corrected_us ? 0 : 1;
    if (!row.corrected_us) continue;
    const double us = *row.corrected_us * static_cast<double>(row.calls);
    const read::Event& event = profile.events[i];
    if (!is_collective(event)) {
      times.computing_us += us;
    } else if (!is_point_to_point(*event.op)) {
      times.collectives_us += us;
    } else {
      const std::string name = event.op->get<std::string>("op").value_or("");
      (name == "send"   ? times.sends_us
       : name == "recv" ? times.receives_us
                        : times.exchanges_us) += us;
      const auto own_us = predict(*event.op, device_of(profile, event.device_id));
      are_all_predicted = are_all_predicted && own_us.has_value();
      predicted_us += own_us.value_or(0.0) * static_cast<double>(row.calls);
    }
  }
  if (are_all_predicted) times.predicted_us = predicted_us;
  if (events > 0) times.unmeasured_part = unmeasured / events;
  return times;
}

StageTimes median_of(const std::vector<RankSummary>& ranks) {
  StageTimes result;
  const auto known = [&](auto member) {
    std::vector<double> values;
    for (const RankSummary& rank : ranks) {
      if (!rank.stage) continue;
      const std::optional<double> value = (*rank.stage).*member;
      if (value) values.push_back(*value);
    }
    return values;
  };
  for (const auto member :
       {&StageTimes::computing_us, &StageTimes::collectives_us, &StageTimes::sends_us,
        &StageTimes::receives_us, &StageTimes::exchanges_us, &StageTimes::unmeasured_part})
    result.*member = median(known(member));
  for (const auto member : {&StageTimes::iteration_us, &StageTimes::predicted_us}) {
    std::vector<double> values = known(member);
    if (values.size() == ranks.size()) result.*member = median(std::move(values));
  }
  return result;
}

// Returns the ranks of each stage, if ranks ran different things and all send or receive: ranks
// joined by the communicators of their sends are one pipeline, whose stages have the ranks' order.
std::vector<std::vector<RankSummary>> stages_of(const std::vector<RankSummary>& ranks) {
  const auto is_like_first = [&](const RankSummary& rank) {
    const RankEvents& first = *ranks.front().events;
    return rank.events == ranks.front().events ||
           (rank.events->places.size() == first.places.size() &&
            std::ranges::all_of(first.in_file_order, [&](const RankEvent& event) {
              return rank.events->places.contains(event);
            }));
  };
  const auto sends = [](const RankSummary& rank) { return !rank.facts.exchanges.empty(); };
  if (std::ranges::all_of(ranks, is_like_first) || !std::ranges::all_of(ranks, sends)) return {};
  const auto number_of = [](const RankSummary* rank) { return rank->facts.rank; };
  std::vector<const RankSummary*> ordered;
  ordered.reserve(ranks.size());
  for (const RankSummary& rank : ranks)
    ordered.push_back(&rank);
  std::ranges::stable_sort(ordered, {}, number_of);
  std::map<std::string_view, std::size_t> pipeline_of;  // of a communicator
  std::vector<std::vector<const RankSummary*>> pipelines;
  for (const RankSummary* rank : ordered) {
    const std::size_t own = pipelines.size();
    pipelines.push_back({rank});
    for (const std::string& communicator : rank->facts.exchanges) {
      const auto [it, is_new] = pipeline_of.try_emplace(communicator, own);
      if (is_new || it->second == own) continue;
      const std::size_t joined = it->second;
      auto& members = pipelines[own];
      members.insert(members.begin(), pipelines[joined].begin(), pipelines[joined].end());
      pipelines[joined].clear();
      for (auto& [name, pipeline] : pipeline_of) {
        if (pipeline == joined) pipeline = own;
      }
    }
  }
  std::vector<std::vector<RankSummary>> stages;
  for (auto& pipeline : pipelines) {
    std::ranges::stable_sort(pipeline, {}, number_of);
    if (stages.size() < pipeline.size()) stages.resize(pipeline.size());
    for (std::size_t stage = 0; stage < pipeline.size(); ++stage)
      stages[stage].push_back(*pipeline[stage]);
  }
  return stages;
}

// Returns the events that all ranks have and that are the same work on each, in the order of their
// names.  Ranks of one program may differ in some kernels, as where their batches differ in size:
// behind one that only some ranks have, the occurrences of its name are others.  Refuses ranks of
// different programs.
std::vector<RankEvent> common_events(const std::vector<RankSummary>& ranks,
                                     std::vector<std::string>& warnings) {
  const RankSummary& first = ranks.front();
  const auto name_and_layer = [](const RankEvent& event) {
    return std::pair(std::get<0>(event).str(), std::get<1>(event).str());
  };
  std::set<std::pair<std::string, std::string>> uneven;
  std::string difference;
  std::size_t others = 0;
  for (const RankSummary& rank : ranks) {
    std::vector<RankEvent> different;
    const auto keep_others = [&](const RankEvents& all, const RankEvents& known) {
      for (const RankEvent& event : all.in_file_order) {
        if (!known.places.contains(event)) different.push_back(event);
      }
    };
    if (rank.events != first.events) {
      keep_others(*first.events, *rank.events);
      keep_others(*rank.events, *first.events);
    }
    if (different.empty()) continue;
    different = in_order(different);
    for (const RankEvent& event : different)
      uneven.insert(name_and_layer(event));
    const bool is_of_first = first.events->places.contains(different.front());
    const std::string words = fmt::format(
        "{} and {} have different events ({} in one of them only, the first is \"{}\" in {})",
        first.file, rank.file, different.size(), name_of(different.front()),
        is_of_first ? first.file : rank.file);
    if (2 * different.size() >= first.events->places.size() + rank.events->places.size())
      throw std::invalid_argument(words +
                                  ": ranks that ran different programs cannot be compared; name "
                                  "the files of those that ran the same");
    if (others++ == 0) difference = words;
  }
  if (others > 0)
    warnings.push_back(
        fmt::format("{}{}: those that all ranks have are compared", difference,
                    others > 1 ? fmt::format(", as have {} more files", others - 1) : ""));
  std::vector<RankEvent> common = in_order(first.events->in_file_order);
  std::erase_if(common,
                [&](const RankEvent& event) { return uneven.contains(name_and_layer(event)); });
  return common;
}

using Devices = std::vector<const RankSummary::Device*>;

Devices devices_of(const std::vector<RankSummary>& ranks) {
  Devices devices;
  for (const RankSummary& rank : ranks) {
    for (const RankSummary::Device& device : rank.devices)
      devices.push_back(&device);
  }
  return devices;
}

void refuse_other_layout(const std::vector<RankSummary>& ranks, const RankLayout& layout) {
  if (layout.empty()) return;
  std::int64_t product = 1;
  std::vector<std::string> words;
  for (const auto& [name, size] : layout) {
    product *= size;
    words.push_back(fmt::format("{}={}", name, size));
    if (product > 1'000'000'000) break;
  }
  for (const RankSummary& rank : ranks) {
    if (!rank.facts.rank)
      throw std::invalid_argument(rank.file + ": no rank, which a layout of ranks needs");
    const std::int64_t world_size = rank.facts.world_size.value_or(product);
    if (world_size == product && *rank.facts.rank < product) continue;
    throw std::invalid_argument(fmt::format("{}: rank {} of {}, but the layout {} has {} ranks",
                                            rank.file, *rank.facts.rank, world_size,
                                            fmt::join(words, ","), product));
  }
}

// Times of one event, for the devices that have measured it.
struct EventTimes {
  std::vector<std::size_t> devices;
  std::vector<double> times_us;
};

EventTimes times_of(const Devices& devices, const RankEvent& event) {
  EventTimes times;
  const RankEvents* list = nullptr;
  std::size_t place = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->events.get() != list) {
      list = devices[i]->events.get();
      place = list->places.at(event);
    }
    const double time_us = devices[i]->median_us[place];
    if (std::isnan(time_us)) continue;
    times.devices.push_back(i);
    times.times_us.push_back(time_us);
  }
  return times;
}

// Patterns by position: dimension and value.
using Patterns = std::map<std::pair<std::size_t, std::size_t>, RankPattern>;

RankPattern& pattern_of(Patterns& patterns, const CommonOutlier& common,
                        const std::vector<Dimension>& dimensions) {
  const auto [it, is_new] = patterns.try_emplace({common.dimension, common.value});
  if (is_new) {
    const Dimension& dimension = dimensions[common.dimension];
    it->second.dimension = dimension.name;
    it->second.value = dimension.values[common.value];
    it->second.devices =
        static_cast<std::size_t>(std::ranges::count(dimension.of_device, common.value));
  }
  return it->second;
}

double lost_us(const RankPattern& pattern) {
  double sum = 0;
  for (const RankPattern::Event& event : pattern.events)
    sum += event.time_us - event.median_us;
  return sum;
}

// Returns a device's time over the prediction, of the events that have both; collectives wait.
std::optional<double> of_predicted(const RankSummary::Device& device, const RankSummary& first) {
  const RankEvents& events = *device.events;
  if (device.gpu != events.gpu) return std::nullopt;
  double measured_us = 0;
  double predicted_us = 0;
  for (std::size_t i = 0; i < events.in_file_order.size(); ++i) {
    if (std::isnan(device.median_us[i]) || std::isnan(events.predicted_us[i]) ||
        first.collectives.contains(events.in_file_order[i]))
      continue;
    measured_us += device.median_us[i];
    predicted_us += events.predicted_us[i];
  }
  return predicted_us > 0 ? std::optional(measured_us / predicted_us) : std::nullopt;
}

void add_predictions(const RankSummary& first, const Devices& devices, RankComparison& result) {
  if (result.slow_devices.empty()) return;
  std::vector<double> all;
  for (const RankSummary::Device* device : devices) {
    const auto own = of_predicted(*device, first);
    if (!own) continue;
    all.push_back(*own);
    for (Straggler& slow : result.slow_devices) {
      if (slow.device.file == device->device.file &&
          slow.device.device_id == device->device.device_id)
        slow.of_predicted = own;
    }
  }
  for (Straggler& slow : result.slow_devices) {
    if (slow.of_predicted) slow.others_of_predicted = median(all);
  }
}

// An event's time over that of the other devices, and the time.
using RatioAndTime = std::pair<double, double>;

// The median over the device's time: short kernels, which are as fast on any device, do not outvote
// long ones.
double ratio_as_a_whole(std::vector<RatioAndTime> events) {
  std::ranges::sort(events);
  double left_us = 0;
  for (const auto& [ratio, time_us] : events)
    left_us += time_us / 2;
  for (const auto& [ratio, time_us] : events) {
    left_us -= time_us;
    if (left_us <= 0) return ratio;
  }
  return events.back().first;
}

void find_stragglers(const std::vector<RankSummary>& ranks, const Devices& devices,
                     const std::vector<RankEvent>& events, const RankOptions& options,
                     RankComparison& result) {
  std::vector<DevicePlace> places;
  for (const RankSummary::Device* device : devices)
    places.push_back({device->device.host, device->device.rank, device->device.local_device});
  const std::vector<Dimension> dimensions = dimensions_of(places, options.layout);
  Patterns patterns;
  std::vector<std::vector<RatioAndTime>> ratios(devices.size());
  std::size_t untold = 0;
  for (const RankEvent& event : events) {
    // The late rank is the one that waits least in a collective: see CollectiveSplit.
    if (ranks.front().collectives.contains(event)) continue;
    if (std::ranges::any_of(devices, [&](const auto* device) {
          const std::size_t place = device->events->places.at(event);
          return device->has_few_samples[place] || std::isnan(device->median_us[place]);
        }))
      ++result.events_of_few_samples;
    const EventTimes times = times_of(devices, event);
    if (times.times_us.empty()) continue;
    const double middle = median(times.times_us);
    if (!(middle > 0)) continue;
    for (std::size_t i = 0; i < times.devices.size(); ++i)
      ratios[times.devices[i]].emplace_back(times.times_us[i] / middle, times.times_us[i]);
    const Outliers outliers =
        find_outliers(times.times_us, times.devices, dimensions, options.least_ratio);
    const auto& [layer, name, occurrence] = event;
    for (const CommonOutlier& common : outliers.common)
      pattern_of(patterns, common, dimensions)
          .events.push_back({layer, name, occurrence, common.devices, common.slow_devices,
                             common.time, common.median, common.time / common.median});
    for (const SingleOutlier& single : outliers.single) {
      const RankSummary::Device& device = *devices[times.devices[single.index]];
      if (device.has_few_samples[device.events->places.at(event)]) {
        ++untold;
        continue;
      }
      const double time_us = times.times_us[single.index];
      result.stragglers.push_back({device.device, layer, name, occurrence, time_us, single.median,
                                   time_us / single.median});
    }
  }
  if (untold > 0)
    result.warnings.push_back(
        fmt::format("{} times a device was slower in an event of which it has fewer than {} "
                    "samples, which may be chance: no straggler",
                    untold, kLeastRankSamples));
  std::ranges::stable_sort(result.stragglers, [](const Straggler& a, const Straggler& b) {
    return a.time_us - a.median_us > b.time_us - b.median_us;
  });

  EventTimes wholes;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (ratios[i].empty()) continue;
    wholes.devices.push_back(i);
    wholes.times_us.push_back(ratio_as_a_whole(std::move(ratios[i])));
  }
  if (wholes.devices.empty()) return;
  const Outliers outliers =
      find_outliers(wholes.times_us, wholes.devices, dimensions, options.least_ratio);
  for (const CommonOutlier& common : outliers.common)
    pattern_of(patterns, common, dimensions).ratio = common.time / common.median;
  for (const SingleOutlier& single : outliers.single) {
    Straggler slow;
    slow.device = devices[wholes.devices[single.index]]->device;
    slow.ratio = wholes.times_us[single.index] / single.median;
    result.slow_devices.push_back(std::move(slow));
  }
  std::ranges::stable_sort(result.slow_devices, std::greater{}, &Straggler::ratio);
  add_predictions(ranks.front(), devices, result);

  for (auto& [position, pattern] : patterns) {
    std::ranges::stable_sort(pattern.events, std::greater{}, [](const RankPattern::Event& event) {
      return event.time_us - event.median_us;
    });
    result.patterns.push_back(std::move(pattern));
  }
  std::ranges::stable_sort(result.patterns, std::greater{}, lost_us);
}

// A collective of the ranks that take part.
struct Meeting {
  struct Part {
    const RankSummary::Device* device;
    RankEvent event;  // stages of a pipeline number it otherwise
  };
  RankEvent event;  // the first rank's
  std::vector<Part> parts{};
};

const std::map<std::int64_t, double>& times_of(const Meeting::Part& part) {
  return part.device->of_iteration_us.at(part.event);
}

// Returns the iterations that every one of the devices has measured.  Ranks that launch different
// things may find their iterations some steps apart, and then number them otherwise.
std::vector<std::int64_t> common_iterations(const Meeting& meeting) {
  std::vector<std::int64_t> common;
  for (const Meeting::Part& part : meeting.parts) {
    if (part.device->numbering != meeting.parts.front().device->numbering) return common;
  }
  for (const auto& sample : times_of(meeting.parts.front())) {
    const bool is_everywhere = std::ranges::all_of(meeting.parts, [&](const Meeting::Part& part) {
      return times_of(part).contains(sample.first);
    });
    if (is_everywhere) common.push_back(sample.first);
  }
  return common;
}

CollectiveSplit split(const Meeting& meeting) {
  const std::vector<std::int64_t> iterations = common_iterations(meeting);
  std::vector<std::vector<double>> rounds;  // each with a time of each device
  for (const std::int64_t iteration : iterations) {
    std::vector<double>& times_us = rounds.emplace_back();
    for (const Meeting::Part& part : meeting.parts)
      times_us.push_back(times_of(part).at(iteration));
  }
  // Ranks that do not launch quite the same take their turns in other orders.
  if (iterations.empty()) {
    std::vector<double>& times_us = rounds.emplace_back();
    for (const auto& [device, event] : meeting.parts)
      times_us.push_back(device->median_us[device->events->places.at(event)]);
  }
  std::vector<double> transfers_us;
  std::vector<double> mean_waits_us;
  std::vector<std::vector<double>> waits_us(meeting.parts.size());
  for (const std::vector<double>& times_us : rounds) {
    const double least = std::ranges::min(times_us);
    transfers_us.push_back(least);
    mean_waits_us.push_back(mean(times_us) - least);
    for (std::size_t i = 0; i < times_us.size(); ++i)
      waits_us[i].push_back(times_us[i] - least);
  }
  std::vector<double> usual_waits_us;
  usual_waits_us.reserve(waits_us.size());
  for (std::vector<double>& waits : waits_us)
    usual_waits_us.push_back(median(std::move(waits)));
  const auto last =
      static_cast<std::size_t>(std::ranges::min_element(usual_waits_us) - usual_waits_us.begin());
  CollectiveSplit result;
  std::tie(result.layer, result.event, result.occurrence) = meeting.event;
  result.iterations = iterations.size();
  result.transfer_us = median(std::move(transfers_us));
  result.wait_us = median(std::move(mean_waits_us));
  const bool has_enough = std::ranges::all_of(meeting.parts, [&](const Meeting::Part& part) {
    return (iterations.empty() ? times_of(part).size() : iterations.size()) >= kLeastRankSamples;
  });
  if (has_enough) result.last = meeting.parts[last].device->device;
  for (const auto& [device, event] : meeting.parts) {
    const auto it = device->predicted_us.find(event);
    if (it == device->predicted_us.end()) continue;
    // The slowest device's link is that of all.
    result.predicted_us = std::max(result.predicted_us.value_or(0), it->second);
  }
  if (result.predicted_us) result.ratio = result.transfer_us / *result.predicted_us;
  return result;
}

// Ranks know a collective by its communicator and its number in it; where these were not seen, by
// what it is called.
void split_collectives(const std::vector<RankSummary>& ranks, RankComparison& result) {
  std::map<std::string, Meeting> meetings;
  for (const RankSummary& rank : ranks) {
    for (const RankEvent& event : rank.collectives) {
      if (rank.exchanges.contains(event)) continue;
      const auto known = rank.communicators.find(event);
      const std::string key = known == rank.communicators.end() ? name_of(event) : known->second;
      Meeting& meeting = meetings.try_emplace(key, Meeting{.event = event}).first->second;
      for (const RankSummary::Device& device : rank.devices) {
        if (device.of_iteration_us.contains(event)) meeting.parts.push_back({&device, event});
      }
    }
  }
  const std::size_t all = devices_of(ranks).size();
  for (const auto& [key, meeting] : meetings) {
    std::set<const RankSummary::Device*> devices;
    for (const Meeting::Part& part : meeting.parts)
      devices.insert(part.device);
    const std::string name = name_of(meeting.event);
    if (devices.empty()) {
      result.unsplit.push_back(name + ": no samples with iterations");
    } else if (devices.size() == 1) {
      result.unsplit.push_back(name + ": measured on one device only");
    } else if (devices.size() < meeting.parts.size()) {
      result.unsplit.push_back(name + ": a device has two of that communicator and number");
    } else {
      CollectiveSplit& own = result.collectives.emplace_back(split(meeting));
      if (devices.size() == all) continue;
      for (const Meeting::Part& part : meeting.parts) {
        if (part.device->device.rank) own.ranks.push_back(*part.device->device.rank);
      }
    }
  }
  std::ranges::sort(result.unsplit);
  std::ranges::sort(result.collectives, {}, [](const CollectiveSplit& split) {
    return std::tuple(-split.wait_us, split.layer, split.event, split.occurrence);
  });
}

// The median of the newest bins that hold enough samples for one.
double newest_us(const std::vector<watch::Bin>& history) {
  constexpr std::uint64_t enough_samples = 30;
  watch::QuantileSketch newest;
  for (auto bin = history.rbegin(); bin != history.rend() && newest.count() < enough_samples; ++bin)
    newest.merge(bin->sketch);
  return newest.quantile(0.5) * 1e-3;
}

// Leaves of each watched rank that was started again the newest process only, whose times are its
// own; the histories of all are joined.
void join_restarts(std::vector<RankSummary>& ranks, RankComparison& result, double least_ratio) {
  std::vector<WatchedFile> files;
  for (const RankSummary& rank : ranks) {
    if (rank.watched) files.push_back(*rank.watched);
  }
  if (files.empty()) return;
  const std::vector<bool> newer = have_newer(files);
  std::size_t i = 0;
  std::erase_if(ranks, [&](const RankSummary& rank) { return rank.watched && newer[i++]; });
  result.watched = watched_run(std::move(files), least_ratio);
}

void mark_names_met_twice(const Devices& devices, RankComparison& result) {
  const auto name_of = [](const RankDevice& device) {
    return std::tuple(device.host, device.rank, device.device_id);
  };
  std::map<decltype(name_of({})), std::size_t> times;
  for (const RankSummary::Device* device : devices)
    ++times[name_of(device->device)];
  const auto mark = [&](RankDevice& device) { device.is_named_twice = times[name_of(device)] > 1; };
  for (Straggler& slow : result.slow_devices)
    mark(slow.device);
  for (Straggler& slow : result.stragglers)
    mark(slow.device);
  for (CollectiveSplit& split : result.collectives)
    if (split.last) mark(*split.last);
}

}  // namespace

RankSummary summarise_rank(const read::Profile& profile, const PredictOperation& predict) {
  RankSummary summary;
  summary.file = profile.file;
  summary.facts = file_facts(profile);
  if (!profile.complete) summary.incomplete = why_incomplete(profile);
  summary.is_simulated = profile.simulated;
  summary.phase = read::shown_phase(profile);
  summary.events = events_of(profile, predict);
  if (profile.watched) summary.watched = watched_file(profile, nested_rows(profile));
  std::map<std::int64_t, std::size_t> place_of;
  for (const read::Event& event : profile.events) {
    const RankEvent key = key_of(event);
    if (is_collective(event)) {
      summary.collectives.insert(key);
      if (is_point_to_point(*event.op)) summary.exchanges.insert(key);
      const std::string communicator = communicator_of(*event.op);
      if (!communicator.empty()) summary.communicators.emplace(key, communicator);
    }
    if (event.measured_ms.empty()) continue;
    const auto [it, is_new] = place_of.try_emplace(event.device_id, summary.devices.size());
    if (is_new)
      summary.devices.emplace_back().device = {.file = profile.file,
                                               .host = profile.host_name,
                                               .rank = profile.rank,
                                               .device_id = event.device_id,
                                               .local_device = event.device_id};
    RankSummary::Device& device = summary.devices[it->second];
    if (is_new) {
      device.events = summary.events;
      if (const auto* const of = device_of(profile, event.device_id)) device.gpu = of->name;
      if (profile.profiler.iteration_source == "auto") device.numbering = summary.facts.event_list;
      device.median_us.assign(summary.events->places.size(), kNotMeasured);
      device.has_few_samples.assign(summary.events->places.size(), false);
    }
    const std::size_t place = summary.events->places.at(key);
    if (event.measured_ms.size() < kLeastRankSamples) device.has_few_samples[place] = true;
    add_known(device.median_us[place],
              event.history.empty() ? median(event.measured_ms) * 1e3 : newest_us(event.history));
    if (!is_collective(event) || event.iterations.size() != event.measured_ms.size()) continue;
    if (const auto time_us = predict(*event.op, device_of(profile, event.device_id)))
      device.predicted_us.emplace(key, *time_us);
    for (std::size_t i = 0; i < event.iterations.size(); ++i)
      device.of_iteration_us[key][event.iterations[i]] = event.measured_ms[i] * 1e3;
  }
  // A process with one device may see it as number 0 whichever it is.
  if (summary.devices.size() == 1 && profile.local_rank)
    summary.devices.front().device.local_device = *profile.local_rank;
  if (!summary.exchanges.empty()) summary.stage = stage_times_of(profile, predict);
  return summary;
}

RankComparison compare_ranks(std::vector<RankSummary> ranks, const RankOptions& options) {
  RankComparison result;
  if (ranks.empty()) return result;
  join_restarts(ranks, result, options.least_ratio);
  refuse_other_layout(ranks, options.layout);
  result.events = ranks.front().events->in_file_order.size();
  const auto compare = [&](const std::vector<RankSummary>& group) {
    const std::vector<RankEvent> events = common_events(group, result.warnings);
    find_stragglers(group, devices_of(group), events, options, result);
    return events.size();
  };
  const std::vector<std::vector<RankSummary>> stages = stages_of(ranks);
  for (const std::vector<RankSummary>& stage : stages) {
    compare(stage);
    PipelineStage& own = result.stages.emplace_back();
    for (const RankSummary& rank : stage)
      own.ranks.push_back(rank.facts.rank.value_or(-1));
    own.times = median_of(stage);
  }
  if (stages.empty()) result.events = compare(ranks);
  const Devices devices = devices_of(ranks);
  result.phase = ranks.front().phase;
  result.devices = devices.size();
  split_collectives(ranks, result);
  mark_names_met_twice(devices, result);
  std::vector<FileFacts> facts;
  for (const RankSummary& rank : ranks) {
    facts.push_back(rank.facts);
    result.is_simulated = result.is_simulated || rank.is_simulated;
    if (!rank.incomplete.empty()) result.warnings.push_back(rank.file + ": " + rank.incomplete);
  }
  for (std::string& warning : belonging_warnings(facts))
    result.warnings.push_back(std::move(warning));
  return result;
}

}  // namespace inline_prof::join
