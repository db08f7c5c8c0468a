#include "join/predict/predicted_file.hpp"

#include "join/predict/predict_rows.hpp"
#include "model/machines.hpp"
#include "model/roofline.hpp"
#include "read/input_error.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

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

void set_estimates(std::vector<Row>& rows, const std::vector<RowInput>& inputs, Peer& peer) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const RowInput& input = inputs[i];
    const bool is_product = input.op != nullptr && input.op->kind == op_kind_name(OpKind::kGemm);
    if (is_product && input.machine != nullptr)
      rows[i].vendor_estimate_us = peer.estimate_us(*input.op, *input.machine);
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
  if (options.peer) set_estimates(rows, inputs, *options.peer);
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

}  // namespace inline_prof::join
