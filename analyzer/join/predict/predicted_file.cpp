#include "join/predict/predicted_file.hpp"

#include "model/known_by_name.hpp"
#include "model/machines.hpp"
#include "model/registry.hpp"
#include "model/roofline.hpp"
#include "model/units.hpp"
#include "read/input_error.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace inline_prof::join {
namespace {

// The facts of one row before it is predicted; pointers may be null.
struct RowInput {
  const read::Op* op = nullptr;
  const read::Machine* machine = nullptr;
  double blocks = 0;                          // of the launch; 0: not known
  const read::LaunchShape* launch = nullptr;  // of a single kernel
  const read::Neighbours* neighbours = nullptr;
  bool has_other_grids = false;  // samples are of other shapes, too
};

constexpr const char* kSumOfChildren = "sum of children";
constexpr double kFalseDiscoveryRate = 0.05;

// Returns what name and grid tell, which is no prediction.
std::string known_of_kernel(const Row& row, const RowInput& input) {
  if (input.launch == nullptr || input.launch->grid[0] == 0) return {};  // no single kernel
  const auto known = model::known_by_name(row.event.str(), *input.launch);
  if (!known) return {};
  const std::string text = model::known_by_name_text(*known, input.machine);
  return known->most_elements > 0 ? "; by name and grid " + text
                                  : "; by name " + text + ", whose grid does not tell its sizes";
}

model::Operation operation_of(const Row& row, const RowInput& input) {
  return {*input.op,
          *input.machine,
          {row.kernel_name.str(), input.blocks, input.launch, input.neighbours}};
}

// Takes the first published model's answer, to the last digit.
void predict_published(Row& row, const model::ModelAnswer& answer) {
  const model::RowPrediction& prediction = answer.prediction;
  row.reason = prediction.reason;
  if (!prediction.time_us) return;
  row.predicted_us = prediction.time_us;
  if (prediction.lower_us && prediction.upper_us)
    row.predicted_ci90_us = Interval{*prediction.lower_us, *prediction.upper_us};
  row.bound = prediction.bound;
  row.model = answer.model;
  row.parameters = answer.parameters;
}

void set_prediction(Row& row, const model::Prediction& prediction) {
  row.predicted_us = model::in_microseconds(prediction.time);
  if (prediction.interval90)
    row.predicted_ci90_us = Interval{model::in_microseconds(prediction.interval90->first),
                                     model::in_microseconds(prediction.interval90->second)};
  row.bound = model::bound_name(prediction.bound);
  row.model = prediction.model;
  row.parameters = prediction.parameters;
  if (prediction.attainable) row.attainable_us = model::in_microseconds(*prediction.attainable);
  row.remedy = prediction.remedy;
  row.is_extrapolated = prediction.is_extrapolated;
  if (prediction.tail_probability && row.corrected_us) {
    const model::TailProbability tail_probability =
        prediction.tail_probability(model::microseconds(*row.corrected_us));
    row.p_slower = tail_probability.slower;
    row.p_faster = tail_probability.faster;
  }
}

void predict_from_op(Row& row, const RowInput& input, const model::Predictor& predictor,
                     model::EachModel* published) {
  const bool is_named_only =
      input.op != nullptr && input.op->kind == op_kind_name(OpKind::kOperator);
  if (is_named_only && input.machine != nullptr && published == nullptr) {
    const auto found = predictor.predict_by_name(
        *input.machine, {row.kernel_name.str(), input.blocks, input.launch, input.neighbours});
    if (found) return set_prediction(row, *found);
  }
  if (input.op == nullptr || is_named_only) {
    const bool has_source = is_named_only && !input.op->source.empty();
    const std::string known = known_of_kernel(row, input);
    row.reason = std::string(known.empty() ? "operation" : "sizes") + " not known" +
                 (has_source ? ": " + input.op->source : "") + known;
    return;
  }
  if (input.op->kind == op_kind_name(OpKind::kRegion)) {
    row.reason = "region without timed children";
    return;
  }
  if (input.has_other_grids) {
    row.reason = "its grid varies from iteration to iteration, and its shape is that of the first";
    return;
  }
  if (input.machine == nullptr) {
    row.reason = kMachineNotKnown;
    return;
  }
  const model::Operation operation = operation_of(row, input);
  if (published != nullptr) return predict_published(row, published->published(operation));
  const model::Outcome outcome = predictor.predict(*input.op, *input.machine, operation.kernel);
  if (!outcome.prediction) {
    row.reason = outcome.reason;
    return;
  }
  set_prediction(row, *outcome.prediction);
  const model::Prediction least = model::least_time(*input.op, *input.machine);
  row.possible_us = model::in_microseconds(least.time);
  row.possible_bound = model::bound_name(least.bound);
}

// False if no inner row is predicted, so that the row's own op has to do.
bool predict_from_children(std::vector<Row>& rows, std::size_t i,
                           const std::vector<std::size_t>& children) {
  const auto predicted = static_cast<std::size_t>(std::ranges::count_if(
      children, [&](std::size_t child) { return rows[child].predicted_us.has_value(); }));
  if (predicted == 0) return false;
  Row& row = rows[i];
  row.is_sum_of_children = true;
  if (predicted < children.size()) {
    row.reason = fmt::format("{} of {} children without prediction", children.size() - predicted,
                             children.size());
    return true;
  }
  double sum_us = 0.0;
  // Errors of one model on one GPU go the same way, so the ends add up, too.
  Interval sum_ci90_us{0.0, 0.0};
  bool have_intervals = true;
  for (const std::size_t child : children) {
    const double times = static_cast<double>(rows[child].calls) /
                         static_cast<double>(std::max<std::int64_t>(1, row.calls));
    sum_us += *rows[child].predicted_us * times;
    row.is_extrapolated = row.is_extrapolated || rows[child].is_extrapolated;
    if (!rows[child].predicted_ci90_us) {
      have_intervals = false;
      continue;
    }
    sum_ci90_us.lower += rows[child].predicted_ci90_us->lower * times;
    sum_ci90_us.upper += rows[child].predicted_ci90_us->upper * times;
  }
  row.predicted_us = sum_us;
  if (have_intervals) row.predicted_ci90_us = sum_ci90_us;
  row.model = kSumOfChildren;
  return true;
}

// A row that is faster than physics allows has no prediction, so that it is in no sum; nor has a
// region that is the sum of such rows.
void drop_impossible(std::vector<Row>& rows, std::size_t i) {
  Row& row = rows[i];
  constexpr double least_part = 0.9;     // GPUs clock up to 8 % above their data sheets
  constexpr double resolution_us = 0.5;  // of a pair of events
  if (!row.predicted_us || !row.corrected_us || !row.possible_us) return;
  const double working_us = *row.working_us();
  if (!(working_us > 0) || working_us + resolution_us >= least_part * *row.possible_us) return;
  row.reason = fmt::format("{:.1f} times faster than {} allows: bytes or time are wrong",
                           *row.possible_us / working_us,
                           row.possible_bound == "memory" ? "memory" : "the arithmetic");
  row.predicted_us.reset();
  row.predicted_ci90_us.reset();
  row.peak_us.reset();
  row.bound = "";
  row.verdict = Verdict::kImpossible;
  for (auto parent = row.parent; parent; parent = rows[*parent].parent) {
    if (!rows[*parent].is_sum_of_children) continue;
    rows[*parent].predicted_us.reset();
    rows[*parent].peak_us.reset();
    rows[*parent].predicted_ci90_us.reset();
    rows[*parent].reason = "a part of it is faster than its bound allows";
  }
}

void compare(Row& row, bool is_finding) {
  if (row.verdict == Verdict::kImpossible) return;
  if (!row.predicted_us) {
    row.verdict = Verdict::kNoPrediction;
  } else if (!row.corrected_us) {
    row.verdict = Verdict::kNotMeasured;
  } else {
    const double working_us = *row.working_us();
    row.ratio = working_us / *row.predicted_us;
    row.raw_ratio = (*row.raw_us - row.waited_us.value_or(0.0)) / *row.predicted_us;
    row.verdict = judge(working_us, *row.predicted_us, row.predicted_ci90_us,
                        {.is_extrapolated = row.is_extrapolated,
                         .is_finding = is_finding,
                         .may_hold_launching = may_hold_launching(row, working_us)});
  }
}

// Whether each row's time is a finding among all rows whose chances are known; the others are
// judged by their interval alone.
std::vector<bool> findings_of(const std::vector<Row>& rows) {
  std::vector<bool> findings(rows.size(), true);
  for (const auto p_value : {&Row::p_slower, &Row::p_faster}) {
    std::vector<std::size_t> tested;
    std::vector<double> p_values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!(rows[i].*p_value) || rows[i].is_extrapolated) continue;
      tested.push_back(i);
      p_values.push_back(*(rows[i].*p_value));
    }
    const auto found = discoveries(p_values, kFalseDiscoveryRate);
    // A time cannot be too long and too short: what the first pass took away the second gives back
    // only where it finds something.
    for (std::size_t i = 0; i < tested.size(); ++i) {
      const bool is_first_pass = p_value == &Row::p_slower;
      findings[tested[i]] = found[i] || (!is_first_pass && findings[tested[i]]);
    }
  }
  return findings;
}

}  // namespace

