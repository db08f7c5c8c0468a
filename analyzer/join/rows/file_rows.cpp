#include "join/rows/file_rows.hpp"

#include "model/roofline.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace inline_prof::join {
namespace {

std::size_t count_tight(const read::Event& event, read::Tight wanted) {
  const std::size_t known = std::min(event.tight.size(), event.measured_ms.size());
  const auto end = event.tight.begin() + static_cast<std::ptrdiff_t>(known);
  return static_cast<std::size_t>(std::count(event.tight.begin(), end, wanted));
}

// Returns the median over the samples that are not tight; empty if most of their threads have not
// waited.
std::optional<double> after_wait_us(const read::Event& event) {
  if (event.after_wait_us.empty()) return std::nullopt;
  std::vector<double> known;
  std::size_t late = 0;
  const std::size_t count = std::min(event.tight.size(), event.after_wait_us.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (event.tight[i] != read::Tight::kNo) continue;
    ++late;
    if (std::isfinite(event.after_wait_us[i])) known.push_back(event.after_wait_us[i]);
  }
  if (2 * known.size() <= late) return std::nullopt;
  return median(std::move(known));
}

}  // namespace

void Samples::add(const read::Event& event, const EventBias& bias) {
  measured_ms_.insert(measured_ms_.end(), event.measured_ms.begin(), event.measured_ms.end());
  ends_.push_back(static_cast<std::uint32_t>(measured_ms_.size()));
  if (!event.measured_ms.empty()) {
    if (const auto bias_us = bias.of_all_samples_us(event)) {
      bias_us_.push_back(static_cast<float>(*bias_us));
    } else {
      for (std::size_t i = 0; i < event.measured_ms.size(); ++i)
        bias_us_.push_back(static_cast<float>(bias.of_sample_us(event, i)));
    }
  }
  bias_ends_.push_back(static_cast<std::uint32_t>(bias_us_.size()));
}

void Samples::append_us(std::size_t i, std::vector<double>& raw_us,
                        std::vector<double>& unbiased_us) const {
  const std::span<const float> times_ms = measured_ms(i);
  const std::span<const float> biases_us = bias_us(i);
  for (std::size_t sample = 0; sample < times_ms.size(); ++sample) {
    const double time_us = static_cast<double>(times_ms[sample]) * 1e3;
    const float bias_us = biases_us[biases_us.size() == 1 ? 0 : sample];
    raw_us.push_back(time_us);
    unbiased_us.push_back(time_us - static_cast<double>(bias_us));
  }
}

std::span<const float> Samples::measured_ms(std::size_t i) const {
  const std::size_t first = i == 0 ? 0 : ends_[i - 1];
  return {measured_ms_.data() + first, ends_[i] - first};
}

std::span<const float> Samples::bias_us(std::size_t i) const {
  const std::size_t first = i == 0 ? 0 : bias_ends_[i - 1];
  return {bias_us_.data() + first, bias_ends_[i] - first};
}

void Samples::shrink() {
  measured_ms_.shrink_to_fit();
  ends_.shrink_to_fit();
  bias_us_.shrink_to_fit();
  bias_ends_.shrink_to_fit();
}

void SamplesOfRuns::add(Samples samples, std::size_t first_row) {
  samples.shrink();
  samples_.push_back(std::move(samples));
  first_rows_.push_back(first_row);
}

void SamplesOfRuns::leave_out(std::size_t run, std::size_t rows) {
  const auto place = static_cast<std::ptrdiff_t>(run);
  samples_.erase(samples_.begin() + place);
  first_rows_.erase(first_rows_.begin() + place);
  for (std::size_t later = run; later < first_rows_.size(); ++later)
    first_rows_[later] -= rows;
}

void SamplesOfRuns::append_us(std::size_t run, std::size_t row, std::vector<double>& raw_us,
                              std::vector<double>& unbiased_us) const {
  samples_[run].append_us(row - first_rows_[run], raw_us, unbiased_us);
}

