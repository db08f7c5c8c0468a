#include "join/join.hpp"

#include "base/two_threads.hpp"
#include "join/diagnose/belonging.hpp"
#include "join/diagnose/worth_fixing.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace inline_prof::join {
namespace {

template <typename Values, typename More>
void append(Values& values, const More& more) {
  values.insert(values.end(), more.begin(), more.end());
}

std::string joined(const std::set<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// The predicted files of all ranks, one behind the other.
struct PredictedFiles {
  std::vector<Run> runs;
  std::vector<Row> rows;
  SamplesOfRuns samples;
  Sources sources;
  std::size_t shorter_than_bias = 0;
  IsolatedRows isolated;
  std::vector<std::string> warnings;
  std::vector<WatchedFile> watched;
  std::vector<std::size_t> watched_runs;  // of each of these
};

// One file, as far as it is joined alone.
struct JoinedFile {
  PredictedFile predicted;
  std::optional<WatchedFile> watched;
};

class Gatherer {
 public:
  // Adds the next file, of `count` in all.
  void add(JoinedFile joined, std::size_t count) {
    if (joined.watched) {
      all_.watched.push_back(std::move(*joined.watched));
      all_.watched_runs.push_back(all_.runs.size());
    }
    PredictedFile& file = joined.predicted;
    FileRows& own = file.measured;
    const std::size_t first = all_.rows.size(), run = all_.runs.size();
    // Files of one run are alike, and a vector that grows holds its rows twice for a moment.
    if (first == 0) all_.rows.reserve(count * own.rows.size());
    for (Row& row : own.rows) {
      row.profile = run;
      if (row.parent) *row.parent += first;
      all_.rows.push_back(std::move(row));
    }
    all_.samples.add(std::move(own.samples), first);
    machine_ids_.merge(file.machine_ids);
    machine_reasons_.merge(file.machine_reasons);
    append(all_.warnings, file.machine_doubts);
    append(all_.warnings, own.warnings);
    bias_sources_.insert(own.bias_source);
    if (!own.bias_detail.empty()) bias_details_.insert(own.bias_detail);
    append(kernel_floors_us_, own.kernel_floors_us);
    all_.shorter_than_bias += own.shorter_than_bias;
    all_.isolated.with_op += file.isolated.with_op;
    all_.isolated.found += file.isolated.found;
    all_.sources.dropped_offsets += own.dropped_offsets;
    all_.sources.negative_times += static_cast<std::size_t>(own.run.profile.negative_times);
    all_.sources.iterations += own.run.profile.iter_time_ms.size();
    all_.runs.push_back(std::move(own.run));
  }

  void leave_out(const std::string& complaint) {
    if (first_complaint_.empty()) first_complaint_ = complaint;
    all_.warnings.push_back("left out: " + complaint);
  }

  PredictedFiles gathered() {
    if (all_.runs.empty() && !first_complaint_.empty()) throw read::InputError(first_complaint_);
    all_.sources.machine = joined(machine_ids_, ",");
    all_.sources.machine_reason = joined(machine_reasons_, "; ");
    all_.sources.event_bias_source = joined(bias_sources_, ",");
    all_.sources.event_bias_detail = joined(bias_details_, "; ");
    if (!kernel_floors_us_.empty()) all_.sources.kernel_floor_us = median(kernel_floors_us_);
    // Keeps of each rank that was started again the newest process only: the others did not meet
    // the present ones.  Their histories stay.
    const std::vector<bool> newer = have_newer(all_.watched);
    for (std::size_t i = newer.size(); i-- > 0;)
      if (newer[i]) leave_out_run(all_.watched_runs[i]);
    return std::move(all_);
  }

 private:
  void leave_out_run(std::size_t run) {
    const auto is_of_run = [run](const Row& row) { return row.profile == run; };
    const auto first = std::ranges::find_if(all_.rows, is_of_run);
    const auto count =
        static_cast<std::size_t>(std::ranges::count_if(first, all_.rows.end(), is_of_run));
    for (auto row = first; row != all_.rows.end(); ++row) {
      if (row->profile == run) continue;
      --row->profile;
      if (row->parent) *row->parent -= count;
    }
    all_.rows.erase(first, first + static_cast<std::ptrdiff_t>(count));
    all_.samples.leave_out(run, count);
    const auto place = all_.runs.begin() + static_cast<std::ptrdiff_t>(run);
    all_.sources.iterations -= place->profile.iter_time_ms.size();
    all_.runs.erase(place);
  }

  PredictedFiles all_;
  std::set<std::string> bias_sources_;
  std::set<std::string> bias_details_;
  std::set<std::string> machine_ids_;
  std::set<std::string> machine_reasons_;
  std::vector<double> kernel_floors_us_;
  std::string first_complaint_;  // about a file that was left out
};

std::vector<std::vector<double>> samples_of(const std::vector<Row>& rows,
                                            const SamplesOfRuns& samples) {
  std::vector<std::vector<double>> all_us;
  std::vector<double> raw_us;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    raw_us.clear();
    samples.append_us(rows[i].profile, i, raw_us, all_us.emplace_back());
  }
  return all_us;
}

// Rows of one model are wrong together, those of several models independently of each other.
void add_kernel_sums(const std::vector<Row>& rows, PredictionErrors& found) {
  std::set<DeviceKey> devices;
  std::map<std::string, Interval> distances_us;  // to the ends of the intervals, by model
  for (const Row& row : rows) {
    devices.insert(device_of(row));
    if (!row.predicted_us || row.is_sum_of_children || row.is_region || !row.in_iteration_us ||
        !row.corrected_us || *row.corrected_us <= 0)
      continue;
    const bool may_wait = row.op_kind.str() == op_kind_name(OpKind::kCollective) && !row.waited_us;
    KernelSum& sum = may_wait                ? found.collectives
                     : row.predicted_ci90_us ? found.calibrated
                                             : found.bounds;
    const double calls = *row.in_iteration_us / *row.corrected_us;
    sum.rows += 1;
    sum.measured_us += calls * *row.working_us();
    sum.predicted_us += calls * *row.predicted_us;
    sum.error_us += calls * std::abs(*row.predicted_us - *row.working_us());
    if (may_wait || !row.predicted_ci90_us) continue;
    Interval& distance_us = distances_us[row.model.str()];
    distance_us.lower += calls * (*row.predicted_us - row.predicted_ci90_us->lower);
    distance_us.upper += calls * (row.predicted_ci90_us->upper - *row.predicted_us);
  }
  const double per_device = 1.0 / std::max(1.0, static_cast<double>(devices.size()));
  for (KernelSum* const sum : {&found.calibrated, &found.bounds, &found.collectives}) {
    sum->measured_us *= per_device;
    sum->predicted_us *= per_device;
    sum->error_us *= per_device;
  }
  Interval squares;
  for (const auto& [model, distance_us] : distances_us) {
    squares.lower += distance_us.lower * distance_us.lower;
    squares.upper += distance_us.upper * distance_us.upper;
  }
  const double predicted_us = found.calibrated.predicted_us;
  found.calibrated.ci90_us = {predicted_us - per_device * std::sqrt(squares.lower),
                              predicted_us + per_device * std::sqrt(squares.upper)};
}

PredictionErrors errors_of(const std::vector<Row>& rows) {
  PredictionErrors found;
  std::vector<double> biases_us;
  std::vector<PredictedAndMeasured> pairs;
  std::vector<PredictedAndMeasured> uncorrected_pairs;
  for (const Row& row : rows) {
    if (!row.raw_us) continue;
    found.samples += row.samples;
    if (row.raw_spread_us) found.outliers += row.raw_spread_us->outliers;
    biases_us.push_back(row.bias_us);
    if (!row.predicted_us || row.is_sum_of_children) continue;
    pairs.push_back({.predicted = *row.predicted_us, .measured = *row.working_us()});
    if (*row.working_us() > 0) {  // the same rows in both
      uncorrected_pairs.push_back(
          {.predicted = *row.predicted_us, .measured = *row.raw_us - row.waited_us.value_or(0.0)});
    }
  }
  if (!biases_us.empty()) found.event_bias_us = median(std::move(biases_us));
  found.errors = prediction_errors(pairs);
  add_kernel_sums(rows, found);
  found.uncorrected_errors = prediction_errors(uncorrected_pairs);
  return found;
}

std::vector<std::string> last_warnings(const PredictedFiles& files, const JoinOptions& options) {
  std::vector<std::string> warnings;
  if (options.each_model) append(warnings, options.each_model->complaints());
  if (files.shorter_than_bias > 0)
    warnings.push_back(fmt::format(
        "{} events are shorter than what the event pair adds; their corrected time is set to 0",
        files.shorter_than_bias));
  if (files.isolated.found < files.isolated.with_op)
    warnings.push_back(fmt::format(
        "{}: {} of {} measured events with a known operation are not in it", options.isolated->file,
        files.isolated.with_op - files.isolated.found, files.isolated.with_op));
  std::vector<FileFacts> facts;
  facts.reserve(files.runs.size());
  for (const Run& run : files.runs) {
    facts.push_back(file_facts(run.profile));
    facts.back().exchanges = run.exchanges;  // the events may be gone
    facts.back().event_list = run.event_list;
    facts.back().kernels = run.kernels;
  }
  append(warnings, belonging_warnings(facts));
  return warnings;
}

// The stages behind the files, in their order.
Analysis analysis_of(PredictedFiles files, const JoinOptions& options) {
  TimedRows timed = timed_rows(files.runs, judged_rows(with_waits(std::move(files.rows))));
  const std::vector<Row>& rows = timed.rows;
  Placement placement = placement_of(files.runs, rows);
  MergedRows merged = merge_devices(rows, files.samples);
  DividedIteration divided = divide_iteration(files.runs, rows, placement);
  WorthFixing fixing = find_worth_fixing(rows, merged.merged, placement, divided.shares);
  PredictionErrors errors = errors_of(rows);
  std::vector<Idle> idle = find_idle(files.runs, rows, placement, divided);
  std::vector<RankWait> waits = rank_waits(rows, placement, divided.shares);
  const std::optional<Overlap> overlap = overlap_of(rows, merged.merged);
  auto samples_us =
      options.keep_samples ? samples_of(rows, files.samples) : std::vector<std::vector<double>>{};
  std::vector<std::string> warnings = std::move(files.warnings);
  for (const auto& more :
       {merged.warnings, divided.warnings, fixing.warnings, last_warnings(files, options)})
    append(warnings, more);
  std::optional<WatchedRun> watched;
  if (!files.watched.empty()) watched = watched_run(std::move(files.watched));
  return {std::move(files.sources),
          std::move(timed.unmeasured),
          divided.shares,
          std::move(fixing.path),
          errors,
          std::move(files.runs),
          std::move(timed.rows),
          with_savings(with_shares(std::move(merged.merged), divided), fixing.saved_us),
          std::move(placement),
          std::move(idle),
          std::move(waits),
          overlap,
          std::move(samples_us),
          std::move(warnings),
          std::move(watched)};
}

}  // namespace