const model::Predictor& predictor_of_this_thread(
    model::Models models, const std::shared_ptr<const model::OwnFamilies>& families) {
  static thread_local std::shared_ptr<const model::OwnFamilies> own;
  static thread_local model::Predictor calibrated(model::Models::kCalibrated);
  if (own != families) {
    own = families;
    calibrated = model::Predictor(model::Models::kCalibrated, own);
  }
  static thread_local const model::Predictor roofline(model::Models::kRoofline);
  return models == model::Models::kRoofline ? roofline : calibrated;
}

std::vector<Row> judged_rows(std::vector<Row> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    drop_impossible(rows, i);
  const std::vector<bool> findings = findings_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    compare(rows[i], findings[i]);
  return rows;
}

std::vector<bool> discoveries(const std::vector<double>& p_values, double rate) {
  std::vector<double> sorted = p_values;
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  double limit = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] <= static_cast<double>(i + 1) / count * rate) limit = sorted[i];
  }
  std::vector<bool> found;
  found.reserve(p_values.size());
  for (const double p : p_values)
    found.push_back(p <= limit);
  return found;
}

namespace {

// Returns `rows` with the prediction of each, inner rows first: a region whose inner rows are
// predicted is predicted to take their sum, or not at all if one of them has no prediction.  A
// region without predicted inner rows is predicted from its own op, if it has one.  `published`, if
// it is not null, is asked in the place of `predictor`.
std::vector<Row> predicted_rows(std::vector<Row> rows, const std::vector<RowInput>& inputs,
                                const model::Predictor& predictor, model::EachModel* published) {
  const auto children = children_of(rows);
  for (const std::size_t i : inner_first(children, rows)) {
    if (!predict_from_children(rows, i, children[i]))
      predict_from_op(rows[i], inputs[i], predictor, published);
  }
  return rows;
}

// Fills in Row::by_model where the operation and the machine are known.
void set_by_model(std::vector<Row>& rows, const std::vector<RowInput>& inputs,
                  model::EachModel& models) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].op == nullptr || inputs[i].machine == nullptr) continue;
    for (const model::ModelAnswer& answer : models.answers(operation_of(rows[i], inputs[i]))) {
      if (!answer.is_covered) continue;
      const model::RowPrediction& found = answer.prediction;
      ModelTime& time = rows[i].by_model.emplace_back();
      time.model = answer.model;
      time.predicted_us = found.time_us;
      if (found.lower_us && found.upper_us)
        time.predicted_ci90_us = Interval{*found.lower_us, *found.upper_us};
      if (!found.time_us) time.reason = found.reason;
    }
  }
}