namespace {

// Returns mean and median of the samples less their biases.
std::pair<double, double> unbiased_us(const read::Event& event, const EventBias& bias) {
  static thread_local std::vector<double> times_us;
  times_us.clear();
  for (std::size_t i = 0; i < event.measured_ms.size(); ++i)
    times_us.push_back(event.measured_ms[i] * 1e3 - bias.of_sample_us(event, i));
  const double mean_us = mean(times_us);
  std::ranges::sort(times_us);
  return {mean_us, median_of_sorted(times_us)};
}

// Fills in the measured times of `row`, which is that of `event`.
void set_measured(Row& row, const read::Event& event, const EventBias& bias) {
  row.samples = event.measured_ms.size();
  row.late = count_tight(event, read::Tight::kNo);
  row.queued = count_tight(event, read::Tight::kYes);
  // A pair inside a graph holds no wait for its launch.
  row.not_tight = row.is_graph_node ? 0 : row.late;
  row.after_wait_us = after_wait_us(event);
  if (event.measured_ms.empty()) return;
  // Kept from event to event: there are as many of them as there are ranks times layers.
  static thread_local std::vector<double> raw_us;
  raw_us.clear();
  for (const double time_ms : event.measured_ms)
    raw_us.push_back(time_ms * 1e3);
  const double raw_mean_us = mean(raw_us);
  std::ranges::sort(raw_us);
  row.raw_us = median_of_sorted(raw_us);
  row.raw_spread_us = median_spread_of_sorted(raw_us);
  row.raw_ci95_us = median_interval95_of_sorted(raw_us);

  const std::optional<double> bias_us = bias.of_all_samples_us(event);
  const auto [mean_us, median_us] = bias_us
                                        ? std::pair(raw_mean_us - *bias_us, *row.raw_us - *bias_us)
                                        : unbiased_us(event, bias);
  row.bias_us = *row.raw_us - median_us;
  row.mean_us = std::max(0.0, mean_us);
  row.corrected_us = std::max(0.0, median_us);
}

// How far equal launches of one run differ from each other: what is known of a time that was
// measured only once.
constexpr double kLeastFreedom = 8;    // degrees of it: a variance is known within a factor of two
constexpr double kLeastSigma = 0.005;  // clocks differ by that much between runs
constexpr double k95 = 1.96;           // standard deviations of a normal distribution

struct Variance {
  double squares = 0;
  double freedom = 0;

