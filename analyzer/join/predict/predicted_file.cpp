#include "join/predict/predicted_file.hpp"

#include "join/predict/predict_rows.hpp"
#include "model/machines.hpp"
#include "model/registry.hpp"
#include "model/roofline.hpp"
#include "model/units.hpp"
#include "read/input_error.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace inline_prof::join {
namespace {

// Machines of one run's devices, and what there is to say about them.
class DeviceMachines {
 public:
  DeviceMachines(const std::vector<read::Device>& devices, std::span<const read::Machine> known,
                 const std::optional<read::Machine>& chosen) {
    if (chosen) {
      everywhere_ = &*chosen;
      of_devices_.assign(devices.size(), chosen->id);
      ids_.insert(chosen->id);
      return;
    }
    if (devices.empty()) reasons_.insert("the file does not say which GPU it ran on");
    for (const read::Device& device : devices) {
      const model::Match match = model::match_machine(device, known);
      of_devices_.push_back(match.machine == nullptr ? "" : match.machine->id);
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
  // Ids, one for each device; "" if not known.
  [[nodiscard]] const std::vector<std::string>& of_devices() const { return of_devices_; }
  [[nodiscard]] const std::set<std::string>& ids() const { return ids_; }
  [[nodiscard]] const std::set<std::string>& reasons() const { return reasons_; }
  [[nodiscard]] const std::set<std::string>& doubts() const { return doubts_; }

 private:
  const read::Machine* everywhere_ = nullptr;
  std::map<std::int64_t, const read::Machine*> by_device_;
  std::vector<std::string> of_devices_;
  std::set<std::string> ids_;
  std::set<std::string> reasons_;
  std::set<std::string> doubts_;
};

std::vector<RowInput> inputs_of(const read::Profile& profile, const DeviceMachines& machines) {
  std::vector<RowInput> inputs;
  inputs.reserve(profile.events.size());
  for (const read::Event& event : profile.events) {
    inputs.push_back({.op = event.op ? &*event.op : nullptr,
                      .machine = machines.of(event.device_id),
                      .blocks = blocks_of(event),
                      .launch = event.kernel_names.size() > 1 ? nullptr : &event.launch,
                      .neighbours = &event.neighbours,
                      .has_other_grids = event.has_flag(format::kFlagOtherGrids)});
  }
  return inputs;
}

void refuse_another_gpu(const model::OwnFamilies& families, const std::string& file,
                        const std::set<std::string>& machine_ids) {
  for (const std::string& id : machine_ids) {
    if (families.contains(id)) continue;
    throw read::InputError(fmt::format("{}: ran on {}, expected {}, on which --params was fitted",
                                       file, id, families.begin()->first));
  }
}

// A product inside a region with an operation of its own is that region's.
void set_peak_times(std::vector<Row>& rows, const std::vector<RowInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].op == nullptr || inputs[i].machine == nullptr) continue;
    if (const auto time = model::time_at_peak(*inputs[i].op, *inputs[i].machine))
      rows[i].peak_us = model::in_microseconds(*time);
  }
  for (Row& row : rows) {
    for (auto parent = row.parent; parent && row.peak_us; parent = rows[*parent].parent) {
      if (rows[*parent].peak_us) row.peak_us.reset();
    }
  }
}

}  // namespace

PredictedFile predicted_file(FileRows measured, std::span<const read::Machine> known,
                             const PredictOptions& options) {
  PredictedFile file{.measured = std::move(measured)};
  Run& run = file.measured.run;
  const DeviceMachines machines(run.profile.devices, known, options.machine);
  run.machines = machines.of_devices();
  file.machine_ids = machines.ids();
  file.machine_reasons = machines.reasons();
  file.machine_doubts = machines.doubts();
  if (options.families) refuse_another_gpu(*options.families, run.profile.file, file.machine_ids);
  const std::vector<RowInput> inputs = inputs_of(run.profile, machines);
  const bool are_published = options.models == model::Models::kPublished;
  std::vector<Row> rows = predicted_rows(std::move(file.measured.rows), inputs,
                                         predictor_of_this_thread(options.models, options.families),
                                         are_published ? options.each_model.get() : nullptr);
  if (options.models == model::Models::kAll) set_by_model(rows, inputs, *options.each_model);
  set_peak_times(rows, inputs);
  if (options.isolated) {
    std::vector<const read::Op*> ops;
    ops.reserve(inputs.size());
    for (const RowInput& input : inputs)
      ops.push_back(input.op);
    file.isolated = set_isolated(rows, ops, *options.isolated);
  }
  file.measured.rows = std::move(rows);
  return file;
}

namespace {

// Two measurements of one thing differ by so much from process to process; less is no finding.
constexpr double kSame = 0.05;
// A prediction without an interval is right if it is no further off than this.
constexpr double kGoodPrediction = 0.1;

bool is_longer(double time_us, double other_us) {
  return time_us > other_us * (1 + kSame);
}

// Why the run's time is another than that of the operation alone.
std::string_view cause_in_the_run(const Row& row, const Isolated& alone) {
  const Interval in_run = row.raw_ci95_us ? Interval{row.raw_ci95_us->lower - row.bias_us,
                                                     row.raw_ci95_us->upper - row.bias_us}
                                          : Interval{*row.corrected_us, *row.corrected_us};
  const bool is_slower = is_longer(in_run.lower, alone.alone_ci95_us.upper);
  const bool is_faster = is_longer(alone.alone_ci95_us.lower, in_run.upper);
  if (!is_slower && !is_faster) return "";
  if (alone.is_stand_in) return "another kernel was measured alone";
  const bool know_both = !row.kernel_name.empty() && !alone.kernel_name.empty();
  if (know_both && row.kernel_name.str() != alone.kernel_name) return "kernel choice";
  return is_slower ? "contention or clock" : "warmer cache or clock";
}

bool is_predicted_wrongly(const Row& row, const Isolated& alone) {
  if (!row.predicted_us || alone.is_stand_in) return false;
  const Interval right = row.predicted_ci90_us
                             ? *row.predicted_ci90_us
                             : Interval{*row.predicted_us * (1 - kGoodPrediction),
                                        *row.predicted_us * (1 + kGoodPrediction)};
  return alone.alone_ci95_us.upper < right.lower || alone.alone_ci95_us.lower > right.upper;
}

std::string cause_of(const Row& row, const Isolated& alone) {
  std::string cause(cause_in_the_run(row, alone));
  if (is_predicted_wrongly(row, alone)) cause += cause.empty() ? "model" : "; model";
  return cause.empty() ? "none: as alone" : cause;
}

}  // namespace

IsolatedRows set_isolated(std::vector<Row>& rows, const std::vector<const read::Op*>& ops,
                          const read::IsolatedTimes& times) {
  IsolatedRows counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (ops[i] == nullptr || !row.corrected_us) continue;
    ++counts.with_op;
    const auto found = times.rows.find(read::op_text(*ops[i]));
    if (found == times.rows.end()) continue;
    ++counts.found;
    Isolated alone{.alone_us = found->second.time_us,
                   .alone_ci95_us = {found->second.lower_us, found->second.upper_us},
                   .kernel_name = found->second.kernel_name,
                   .is_stand_in = found->second.is_stand_in,
                   .cause = {}};
    alone.cause = cause_of(row, alone);
    row.isolated = std::move(alone);
  }
  return counts;
}

}  // namespace inline_prof::join
