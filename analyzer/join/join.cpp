#include "join/join.hpp"

#include "join/belonging.hpp"
#include "join/isolate.hpp"
#include "join/merge.hpp"
#include "join/nesting.hpp"
#include "join/predict_rows.hpp"
#include "join/samples.hpp"
#include "join/shares.hpp"
#include "join/worth_fixing.hpp"
#include "model/machines.hpp"
#include "model/op_work.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace inline_prof::join {
namespace {

std::string_view statistic_name(Statistic statistic) {
  switch (statistic) {
    case Statistic::kMedian:
      return "median";
    case Statistic::kMean:
      return "mean";
    case Statistic::kMin:
      return "min";
  }
  return "";
}

// Streams in the order in which a device met them, for files that only know their handles.
class StreamNumbers {
 public:
  explicit StreamNumbers(const read::Profile& profile) {
    std::vector<const read::Event*> events;
    for (const read::Event& event : profile.events)
      events.push_back(&event);
    std::stable_sort(events.begin(), events.end(),
                     [](const auto* a, const auto* b) { return a->start_index < b->start_index; });
    for (const read::Event* event : events) {
      auto& of_device = numbers_[event->device_id];
      of_device.try_emplace(event->stream, static_cast<std::int64_t>(of_device.size()));
    }
  }
  [[nodiscard]] std::int64_t of(const read::Event& event) const {
    return event.stream_index.value_or(numbers_.at(event.device_id).at(event.stream));
  }

 private:
  std::map<std::int64_t, std::map<std::string, std::int64_t>> numbers_;
};

// Machines of one run's devices, and what there is to say about them.
class DeviceMachines {
 public:
  DeviceMachines(Run& run, std::span<const read::Machine> known,
                 const std::optional<read::Machine>& chosen) {
    if (chosen) {
      everywhere_ = &*chosen;
      run.machines.assign(run.profile.devices.size(), chosen->id);
      ids_.insert(chosen->id);
      return;
    }
    if (run.profile.devices.empty()) reasons_.insert("the file does not say which GPU it ran on");
    for (const read::Device& device : run.profile.devices) {
      const model::Match match = model::match_machine(device, known);
      run.machines.push_back(match.machine == nullptr ? "" : match.machine->id);
      if (match.machine == nullptr) {
        reasons_.insert(match.reason);
        continue;
      }
      by_device_[device.device_id] = match.machine;
      ids_.insert(match.machine->id);
      if (!match.doubt.empty()) doubts_.insert(match.doubt);
    }
  }
  [[nodiscard]] const read::Machine* of(std::int64_t device_id) const {
    if (everywhere_ != nullptr) return everywhere_;
    const auto it = by_device_.find(device_id);
    return it == by_device_.end() ? nullptr : it->second;
  }
  [[nodiscard]] const std::set<std::string>& ids() const { return ids_; }
  [[nodiscard]] const std::set<std::string>& reasons() const { return reasons_; }
  [[nodiscard]] const std::set<std::string>& doubts() const { return doubts_; }