  void add(const std::vector<double>& logarithms) {
    double mean = 0;
    for (const double each : logarithms)
      mean += each / static_cast<double>(logarithms.size());
    for (const double each : logarithms)
      squares += (each - mean) * (each - mean);
    freedom += static_cast<double>(logarithms.size()) - 1;
  }
  [[nodiscard]] std::optional<double> sigma() const {
    if (freedom < kLeastFreedom) return std::nullopt;
    return std::max(std::sqrt(squares / freedom), kLeastSigma);
  }
};

// Copies through the host and collectives wait for others.
bool waits_for_nobody(const read::Event& event) {
  return !event.kernel_name.empty() && !is_collective(event);
}

// Sets raw_ci95_us of rows that have too few samples for one, from launches of the same kernel for
// the same operation: the pooled variance of the logarithms of their times, over the kernel's
// launches where they are enough, else over all kernels that wait for nobody.  `rows` are those of
// `events`, one each.
void set_intervals_of_few_samples(std::vector<Row>& rows, const std::vector<read::Event>& events) {
  std::map<std::string, std::pair<const read::Event*, std::vector<double>>> equal;
  for (const read::Event& event : events) {
    auto& [first, logarithms] =
        equal[fmt::format("{} {} {}", event.name, fmt::join(event.launch.grid, ","),
                          event.op ? read::op_text(*event.op) : "")];
    first = &event;
    for (const double ms : event.measured_ms)
      if (ms > 0) logarithms.push_back(std::log(ms));
  }
  Variance all;
  std::map<std::string, Variance> by_name;
  for (const auto& [key, launches] : equal) {
    const auto& [event, logarithms] = launches;
    if (logarithms.size() < 2) continue;
    by_name[event->name].add(logarithms);
    if (waits_for_nobody(*event)) all.add(logarithms);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (!row.raw_us || row.raw_ci95_us || row.samples == 0) continue;
    std::optional<double> sigma = by_name[events[i].name].sigma();
    if (!sigma && waits_for_nobody(events[i])) sigma = all.sigma();
    if (!sigma) continue;
    const double factor = std::exp(k95 * *sigma / std::sqrt(static_cast<double>(row.samples)));
    row.raw_ci95_us = Interval{*row.raw_us / factor, *row.raw_us * factor};
  }
}

// Streams in the order in which a device met them, for files that only know their handles.
class StreamNumbers {
 public:
  explicit StreamNumbers(const read::Profile& profile) {
    std::vector<const read::Event*> events;
    for (const read::Event& event : profile.events) {
      if (!event.stream_index) events.push_back(&event);
    }
    std::ranges::stable_sort(
        events, [](const auto* a, const auto* b) { return a->start_index < b->start_index; });
    for (const read::Event* event : events) {
      auto& of_device = numbers_[event->device_id];
      of_device.try_emplace(event->stream, static_cast<std::int64_t>(of_device.size()));
    }
  }
  [[nodiscard]] std::int64_t of(const read::Event& event) const {
    if (event.stream_index) return *event.stream_index;
    return numbers_.at(event.device_id).at(event.stream);
  }

 private:
  std::map<std::int64_t, std::map<std::string, std::int64_t>> numbers_;
};

// Ranks know a collective by its communicator and its number in it; where these were not seen, by
// what it is called.
std::string meeting_of(const read::Event& event) {
  if (!is_collective(event) || is_point_to_point(*event.op)) return {};
  std::string communicator = communicator_of(*event.op);
  if (!communicator.empty()) return communicator;
  return fmt::format("{}.{}#{}", event.layer, event.name, event.occurrence);
}

Row make_row(const read::Event& event, std::int64_t stream_index) {
  Row row;
  row.layer = event.layer;
  row.event = event.name;
  row.kernel_name = event.kernel_name;
  row.device_id = event.device_id;
  row.stream_index = stream_index;
  row.start_index = event.start_index;
  row.end_index = event.end_index;
  row.occurrence = event.occurrence;
  row.calls = event.calls.value_or(1);
  row.any_occurrence = event.has_flag(format::kFlagAnyOccurrence);
  row.is_graph_node = event.in_cuda_graph && !event.has_flag(format::kFlagGraphWhole);
  if (event.measured_ms.empty()) row.unmeasured_reason = event.reason;
  row.overlap_removed = event.has_flag(format::kFlagPdlRemoved);
  row.meeting = meeting_of(event);
  row.is_one_launch = blocks_of(event) > 0;
  if (!event.op) return row;
  row.op_kind = event.op->kind;
  row.sizes = read::sizes_text(*event.op);
  // Data that go from stage to stage of a pipeline belong to no module.
  if (event.layer.empty() && is_collective(event) && is_point_to_point(*event.op))
    row.layer = event.op->get<std::string>("op").value_or("");
  row.source = event.op->source;
  const model::OpWork work = model::work_of(*event.op);
  if (work.reason.empty()) {
    row.flops = work.flops.value;
    row.bytes = work.traffic.value;
  }
  return row;
}

// The longest that an offset can be and still say where the event lies in its own iteration.  The
// original profiler's host may run ahead, which gives offsets of many iterations.
std::optional<double> longest_offset_us(const read::Profile& profile,
                                        const std::optional<double>& iteration_us) {
  if (!profile.capabilities.times_whole_iterations || profile.iter_time_ms.empty())
    return iteration_us;
  return *std::ranges::max_element(profile.iter_time_ms) * 1e3;
}

// Files do not number the times of their iterations: they are those of the iterations with samples
// where there are as many, else of iterations in a row, which may begin a few before the first
// sample, and go on behind the last one while the overhead is measured.
class TimesOfIterations {
 public:
  explicit TimesOfIterations(const read::Profile& profile) {
    if (!profile.capabilities.times_whole_iterations) return;
    std::set<std::int64_t> numbers;
    for (const read::Event& event : profile.events)
      numbers.insert(event.iterations.begin(), event.iterations.end());
    const std::size_t count = profile.iter_time_ms.size();
    if (numbers.empty() || count == 0) return;
    if (numbers.size() == count) {
      auto number = numbers.begin();
      for (const double ms : profile.iter_time_ms)
        ms_.emplace(*number++, ms);
      return;
    }
    const auto first = first_number(profile, *numbers.begin(), *numbers.rbegin());
    for (std::size_t i = 0; first && i < count; ++i)
      ms_.emplace(*first + static_cast<std::int64_t>(i), profile.iter_time_ms[i]);
  }