Analysis join_files(std::size_t count, const LoadProfile& load,
                    std::span<const read::Machine> known, const JoinOptions& options) {
  Gatherer gatherer;
  const auto join_one = [&](std::size_t i) {
    JoinedFile file{
        predicted_file(rows_of(load(i), options.layers, options.event_bias), known, options), {}};
    read::Profile& profile = file.predicted.measured.run.profile;
    file.watched = watched_file(profile, file.predicted.measured.rows);
    if (options.keep_events) return file;
    std::vector<read::Event>().swap(profile.events);
    profile.watched.reset();
    return file;
  };
  const bool leave_out = options.leave_out_unreadable && count > 1;
  base::in_two_threads(
      count,
      [&](std::size_t i) {
        if (!leave_out) return Readable<JoinedFile>{join_one(i), {}};
        return or_complaint([&] { return join_one(i); });
      },
      [&](std::size_t i, Readable<JoinedFile> file) {
        if (file.value) {
          gatherer.add(std::move(*file.value), count);
        } else {
          gatherer.leave_out(file.complaint);
        }
        if (options.on_joined) options.on_joined(i + 1, count);
      });
  return analysis_of(gatherer.gathered(), options);
}

Analysis join_profiles(std::vector<read::Profile> profiles, std::span<const read::Machine> known,
                       const JoinOptions& options) {
  return join_files(
      profiles.size(), [&](std::size_t i) { return std::move(profiles[i]); }, known, options);
}

}  // namespace inline_prof::join
