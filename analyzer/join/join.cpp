#include "join/join.hpp"

#include "join/belonging.hpp"
#include "join/isolate.hpp"
#include "join/join_run.hpp"
#include "join/merge.hpp"
#include "join/overlap.hpp"
#include "join/predict_rows.hpp"
#include "join/rank_waits.hpp"
#include "join/readable.hpp"
#include "join/shares.hpp"
#include "join/two_threads.hpp"
#include "join/worth_fixing.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

namespace inline_prof::join {
namespace {

std::string joined(const std::set<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<FileFacts> facts_of(const std::vector<Run>& runs) {
  std::vector<FileFacts> facts;
  facts.reserve(runs.size());
  for (const Run& run : runs)
    facts.push_back(file_facts(run.profile));
  return facts;
}

class Joiner {
 public:
  explicit Joiner(const JoinOptions& options) : options_(options) {}

  // In the order of the files; `files` are how many there will be.
  void add(JoinedRun joined, std::size_t files) {
    const std::size_t first = analysis_.rows.size();
    const std::size_t run = analysis_.runs.size();
    // Files of one run are alike, and a vector that grows holds its rows twice for a moment.
    if (first == 0) analysis_.rows.reserve(files * joined.rows.size());
    for (Row& row : joined.rows) {
      row.profile = run;
      if (row.parent) *row.parent += first;
      analysis_.rows.push_back(std::move(row));
    }
    samples_.add(std::move(joined.samples), first);
    machine_ids_.merge(joined.machine_ids);
    machine_reasons_.merge(joined.machine_reasons);
    append(analysis_.warnings, joined.machine_doubts);
    append(analysis_.warnings, joined.warnings);
    bias_sources_.insert(joined.bias_source);
    if (!joined.bias_detail.empty()) bias_details_.insert(joined.bias_detail);
    append(kernel_floors_us_, joined.kernel_floors_us);
    shorter_than_bias_ += joined.shorter_than_bias;
    isolated_.with_op += joined.isolated.with_op;
    isolated_.found += joined.isolated.found;
    analysis_.dropped_offsets += joined.dropped_offsets;
    analysis_.negative_times += static_cast<std::size_t>(joined.run.profile.negative_times);
    analysis_.iterations += joined.run.profile.iter_time_ms.size();
    analysis_.runs.push_back(std::move(joined.run));
  }

  void leave_out(const std::string& complaint) {
    if (first_complaint_.empty()) first_complaint_ = complaint;
    analysis_.warnings.push_back("left out: " + complaint);
  }

  Analysis finish() {
    // Of nothing there is no report.
    if (analysis_.runs.empty() && !first_complaint_.empty())
      throw read::InputError(first_complaint_);
    find_waits(analysis_.rows);
    judge_rows(analysis_.rows);
    merge_devices(analysis_, samples_);
    merge_isolated(analysis_);
    if (options_.keep_samples) keep_samples();
    samples_ = {};
    find_overlap(analysis_);
    compute_shares(analysis_);
    find_rank_waits(analysis_);
    find_worth_fixing(analysis_);
    summarise_rows();
    return std::move(analysis_);
  }

 private:
  template <typename Values, typename More>
  static void append(Values& values, const More& more) {
    values.insert(values.end(), more.begin(), more.end());
  }

  void keep_samples() {
    std::vector<double> raw_us;
    for (std::size_t i = 0; i < analysis_.rows.size(); ++i) {
      raw_us.clear();
      samples_.append_us(analysis_.rows[i].profile, i, raw_us, analysis_.samples_us.emplace_back());
    }
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
    std::vector<PredictedAndMeasured> vendor_pairs;
    std::vector<PredictedAndMeasured> pairs_beside_vendor;
    for (const Row& row : analysis_.rows) {
      if (!row.raw_us) continue;
      analysis_.samples += row.samples;
      if (row.raw_spread_us) analysis_.outliers += row.raw_spread_us->outliers;
      biases_us.push_back(row.bias_us);
      if (row.predicted_us && row.vendor_estimate_us && !row.is_sum_of_children) {
        vendor_pairs.push_back(
            {.predicted = *row.vendor_estimate_us, .measured = *row.corrected_us});
        pairs_beside_vendor.push_back(
            {.predicted = *row.predicted_us, .measured = *row.corrected_us});
      }
      if (row.predicted_us && !row.is_sum_of_children) {
        pairs.push_back({.predicted = *row.predicted_us, .measured = *row.working_us()});
        if (*row.working_us() > 0) {  // the same rows in both
          uncorrected_pairs.push_back({.predicted = *row.predicted_us,
                                       .measured = *row.raw_us - row.waited_us.value_or(0.0)});
        }
      }
    }
    if (!biases_us.empty()) analysis_.event_bias_us = median(std::move(biases_us));
    analysis_.errors = prediction_errors(pairs);
    analysis_.uncorrected_errors = prediction_errors(uncorrected_pairs);
    if (options_.peer) {
      analysis_.vendor = options_.peer->name();
      analysis_.vendor_errors = prediction_errors(vendor_pairs);
      analysis_.errors_beside_vendor = prediction_errors(pairs_beside_vendor);
      append(analysis_.warnings, options_.peer->warnings());
    }
    if (shorter_than_bias_ > 0) {
      analysis_.warnings.push_back(fmt::format(
          "{} events are shorter than what the event pair adds; their corrected time is set to 0",
          shorter_than_bias_));
    }
    if (isolated_.found < isolated_.with_op) {
      analysis_.warnings.push_back(fmt::format(
          "{}: {} of {} measured events with a known operation are not in it",
          options_.isolated->file, isolated_.with_op - isolated_.found, isolated_.with_op));
    }
    for (std::string& warning : belonging_warnings(facts_of(analysis_.runs))) {
      analysis_.warnings.push_back(std::move(warning));
    }
  }

  const JoinOptions& options_;
  Analysis analysis_;
  SamplesOfRuns samples_;
  std::set<std::string> bias_sources_;
  std::set<std::string> bias_details_;
  std::set<std::string> machine_ids_;
  std::set<std::string> machine_reasons_;
  std::vector<double> kernel_floors_us_;
  std::size_t shorter_than_bias_ = 0;
  IsolatedRows isolated_;
  std::string first_complaint_;  // about a file that was left out
};

}  // namespace

Analysis join_files(std::size_t count, const LoadProfile& load,
                    std::span<const read::Machine> known, const JoinOptions& options) {
  Joiner joiner(options);
  const auto join_one = [&](std::size_t i) {
    return join_run(load(i), known, options, predictor_of_this_thread(options.models));
  };
  const bool leave_out = options.leave_out_unreadable && count > 1;
  in_two_threads(
      count,
      [&](std::size_t i) {
        if (!leave_out) return Readable<JoinedRun>{join_one(i), {}};
        return or_complaint([&] { return join_one(i); });
      },
      [&](std::size_t i, Readable<JoinedRun> joined) {
        if (joined.value) {
          joiner.add(std::move(*joined.value), count);
        } else {
          joiner.leave_out(joined.complaint);
        }
        if (options.on_joined) options.on_joined(i + 1, count);
      });
  return joiner.finish();
}

Analysis join_profiles(std::vector<read::Profile> profiles, std::span<const read::Machine> known,
                       const JoinOptions& options) {
  return join_files(
      profiles.size(), [&](std::size_t i) { return std::move(profiles[i]); }, known, options);
}

}  // namespace inline_prof::join