  // Returns where the event begins in an iteration of `iteration_us`, by the parts of their own
  // iterations that lie before its samples: the sum of the offsets over that of the iterations.
  // Iterations that something else has held up count only if there are no others.
  [[nodiscard]] std::optional<double> offset_us(const read::Event& event,
                                                double iteration_us) const {
    if (event.offsets_ms.empty() || event.offsets_ms.size() != event.iterations.size()) return {};
    constexpr double most_of_usual = 1.5;
    for (const double longest_us :
         {most_of_usual * iteration_us, std::numeric_limits<double>::infinity()}) {
      double offsets_ms = 0.0;
      double iterations_ms = 0.0;
      for (std::size_t i = 0; i < event.offsets_ms.size(); ++i) {
        const auto own_ms = ms_.find(event.iterations[i]);
        if (own_ms == ms_.end() || !std::isfinite(event.offsets_ms[i]) ||
            own_ms->second * 1e3 > longest_us)
          continue;
        offsets_ms += event.offsets_ms[i];
        iterations_ms += own_ms->second;
      }
      if (iterations_ms > 0) return offsets_ms / iterations_ms * iteration_us;
    }
    return std::nullopt;
  }

 private:
  // Returns the iteration of the first time: the number by which the fewest samples begin behind
  // the end of their own iteration; the largest if there are several.  `first` and `last` are
  // iterations with samples.
  static std::optional<std::int64_t> first_number(const read::Profile& profile, std::int64_t first,
                                                  std::int64_t last) {
    constexpr std::int64_t most_before = 8;
    const auto& times_ms = profile.iter_time_ms;
    const auto spare = static_cast<std::int64_t>(times_ms.size()) - (last - first + 1);
    if (spare < 0 || (spare > 0 && profile.phases.size() > 1)) return std::nullopt;
    std::optional<std::int64_t> found;
    std::size_t least_behind = 0;
    for (std::int64_t number = first; number >= first - std::min(spare, most_before); --number) {
      std::size_t behind = 0;
      for (const read::Event& event : profile.events) {
        const std::size_t samples = std::min(event.offsets_ms.size(), event.iterations.size());
        for (std::size_t i = 0; i < samples; ++i) {
          if (event.offsets_ms[i] >
              times_ms[static_cast<std::size_t>(event.iterations[i] - number)])
            ++behind;
        }
      }
      if (found && behind >= least_behind) continue;
      found = number;
      least_behind = behind;
    }
    return found;
  }