// Gives the machine of a device, null if it is not known.
using MachineOf = std::function<const read::Machine*(std::int64_t device_id)>;

// Finds the machines of one run's devices, and says in `file` what there is to say about them.
MachineOf find_machines(PredictedFile& file, std::span<const read::Machine> known,
                        const std::optional<read::Machine>& chosen) {
  Run& run = file.measured.run;
  const std::vector<read::Device>& devices = run.profile.devices;
  if (chosen) {
    run.machines.assign(devices.size(), chosen->id);
    file.machine_ids.insert(chosen->id);
    return [&chosen](std::int64_t) { return &*chosen; };
  }
  if (devices.empty()) file.machine_reasons.insert("the file does not say which GPU it ran on");
  std::map<std::int64_t, const read::Machine*> by_device;
  for (const read::Device& device : devices) {
    const model::Match match = model::match_machine(device, known);
    run.machines.push_back(match.machine == nullptr ? "" : match.machine->id);
    if (match.machine == nullptr) {
      file.machine_reasons.insert(match.reason);
      continue;
    }
    by_device[device.device_id] = match.machine;
    file.machine_ids.insert(match.machine->id);
    if (!match.doubt.empty()) file.machine_doubts.insert(match.doubt);
  }
  return [by_device = std::move(by_device)](std::int64_t device_id) {
    const auto it = by_device.find(device_id);
    return it == by_device.end() ? nullptr : it->second;
  };
}

std::vector<RowInput> inputs_of(const read::Profile& profile, const MachineOf& machine_of) {
  std::vector<RowInput> inputs;
  inputs.reserve(profile.events.size());
  for (const read::Event& event : profile.events) {
    inputs.push_back({.op = event.op ? &*event.op : nullptr,
                      .machine = machine_of(event.device_id),
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
  const MachineOf machine_of = find_machines(file, known, options.machine);
  if (options.families) refuse_another_gpu(*options.families, run.profile.file, file.machine_ids);
  const std::vector<RowInput> inputs = inputs_of(run.profile, machine_of);
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