 private:
  const read::Machine* everywhere_ = nullptr;
  std::map<std::int64_t, const read::Machine*> by_device_;
  std::set<std::string> ids_;
  std::set<std::string> reasons_;
  std::set<std::string> doubts_;
};

std::string attribute_text(const read::Op& op, std::string_view name) {
  const read::Attribute* attribute = op.find(name);
  if (attribute == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(attribute)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(attribute)) return fmt::format("{}", *number);
  return {};
}

// Ranks know a collective by its communicator and its number in it; where these were not seen, by
// what it is called.
std::string meeting_of(const read::Event& event) {
  if (!event.op || event.op->kind != op_kind_name(OpKind::kCollective)) return {};
  const std::string comm = attribute_text(*event.op, "comm");
  const std::string sequence = attribute_text(*event.op, "sequence");
  if (!comm.empty() && !sequence.empty()) return fmt::format("{} {}", comm, sequence);
  return fmt::format("{}.{}#{}", event.layer, event.name, event.occurrence);
}

// Of the one kernel that the event launches; 0 if there are several.
double blocks_of(const read::Event& event) {
  if (event.kernel_names.size() > 1) return 0;
  double blocks = 1;
  for (const std::int64_t side : event.launch.grid)
    blocks *= static_cast<double>(side);
  return blocks;
}

Row make_row(const read::Event& event, std::size_t run, std::int64_t stream_index) {
  Row row;
  row.profile = run;
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
  row.meeting = meeting_of(event);
  if (!event.op) return row;
  row.op_kind = event.op->kind;
  const model::OpWork work = model::work_of(*event.op);
  if (work.reason.empty()) {
    row.flops = work.flops.value;
    row.bytes = work.traffic.value;
  }
  return row;
}

void set_measured(Row& row, const Samples& samples, Statistic statistic) {
  row.samples = samples.raw_us.size();
  row.not_tight = samples.not_tight;
  if (samples.raw_us.empty()) return;
  row.raw_us = summarise(statistic, samples.raw_us);
  row.raw_spread_us = median_spread(samples.raw_us);
  const double unbiased_us = summarise(statistic, samples.unbiased_us);
  row.bias_us = *row.raw_us - unbiased_us;
  row.corrected_us = std::max(0.0, unbiased_us);
  row.mean_us = std::max(0.0, mean(samples.unbiased_us));
  if (statistic == Statistic::kMedian) row.raw_ci95_us = median_interval95(samples.raw_us);
}

// Hosts that run ahead give offsets of many iterations: such an offset says nothing about the place
// of the event in its own iteration.  Returns how many were left out.
std::size_t set_offset(Row& row, const read::Event& event,
                       const std::optional<double>& iteration_us) {
  if (row.any_occurrence) return 0;  // there is no iteration that it could have a place in
  std::vector<double> usable_us;
  std::size_t left_out = 0;
  for (const double offset_ms : event.offsets_ms) {
    if (!std::isfinite(offset_ms)) continue;  // the writer did not know it
    const bool beyond = iteration_us && std::abs(offset_ms * 1e3) > *iteration_us;
    if (beyond) {
      ++left_out;
    } else {
      usable_us.push_back(offset_ms * 1e3);
    }
  }
  if (!usable_us.empty()) row.offset_us = median(std::move(usable_us));
  return left_out;
}

std::string joined(const std::set<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

class Joiner {
 public:
  Joiner(std::span<const read::Machine> known, const JoinOptions& options)
      : known_(known), options_(options) {
    analysis_.statistic = statistic_name(options.statistic);
  }

  Analysis run(std::vector<read::Profile> profiles) {
    // Rows point at the operations and machines of all runs until they are predicted.
    for (read::Profile& profile : profiles) {
      Run run;
      run.profile = std::move(profile);
      analysis_.runs.push_back(std::move(run));
    }
    for (std::size_t i = 0; i < analysis_.runs.size(); ++i)
      add_run(i);
    predict_rows(analysis_.rows, inputs_, model::Predictor(options_.mode));
    if (options_.isolated) {
      std::vector<const read::Op*> ops;
      for (const RowInput& input : inputs_)
        ops.push_back(input.op);
      set_isolated(analysis_, ops, *options_.isolated);
    }
    merge_devices(analysis_, samples_, options_.statistic);
    merge_isolated(analysis_);
    compute_shares(analysis_);
    find_worth_fixing(analysis_);
    summarise_rows();
    for (Run& run : analysis_.runs)
      run.profile.events.clear();
    if (options_.keep_samples) {
      for (Samples& samples : samples_)
        analysis_.samples_us.push_back(std::move(samples.unbiased_us));
    }
    return std::move(analysis_);
  }

 private:
  void add_run(std::size_t index) {
    Run& run = analysis_.runs[index];
    read::Profile& profile = run.profile;
    if (options_.layers) apply_rules(profile);
    if (!profile.iter_time_ms.empty()) {
      const double iteration_us = median(profile.iter_time_ms) * 1e3;
      if (iteration_us > 0) run.iteration_us = iteration_us;  // nothing is a share of no time
    }
    const DeviceMachines& machines = machines_.emplace_back(run, known_, options_.machine);
    note_machines(machines);
    std::vector<Row> rows = nested_rows(profile, index);
    const EventBias bias(options_.event_bias, profile, rows);
    bias_sources_.insert(bias.source());
    if (!bias.detail().empty()) bias_details_.insert(bias.detail());
    for (const std::string& warning : bias.warnings())
      warn(profile, warning);

    const std::size_t first = analysis_.rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const read::Event& event = profile.events[i];
      Row& row = rows[i];
      if (row.parent) *row.parent += first;
      Samples samples = collect_samples(event, bias);
      set_measured(row, samples, options_.statistic);
      analysis_.dropped_offsets += set_offset(row, event, run.iteration_us);
      if (row.raw_us && row.bias_us > *row.raw_us) ++shorter_than_bias_;
      analysis_.rows.push_back(std::move(row));
      samples_.push_back(std::move(samples));
      inputs_.push_back({.op = event.op ? &*event.op : nullptr,
                         .machine = machines.of(event.device_id),
                         .blocks = blocks_of(event)});
    }
    analysis_.negative_times += static_cast<std::size_t>(profile.negative_times);
    note_kernel_floor(profile);
    for (const std::string& warning : profile.warnings)
      warn(profile, warning);
  }

  static std::vector<Row> nested_rows(const read::Profile& profile, std::size_t index) {
    const StreamNumbers streams(profile);
    std::vector<Row> rows;
    for (const read::Event& event : profile.events) {
      rows.push_back(make_row(event, index, streams.of(event)));
    }
    find_nesting(rows);
    return rows;
  }

  void apply_rules(read::Profile& profile) {
    const read::Layers& layers = *options_.layers;
    for (const std::size_t rule : read::apply_layers(layers, profile)) {
      warn(profile, fmt::format("rule {} of {} (\"{}\") fits no event", rule, layers.file,
                                layers.rules[rule].match));
    }
  }

  void note_machines(const DeviceMachines& machines) {
    machine_ids_.insert(machines.ids().begin(), machines.ids().end());
    machine_reasons_.insert(machines.reasons().begin(), machines.reasons().end());
    analysis_.warnings.insert(analysis_.warnings.end(), machines.doubts().begin(),
                              machines.doubts().end());
  }

  void note_kernel_floor(const read::Profile& profile) {
    for (const read::Calibration& calibration : profile.calibration) {
      if (calibration.state != read::PairState::kBusy || !calibration.empty_pair_us ||
          !calibration.empty_kernel_pair_us) {
        continue;
      }
      kernel_floors_us_.push_back(calibration.empty_kernel_pair_us->median -
                                  calibration.empty_pair_us->median);
    }
  }

  void warn(const read::Profile& profile, std::string_view what) {
    analysis_.warnings.push_back(fmt::format("{}: {}", profile.file, what));
  }

  void summarise_rows() {
    analysis_.machine = joined(machine_ids_, ",");
    analysis_.machine_reason = joined(machine_reasons_, "; ");
    analysis_.event_bias_source = joined(bias_sources_, ",");
    analysis_.event_bias_detail = joined(bias_details_, "; ");
    if (!kernel_floors_us_.empty()) analysis_.kernel_floor_us = median(kernel_floors_us_);
    std::vector<double> biases_us;
    std::vector<PredictedAndMeasured> pairs;
    std::vector<PredictedAndMeasured> uncorrected_pairs;
    for (const Row& row : analysis_.rows) {
      if (!row.raw_us) continue;
      analysis_.samples += row.samples;
      if (row.raw_spread_us) analysis_.outliers += row.raw_spread_us->outliers;
      biases_us.push_back(row.bias_us);
      if (row.predicted_us && !row.is_sum_of_children) {
        pairs.push_back({.predicted = *row.predicted_us, .measured = *row.corrected_us});
        if (*row.corrected_us > 0) {  // the same rows in both
          uncorrected_pairs.push_back({.predicted = *row.predicted_us, .measured = *row.raw_us});
        }
      }
    }
    if (!biases_us.empty()) analysis_.event_bias_us = median(std::move(biases_us));
    analysis_.errors = prediction_errors(pairs);
    analysis_.uncorrected_errors = prediction_errors(uncorrected_pairs);
    if (shorter_than_bias_ > 0) {
      analysis_.warnings.push_back(fmt::format(
          "{} events are shorter than what the event pair adds; their corrected time is set to 0",
          shorter_than_bias_));
    }
    for (std::string& warning : belonging_warnings(analysis_.runs)) {
      analysis_.warnings.push_back(std::move(warning));
    }
  }

  std::span<const read::Machine> known_;
  const JoinOptions& options_;
  Analysis analysis_;
  std::vector<Samples> samples_;  // of each row
  std::vector<RowInput> inputs_;  // of each row
  std::list<DeviceMachines> machines_;
  std::set<std::string> bias_sources_;
  std::set<std::string> bias_details_;
  std::set<std::string> machine_ids_;
  std::set<std::string> machine_reasons_;
  std::vector<double> kernel_floors_us_;
  std::size_t shorter_than_bias_ = 0;
};

}  // namespace

Analysis join_profiles(std::vector<read::Profile> profiles, std::span<const read::Machine> known,
                       const JoinOptions& options) {
  return Joiner(known, options).run(std::move(profiles));
}

}  // namespace inline_prof::join
