
#include "join/diagnose/belonging.hpp"
#include "join/diagnose/idle.hpp"
#include "join/rollups.hpp"
#include "read/profile.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::report {
namespace {

constexpr const char* kIterationLabel = "iteration";

// More files than this do not have a line each: the first ones stand for all.
constexpr std::size_t kMostFiles = 8;
constexpr std::size_t kMostWarnings = 20;

constexpr double kLeastIdlePercent = 0.05;  // smaller parts are left out

// Says how a run ended that did not get all its samples.
std::string describe_end(const join::Analysis& analysis, std::size_t profile) {
  const read::Profile& of = analysis.runs[profile].profile;
  if (!join::has_ended(of) || !of.profiler.repeat)
    return "NOT COMPLETE: a run that was cut off, or went wrong";
  std::int64_t taken = 0;
  std::int64_t wanted = 0;
  for (const join::Row& row : analysis.rows) {
    if (row.profile != profile || join::is_left_out(row, of)) continue;
    taken += static_cast<std::int64_t>(row.samples);
    wanted += *of.profiler.repeat;
  }
  return fmt::format("ended normally before all samples: {} of {}", grouped(taken),
                     grouped(wanted));
}

std::string describe_run(const join::Analysis& analysis, std::size_t of) {
  const join::Run& run = analysis.runs[of];
  const read::Profile& profile = run.profile;
  std::string text = profile.file;
  if (!profile.host_name.empty()) text += fmt::format(", host {}", profile.host_name);
  if (profile.rank) {
    text += fmt::format(", rank {}", *profile.rank);
    if (profile.world_size) text += fmt::format(" of {}", *profile.world_size);
  }
  if (!profile.command.empty()) text += fmt::format(", {}", profile.command);
  if (!profile.started_at.empty()) text += fmt::format(", {}", profile.started_at);
  text += ", " + (profile.complete ? "complete" : describe_end(analysis, of));
  return text;
}

std::string describe_iteration(const join::Analysis& analysis) {
  if (!analysis.iteration.us) return "not known: " + analysis.shares_reason;
  std::set<std::string> sources;
  for (const join::Run& run : analysis.runs) {
    const auto& profiler = run.profile.profiler;
    const std::string* const named = join::fact_of(run.profile, "iterations");
    if (profiler.iteration_source.empty()) continue;
    sources.insert(profiler.iteration_source == "none" ? "nothing: the whole run is one"
                   : named != nullptr                  ? *named
                   : profiler.iteration_confidence
                       ? fmt::format("{} (confidence {:.2f})", profiler.iteration_source,
                                     *profiler.iteration_confidence)
                       : profiler.iteration_source);
  }
  std::string text = fmt::format("{:.3f} ms", *analysis.iteration.us * 1e-3);
  if (analysis.iteration.ci95_us)
    text += fmt::format(" ({:.3f} to {:.3f})", analysis.iteration.ci95_us->lower * 1e-3,
                        analysis.iteration.ci95_us->upper * 1e-3);
  text += fmt::format(", median of {}", analysis.iterations);
  if (analysis.runs.size() > 1) {
    const auto [fastest, slowest] = std::ranges::minmax_element(
        analysis.runs, {}, [](const join::Run& run) { return run.iteration.us.value_or(0.0); });
    text += fmt::format("; of the files {:.3f} to {:.3f} ms",
                        fastest->iteration.us.value_or(0.0) * 1e-3,
                        slowest->iteration.us.value_or(0.0) * 1e-3);
  }
  if (!sources.empty()) text += fmt::format("; found by {}", fmt::join(sources, ", "));
  return text;
}

// Adds the phase that is shown, then the others.
void add_phases(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  for (const join::Run& run : analysis.runs) {
    const auto& phases = run.profile.phases;
    if (phases.size() < 2) continue;
    const std::size_t shown = run.profile.phase;
    lines.push_back({"phases", fmt::format("{}, shown here: {}", read::phase_name(run.profile),
                                           read::phase_words(phases[shown]))});
    for (std::size_t i = 0; i < phases.size(); ++i) {
      if (i == shown) continue;
      std::string text = fmt::format("phase {}: {}", i + 1, read::phase_words(phases[i]));
      if (phases[i].measured) text += fmt::format("; --phase {} shows it", i + 1);
      lines.push_back({"", text});
    }
    return;
  }
}

// Names the other period: two levels of nested loops may both fit the launches.
void add_other_period(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  for (const join::Run& run : analysis.runs) {
    const auto& profiler = run.profile.profiler;
    if (!profiler.iteration_launches || !profiler.other_period) continue;
    lines.push_back(
        {"period", fmt::format("an iteration of {} launches fits as well as this one of {}: "
                               "INLINE_PROF_ITERATION=period:{} measures that",
                               *profiler.other_period, *profiler.iteration_launches,
                               *profiler.other_period)});
    return;
  }
}

void write_shares(std::string& out, const join::Shares& time_us, const join::Shares& percent) {
  const auto share = [&](std::string_view name, double us, double part) {
    out += fmt::format("  {:<30} {:>12.3f} ms {:>7.1f} %\n", name, us * 1e-3, part);
  };
  out += '\n';
  share("measured and predicted", time_us.predicted, percent.predicted);
  share("measured without prediction", time_us.measured, percent.measured);
  share("seen but not measured", time_us.seen, percent.seen);
  share("idle or not seen", time_us.idle, percent.idle);
  out += '\n';
}

// Returns "31.2 % the launching thread (29.9 to 32.4), 20.1 % before optimizer.AdamW; 3.0 % ...";
// empty if no part is worth naming.
std::string describe_idle(const join::Idle& idle, double iteration_us) {
  const double percent = 100.0 / iteration_us;
  std::vector<std::string> parts;
  for (const join::IdlePart& part : idle.parts) {
    if (part.us * percent < kLeastIdlePercent) continue;
    std::string text =
        fmt::format("{:.1f} % {}", part.us * percent, join::idle_reason_name(part.reason));
    if (part.ci95_us)
      text += fmt::format(" ({:.1f} to {:.1f})", part.ci95_us->lower * percent,
                          part.ci95_us->upper * percent);
    if (!part.behind.empty())
      text += fmt::format(", {:.1f} % before {}", part.behind.front().us * percent,
                          printable(part.behind.front().place));
    parts.push_back(text);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Adds the mean over the devices, and each device if they are few.
void add_idle(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  const auto mean = join::mean_idle(analysis.idle);
  if (!mean || !analysis.iteration.us || !(*analysis.iteration.us > 0)) return;
  std::string label = "idle";
  const auto add = [&](std::string_view of, const join::Idle& idle, double iteration_us) {
    const std::string parts = describe_idle(idle, iteration_us);
    if (parts.empty()) return;
    lines.push_back({label, fmt::format("{}{}", of, parts)});
    label.clear();
  };
  add("", *mean, *analysis.iteration.us);
  if (analysis.idle.size() < 2 || analysis.idle.size() > kMostFiles) return;
  for (const join::Idle& idle : analysis.idle) {
    const join::Run& run = analysis.runs[idle.profile];
    if (!run.iteration.us) continue;
    const std::string of_file =
        analysis.runs.size() > 1 ? fmt::format(" of {}", printable(run.profile.file)) : "";
    add(fmt::format("device {}{}: ", idle.device_id, of_file), idle, *run.iteration.us);
  }
}

// Names the devices that the other ranks wait for in collectives.
void add_rank_waits(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  constexpr std::size_t most_devices = 3;
  std::vector<std::string> parts;
  for (const join::LastDevice& last : join::last_devices(analysis.rank_waits, analysis.runs)) {
    if (parts.size() == most_devices || last.percent < kLeastIdlePercent) break;
    parts.push_back(fmt::format(
        "{:.1f} % of the others' iteration for {}, {:.1f} % with nothing else to do", last.percent,
        printable(join::name_of(last, analysis.runs)), last.exposed_percent));
  }
  if (parts.empty()) return;
  lines.push_back({"ranks", fmt::format("wait in collectives {}", fmt::join(parts, "; "))});
}

std::string describe_errors(const join::Errors& errors) {
  return fmt::format("GMAE {:.1f} %, MAPE {:.1f} %, bias {:+.1f} %, median ratio {:.2f}, {}",
                     errors.gmae * 100, errors.mape * 100, errors.bias * 100, errors.median_ratio,
                     counted(errors.rows, "row"));
}

// Sums weigh a kernel by its time, which the errors of rows do not; of a trace, which has every
// kernel, they are the whole.  Bounds stand apart.
void add_kernels(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  const join::KernelSum& calibrated = analysis.calibrated;
  const join::KernelSum& bounds = analysis.bounds;
  const bool are_traces = std::ranges::none_of(analysis.runs, [](const join::Run& run) {
    return run.profile.capabilities.has_event_pair_bias;
  });
  if (!are_traces || calibrated.rows == 0 || calibrated.measured_us <= 0) return;
  std::string text = fmt::format(
      "{:.3f} ms measured, {:.3f} ms ({:.3f} to {:.3f}) predicted, error {:.1f} % by time",
      calibrated.measured_us * 1e-3, calibrated.predicted_us * 1e-3,
      calibrated.ci90_us.lower * 1e-3, calibrated.ci90_us.upper * 1e-3,
      100 * calibrated.error_us / calibrated.measured_us);
  if (bounds.rows > 0)
    text += fmt::format("; {} with a bound alone: {:.3f} ms measured, {:.3f} ms at least",
                        counted(bounds.rows, "row"), bounds.measured_us * 1e-3,
                        bounds.predicted_us * 1e-3);
  lines.push_back({"kernels", text});
  const join::KernelSum& collectives = analysis.collectives;
  if (collectives.rows == 0) return;
  lines.push_back(
      {"collectives",
       fmt::format("{:.3f} ms measured, {:.3f} ms of it transfer as predicted; the rest "
                   "waits for other ranks, or shares the links",
                   collectives.measured_us * 1e-3, collectives.predicted_us * 1e-3)});
}

void add_errors(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  if (!analysis.errors) {
    lines.push_back({"prediction", "no row has both a time above 0 and a prediction"});
    return;
  }
  const auto upper_bounds = std::ranges::count_if(analysis.rows, [](const join::Row& row) {
    return row.predicted_us && row.raw_us && !row.is_sum_of_children && row.is_upper_bound();
  });
  std::string text = describe_errors(*analysis.errors);
  if (upper_bounds > 0) text += fmt::format(", of which {} are upper bounds", upper_bounds);
  lines.push_back({"prediction", text});
  add_kernels(lines, analysis);
  if (analysis.event_bias_us > 0 && analysis.uncorrected_errors)
    lines.push_back({"uncorrected", describe_errors(*analysis.uncorrected_errors)});
}

// Warns of short bursts: the fitted tables were timed in them, which may be all that makes a
// product slow.  A GPU that is idle most of the time runs in bursts, too.
void add_bursts(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  const bool is_slow_product = std::ranges::any_of(analysis.merged, [](const auto& row) {
    return row.model == "gemm" && row.verdict == join::Verdict::kSlower;
  });
  constexpr double mostly_idle_percent = 75.0;
  if (!is_slow_product ||
      (analysis.shares_percent && analysis.shares_percent->idle > mostly_idle_percent))
    return;
  lines.push_back({"bursts",
                   "matrix products are predicted as they run in short bursts; under "
                   "steady load the power limit may lower the GPU's clock: measure them "
                   "with prof-model measure --from FILE --load sustained"});
}

// Says how long the iteration would be if no row took longer than predicted.
std::string describe_longest_path(const join::Analysis& analysis) {
  std::string text = fmt::format("the longest takes {:.3f} ms", *analysis.longest_path_us * 1e-3);
  if (analysis.all_predicted_us)
    text += fmt::format("; {:.3f} ms if no row took longer than predicted and the gaps stayed",
                        *analysis.all_predicted_us * 1e-3);
  return text;
}

// Says how long the whole step is predicted to take, and how long it took.
std::string describe_predicted_path(const join::Analysis& analysis) {
  std::string text = fmt::format("{:.3f} ms", *analysis.predicted_path_us * 1e-3);
  if (analysis.predicted_path_ci90_us)
    text += fmt::format(" ({:.3f} to {:.3f})", analysis.predicted_path_ci90_us->lower * 1e-3,
                        analysis.predicted_path_ci90_us->upper * 1e-3);
  text += fmt::format(" predicted from end to end, {:.3f} ms measured",
                      *analysis.longest_path_us * 1e-3);
  // Medians of different iterations, and times that are taken for rows without a sample.
  constexpr double noticeable = 1.005;
  // The path is that of one rank, maybe the slowest.
  double longest_us = 0.0;
  for (const join::Run& run : analysis.runs)
    longest_us = std::max(longest_us, run.iteration.us.value_or(0.0));
  if (longest_us > 0 && *analysis.longest_path_us > noticeable * longest_us) {
    text += fmt::format(
        ", where an iteration takes {:.3f} ms: the path adds medians of different iterations{}",
        longest_us * 1e-3,
        analysis.unmeasured_events > 0
            ? fmt::format(", and estimates of {} rows without a sample", analysis.unmeasured_events)
            : "");
  }
  return text + "; " + describe_predicted_part(analysis);
}

std::string describe_bias(const join::Analysis& analysis) {
  std::string text = fmt::format("{:.2f} us taken off each sample, source: {}",
                                 analysis.event_bias_us, analysis.event_bias_source);
  if (!analysis.event_bias_detail.empty()) text += fmt::format(" ({})", analysis.event_bias_detail);
  if (analysis.kernel_floor_us)
    text += fmt::format("; an empty kernel takes {:.2f} us more, not taken off",
                        *analysis.kernel_floor_us);
  return text;
}

std::string describe_unmeasured(const join::Analysis& analysis) {
  std::string text =
      fmt::format("{} seen but not measured", counted(analysis.unmeasured_events, "event"));
  for (const auto& [reason, events] : analysis.unmeasured_reasons)
    text += fmt::format("; {}: {}", events, printable(reason));
  if (analysis.unmeasured_without_time > 0) {
    // The measured rows may leave no such time.
    const bool is_in_idle =
        analysis.shares_percent && analysis.shares_percent->idle >= kLeastIdlePercent;
    text += fmt::format("; {} of unknown time{}", analysis.unmeasured_without_time,
                        is_in_idle ? ", under \"idle or not seen\"" : "");
  }
  return text;
}

std::string describe_overlap(const join::Overlap& overlap) {
  const double saved_us = overlap.one_by_one_us - overlap.together_us;
  return fmt::format(
      "kernels of graphs, timed one by one, take {:.2f} us; their replays take {:.2f} us: "
      "programmatic launches, which let them overlap, save {}",
      overlap.one_by_one_us, overlap.together_us,
      saved_us > 0 ? fmt::format("{:.2f} us", saved_us) : "nothing");
}

// Says how many more iterations would tell the overhead to +-0.1 %.
std::string describe_needed(const read::Overhead& overhead) {
  constexpr std::int64_t most_iterations = 10'000'000;  // earlier libraries wrote 10^12
  const std::int64_t needed = overhead.iterations_needed.value_or(0);
  if (needed == 0 || needed > most_iterations) return {};
  return fmt::format("; {} more iterations would tell{}", *overhead.iterations_needed,
                     overhead.slowdown_percent ? " to 0.1 %" : "");
}

// A handful of groups that differ much give an interval without meaning.
bool is_told(const std::pair<double, double>& percent_ci95) {
  constexpr double widest_percent = 1000;
  return percent_ci95.second - percent_ci95.first <= widest_percent;
}

std::string describe_overhead(const read::Profile& profile) {
  if (!profile.overhead) return "not measured: the file has no overhead section";
  const read::Overhead& overhead = *profile.overhead;
  if (!overhead.slowdown_percent) {
    const bool is_said_already = overhead.method.starts_with("not measured");
    return (is_said_already ? "" : "not measured: ") +
           (overhead.method.empty() ? "the file does not say why" : overhead.method) +
           describe_needed(overhead);
  }
  std::string text = fmt::format("{:+.3f} %", *overhead.slowdown_percent);
  if (overhead.slowdown_percent_ci95 && !is_told(*overhead.slowdown_percent_ci95)) {
    text = "not known: iterations differ too much from each other";
  } else if (overhead.slowdown_percent_ci95) {
    text += fmt::format(", 95 % interval [{:+.3f}, {:+.3f}]", overhead.slowdown_percent_ci95->first,
                        overhead.slowdown_percent_ci95->second);
  }
  text += fmt::format(", {} armed and {} unarmed iterations", overhead.armed_iterations,
                      overhead.unarmed_iterations);
  if (!overhead.method.empty()) text += fmt::format(" ({})", overhead.method);
  return text + describe_needed(overhead);
}

std::string describe_dropped(const join::Analysis& analysis) {
  std::vector<std::string> parts;
  for (const join::Run& run : analysis.runs) {
    for (const auto& [what, count] : run.profile.dropped) {
      // More than there are samples, maybe: a launch is asked again until its event has one.
      const bool is_of_launches = what == "ring_full";
      if (count > 0)
        parts.push_back(
            fmt::format("{} {}{}", count, what, is_of_launches ? " (launches, not samples)" : ""));
    }
  }
  if (analysis.negative_times > 0)
    parts.push_back(fmt::format("{} negative times", analysis.negative_times));
  if (analysis.dropped_offsets > 0)
    parts.push_back(fmt::format("{} start offsets beyond the iteration (the host ran ahead)",
                                analysis.dropped_offsets));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_runs(std::vector<HeadLine>& lines, const join::Analysis& analysis) {
  const std::vector<join::Run>& runs = analysis.runs;
  const std::size_t shown = runs.size() > kMostFiles ? kMostFiles / 2 : runs.size();
  for (std::size_t i = 0; i < shown; ++i)
    lines.push_back({"run", describe_run(analysis, i)});
  if (shown == runs.size()) return;
  std::vector<std::string_view> cut_off;
  for (std::size_t i = shown; i < runs.size(); ++i) {
    if (!runs[i].profile.complete) cut_off.push_back(runs[i].profile.file);
  }
  std::string text = fmt::format("and {} files more", runs.size() - shown);
  text += cut_off.empty()
              ? ", complete"
              : fmt::format(", {} of them NOT COMPLETE: {}{}", cut_off.size(),
                            fmt::join(cut_off.begin(),
                                      cut_off.begin() + static_cast<std::ptrdiff_t>(
                                                            std::min(cut_off.size(), kMostFiles)),
                                      ", "),
                            cut_off.size() > kMostFiles ? ", ..." : "");
  lines.push_back({"", text});
}

}  // namespace

std::vector<HeadLine> head_lines(const join::Analysis& analysis) {
  std::vector<HeadLine> lines;
  const auto add = [&](const char* label, std::string text) {
    if (!text.empty()) lines.push_back({label, std::move(text)});
  };
  add_runs(lines, analysis);
  add("machine", analysis.machine);
  if (!analysis.machine_reason.empty())
    add(analysis.machine.empty() ? "machine" : "",
        fmt::format("not known: {}; --machine ID or FILE names one", analysis.machine_reason));
  add(kIterationLabel, describe_iteration(analysis));
  if (analysis.watched) add("watched", watched_words(*analysis.watched));
  for (const std::string& change : described_changes(analysis))
    add("changed", change);
  if (const auto part = join::flops_utilisation(analysis))
    add("peak", fmt::format("the matrix products reach {:.1f} % of the GPU's in the iteration "
                            "(model flops utilisation)",
                            100.0 * *part));
  add_phases(lines, analysis);
  add_other_period(lines, analysis);
  if (!analysis.shares_percent) add("shares", "not known: " + analysis.shares_reason);
  add_idle(lines, analysis);
  add_rank_waits(lines, analysis);
  add_errors(lines, analysis);
  add_bursts(lines, analysis);
  if (analysis.longest_path_us && *analysis.longest_path_us > 0) {
    add("path", describe_longest_path(analysis));
    if (analysis.predicted_path_us) add("step", describe_predicted_path(analysis));
  }
  std::set<std::string> overheads;
  for (const join::Run& run : analysis.runs)
    overheads.insert(describe_overhead(run.profile));
  for (const std::string& overhead : overheads)
    add("overhead", overhead);
  add("event bias", describe_bias(analysis));
  if (analysis.overlap) add("overlap", describe_overlap(*analysis.overlap));
  if (analysis.outliers > 0)
    add("outliers",
        fmt::format("{} of {} samples lie beyond {:g} times the median deviation of their event",
                    analysis.outliers, analysis.samples, join::kOutlierMads));
  add("dropped", describe_dropped(analysis));
  if (analysis.unmeasured_events > 0) add("unmeasured", describe_unmeasured(analysis));
  for (const join::Run& run : analysis.runs)
    for (const std::string& what : run.profile.not_seen)
      lines.push_back({"not seen", what});
  const std::size_t shown =
      analysis.warnings.size() > kMostWarnings ? kMostWarnings / 2 : analysis.warnings.size();
  for (std::size_t i = 0; i < shown; ++i)
    lines.push_back({"warning", analysis.warnings[i]});
  if (shown < analysis.warnings.size())
    add("warning",
        fmt::format("and {} more; --format json has them all", analysis.warnings.size() - shown));
  return lines;
}

std::string describe_predicted_part(const join::Analysis& analysis) {
  std::vector<std::string> as_measured;
  if (analysis.predicted_part < 0.9995) as_measured.emplace_back("the rest");
  constexpr double noticeable_percent = 0.5;
  if (analysis.shares_percent && analysis.shares_percent->idle > noticeable_percent)
    as_measured.push_back(
        fmt::format("waiting ({:.1f} % of the step)", analysis.shares_percent->idle));
  std::string text =
      fmt::format("{:.1f} % of the kernels' time is predicted", 100 * analysis.predicted_part);
  if (analysis.shares_percent && analysis.shares_percent->seen > noticeable_percent)
    text += fmt::format(" ({:.1f} % of the step was never sampled)", analysis.shares_percent->seen);
  if (as_measured.empty()) return text;
  return text + fmt::format(", {} {} as measured", fmt::join(as_measured, " and "),
                            as_measured.size() == 1 ? "counts" : "count");
}

std::string_view meaning_of(std::string_view label) {
  using Meaning = std::pair<std::string_view, std::string_view>;
  static constexpr auto meanings = std::to_array<Meaning>({
      {kIterationLabel,
       "The median of the iterations' times with its 95 % interval, a mean over devices, and what "
       "told where they begin. A confidence below 1 is that of a guess."},
      {"peak",
       "What the matrix products would take at the data sheet's dense rates, over the time."},
      {"watched",
       "Measuring went on after this report's samples, which are of the run's beginning."},
      {"changed",
       "What became slower or faster than its own history; prof-analyze history has all."},
      {"phases", "Stretches of the run in which iterations launch the same. One is shown."},
      {"idle", "What the device waited for where nothing of the file ran, with 95 % intervals."},
      {"ranks", "What ranks wait in collectives for the one that comes last."},
      {"kernels",
       "All kernels with a calibrated prediction, one after the other, with the 90 % "
       "interval of the sum."},
      {"collectives",
       "The transfer is predicted; the time also holds the waiting for other ranks."},
      {"prediction",
       "Errors of the rows with both numbers, e = predicted / corrected - 1: MAPE is the mean of "
       "|e|, GMAE their geometric mean, bias the mean of e; the ratio is corrected / predicted."},
      {"uncorrected", "The same with raw times."},
      {"bursts",
       "Models of products were fitted to short bursts; a GPU that is busy for long runs "
       "at lower clocks."},
      {"path", "The longest chain of dependent tasks over all streams and ranks."},
      {"step", "That chain with predictions in the place of times."},
      {"overhead",
       "What measuring cost, from blocks of measured and unmeasured iterations in turn."},
      {"event bias", "What a pair of events adds to a time, taken off each sample."},
      {"overlap", "Kernels of a CUDA graph that overlap are timed one by one."},
      {"outliers", "Samples far from their event's median; medians do not feel them."},
      {"dropped", "Samples that were lost, by reason."},
      {"unmeasured", "Events without a sample, by reason."},
  });
  const auto* const found = std::ranges::find(meanings, label, &Meaning::first);
  return found == meanings.end() ? std::string_view{} : found->second;
}

std::vector<std::string> described_changes(const join::Analysis& analysis) {
  constexpr std::size_t most_changes = 3;
  if (!analysis.watched) return {};
  const join::WatchedRun& run = *analysis.watched;
  std::vector<std::string> texts;
  for (std::size_t i = run.changes.size(); i > 0 && texts.size() < most_changes; --i)
    texts.push_back(change_words(run, run.changes[i - 1]));
  if (run.changes.size() > most_changes)
    texts.push_back(fmt::format("{} more times before: prof-analyze history",
                                run.changes.size() - most_changes));
  return texts;
}

std::string steps_for_intervals(const join::MissingSamples& missing) {
  return fmt::format("run {} steps{}", grouped(missing.steps(join::kLeastSamples)),
                     missing.repeat < join::kLeastSamples || missing.graph_nodes > 0
                         ? fmt::format(" with --repeat {}", join::kLeastSamples)
                         : "");
}

std::string_view simulated_words(const join::Analysis& analysis) {
  const bool is_simulated = std::ranges::any_of(
      analysis.runs, [](const join::Run& run) { return run.profile.simulated; });
  return is_simulated ? kSimulatedWords : "";
}

std::string head(const join::Analysis& analysis, std::size_t width) {
  std::string out;
  for (const auto& [label, text] : head_lines(analysis)) {
    add_labelled(out, label, text, width);
    if (label == kIterationLabel && analysis.shares_percent)
      write_shares(out, *analysis.shares_us, *analysis.shares_percent);
  }
  return out;
}

}  // namespace inline_prof::report