  std::unordered_map<std::int64_t, double> ms_;
};

// Returns how many offsets were left out.
std::size_t set_offset(Row& row, const read::Event& event,
                       const std::optional<double>& longest_us) {
  if (row.any_occurrence) return 0;  // there is no iteration that it could have a place in
  static thread_local std::vector<double> usable_us;  // kept from event to event
  usable_us.clear();
  std::size_t left_out = 0;
  for (const double offset_ms : event.offsets_ms) {
    if (!std::isfinite(offset_ms)) continue;  // the writer did not know it
    const bool beyond = longest_us && std::abs(offset_ms * 1e3) > *longest_us;
    if (beyond) {
      ++left_out;
    } else {
      usable_us.push_back(offset_ms * 1e3);
    }
  }
  if (usable_us.empty()) return left_out;
  const base::MedianAndInterval offset = base::median_and_interval95(usable_us);
  row.offset_us = offset.median;
  row.offset_ci95_us = offset.ci95;
  return left_out;
}

}  // namespace

double blocks_of(const read::Event& event) {
  if (event.kernel_names.size() > 1) return 0;
  double blocks = 1;
  for (const std::int64_t side : event.launch.grid)
    blocks *= static_cast<double>(side);
  return blocks;
}

namespace {

std::vector<double> kernel_floors_us(const read::Profile& profile, const BiasSetting& setting) {
  std::vector<double> floors_us;
  for (const read::Calibration& calibration : profile.calibration) {
    if (calibration.state != read::PairState::kBusy || !calibration.empty_pair_us ||
        !calibration.empty_kernel_pair_us)
      continue;
    double pair_us = calibration.empty_pair_us->median;
    if (setting.kind == BiasSetting::Kind::kChain)
      pair_us = chain_bias_us(calibration).value_or(pair_us);
    floors_us.push_back(calibration.empty_kernel_pair_us->median - pair_us);
  }
  return floors_us;
}

}  // namespace

std::vector<Row> nested_rows(const read::Profile& profile) {
  const StreamNumbers streams(profile);
  std::vector<Row> rows;
  rows.reserve(profile.events.size());
  for (const read::Event& event : profile.events)
    rows.push_back(make_row(event, streams.of(event)));
  find_nesting(rows);
  return rows;
}

FileRows rows_of(read::Profile profile, const std::optional<read::Layers>& layers,
                 const BiasSetting& event_bias) {
  FileRows file;
  const auto warn = [&](std::string_view what) {
    file.warnings.push_back(fmt::format("{}: {}", profile.file, what));
  };
  if (layers) {
    for (const std::size_t rule : read::apply_layers(*layers, profile))
      warn(fmt::format("rule {} of {} (\"{}\") fits no event", rule, layers->file,
                       layers->rules[rule].match));
  }
  file.run.iteration = iteration_of(profile.iter_time_ms);
  file.run.exchanges = exchanges_of(profile);
  file.run.event_list = event_list_of(profile);
  file.run.kernels = kernels_of(profile);
  file.rows = nested_rows(profile);
  const EventBias bias(event_bias, profile, file.rows);
  file.bias_source = bias.source();
  file.bias_detail = bias.detail();
  for (const std::string& warning : bias.warnings())
    warn(warning);
  const std::optional<double>& iteration_us = file.run.iteration.us;
  const auto longest_us = longest_offset_us(profile, iteration_us);
  const TimesOfIterations times(profile);
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const read::Event& event = profile.events[i];
    Row& row = file.rows[i];
    set_measured(row, event, bias);
    // Without a pair the time is the kernel's own, however late it was launched.
    if (!profile.capabilities.has_event_pair_bias) row.not_tight = 0;
    file.samples.add(event, bias);
    file.dropped_offsets += set_offset(row, event, longest_us);
    if (iteration_us && !row.any_occurrence)
      row.mean_offset_us = times.offset_us(event, *iteration_us);
    if (row.raw_us && row.bias_us > *row.raw_us) ++file.shorter_than_bias;
  }
  if (!profile.capabilities.has_event_pair_bias)
    set_intervals_of_few_samples(file.rows, profile.events);
  file.kernel_floors_us = kernel_floors_us(profile, event_bias);
  for (const std::string& warning : profile.warnings)
    warn(warning);
  file.run.profile = std::move(profile);
  return file;
}

}  // namespace inline_prof::join
