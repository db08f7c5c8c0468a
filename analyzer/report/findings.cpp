#include "base/median.hpp"
#include "join/diagnose/idle.hpp"
#include "join/notable_rows.hpp"
#include "join/rollups.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace inline_prof::report {
namespace {

constexpr double kMuchPercent = 20.0;  // a share that is worth a sentence
constexpr double kMuchIdlePercent = 5.0;
constexpr double kLeastConfidence = 0.5;           // of iterations that were found
constexpr std::string_view kNoIteration = "none";  // as the source of iterations
constexpr double kWideInterval = 1.1;              // of an iteration's time, upper by lower end

std::string name_of(const join::MergedRow& row) {
  const std::string event = readable_event(row.event, row.source);
  std::string name = row.layer.empty() ? event : row.layer + " " + event;
  if (row.occurrence > 0) name += fmt::format(" #{}", row.occurrence);
  return name;
}

bool has_source(const join::Analysis& analysis, std::string_view source) {
  return std::ranges::any_of(analysis.runs, [&](const join::Run& run) {
    return run.profile.profiler.iteration_source == source;
  });
}

// Returns "NOT COMPLETE: for intervals run 1,564 steps. ", of several files with those it is about.
std::string describe_incomplete(const join::Analysis& analysis) {
  constexpr std::size_t most_named = 2;
  std::vector<std::string_view> files;
  for (const join::Run& run : analysis.runs) {
    if (!run.profile.complete) files.push_back(run.profile.file);
  }
  if (files.empty()) return "";
  std::string text = "NOT COMPLETE";
  if (files.size() < analysis.runs.size()) {
    const std::size_t more = files.size() - std::min(files.size(), most_named);
    files.resize(files.size() - more);
    text += fmt::format(" ({}{})", fmt::join(files, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  const auto missing = join::missing_samples(analysis);
  // Sums over many kernels hold with a sample of each.
  if (missing && missing->without == 0 && missing->few > 0)
    text += fmt::format(": for intervals {}", steps_for_intervals(*missing));
  return text + ". ";
}

// Returns "DOUBTFUL: 24 of 288 iterations ... ", empty if few take long. They launch something
// else, such as the rollout before every tenth step of a policy, and the median says nothing of
// them.
std::string describe_long_iterations(const join::Analysis& analysis) {
  constexpr double far = 1.5;            // times the median
  constexpr double much_percent = 25.0;  // of the time; an evaluation now and then takes less
  constexpr std::size_t fewest = 20;
  for (const join::Run& run : analysis.runs) {
    const std::vector<double>& times = run.profile.iter_time_ms;
    // Files of the original profiler do not say what an iteration is.
    if (times.size() < fewest || run.profile.profiler.iteration_source.empty()) continue;
    const double limit = far * base::median(times);
    double sum = 0.0;
    double long_sum = 0.0;
    std::int64_t count = 0;
    for (const double time : times) {
      sum += time;
      if (time <= limit) continue;
      long_sum += time;
      ++count;
    }
    if (long_sum * 100.0 < much_percent * sum || count == 0) continue;
    return fmt::format(
        "DOUBTFUL: {} of {} iterations take over {} times the median, and {:.0f} % of the time: "
        "what follows is of the others. ",
        grouped(count), grouped(std::ssize(times)), far, 100.0 * long_sum / sum);
  }
  return "";
}

// Returns the first warning that begins so; null if there is none.
const std::string* warning_of(const join::Analysis& analysis, std::string_view beginning) {
  const auto found = std::ranges::find_if(analysis.warnings, [&](const std::string& warning) {
    return warning.starts_with(beginning);
  });
  return found == analysis.warnings.end() ? nullptr : &*found;
}

// Returns ", 1,789 samples/s" for what the program said that an iteration works through.
std::string describe_rates(const join::Analysis& analysis) {
  std::string text;
  for (const std::string_view what : {"samples", "tokens"}) {
    double sum = 0.0;
    for (const join::Run& run : analysis.runs) {
      const std::string* number = join::fact_of(run.profile, what);
      if (number == nullptr) continue;
      double value = 0.0;
      std::from_chars(number->data(), number->data() + number->size(), value);
      sum += value;
    }
    if (sum > 0)
      text +=
          fmt::format(", {} {}/s",
                      grouped(static_cast<std::int64_t>(sum * 1e6 / *analysis.iteration.us)), what);
  }
  return text;
}

std::string describe_whole(const join::Analysis& analysis) {
  if (!analysis.shares_percent || !analysis.iteration.us)
    return fmt::format("Where the iteration goes is not known: {}.", analysis.shares_reason);
  const join::Shares& percent = *analysis.shares_percent;
  std::vector<std::string> parts;
  for (const auto& [part, words] :
       {std::pair(percent.predicted, "measured and predicted"),
        std::pair(percent.measured, "only measured"), std::pair(percent.seen, "only seen"),
        std::pair(percent.idle, "idle or not seen")}) {
    constexpr double least_percent = 0.05;
    if (part < least_percent) continue;
    parts.push_back(fmt::format("{:.1f} % {}{}", part, parts.empty() ? "of it is " : "", words));
  }
  const char* words = "An iteration takes";
  if (has_source(analysis, "the whole trace"))
    words = "The trace has no steps, and is taken as one iteration of";
  if (has_source(analysis, kNoIteration))
    words = std::ranges::all_of(analysis.runs,
                                [](const join::Run& run) {
                                  return run.profile.profiler.iteration_source == kNoIteration;
                                })
                ? "The whole run takes"
                : "Iterations of some files and the whole run of others take, as a mean,";
  const auto& interval = analysis.iteration.ci95_us;
  const bool is_wide = interval && interval->upper > kWideInterval * interval->lower;
  return fmt::format(
      "{} {:.3f} ms{}{}. {}.", words, *analysis.iteration.us * 1e-3,
      is_wide ? fmt::format(" ({:.3f} to {:.3f})", interval->lower * 1e-3, interval->upper * 1e-3)
              : "",
      describe_rates(analysis), fmt::join(parts, ", "));
}

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// Names the three largest causes: "dtype casts 29.0 % (94 kernels), launch-bound 20.1 %".
std::string describe_causes(const std::vector<join::Cause>& causes) {
  constexpr std::size_t most_causes = 3;
  std::vector<std::string> words;
  for (const join::Cause& cause : causes) {
    if (words.size() == most_causes) break;
    words.push_back(
        fmt::format("{} {}{}", cause.name, part_of_step(cause.share_percent, " %", cause.time_us),
                    cause.rows == 0 ? "" : fmt::format(" ({})", counted(cause.rows, cause.unit))));
  }
  return with_capital(fmt::format("{} of the step.", fmt::join(words, ", ")));
}

std::string count_of_rows(std::size_t count) {
  return count == 1 ? "1 row takes" : fmt::format("{} rows take", count);
}

std::string describe_slow(const join::NotableRows& rows) {
  const join::MergedRow& largest = *rows.slow.front();
  return fmt::format(
      "{} longer than predicted{}. The largest is {}: {:.1f} us where {:.1f} us were predicted.",
      count_of_rows(rows.slow.size()),
      largest.share_percent ? fmt::format(", {:.1f} % of the iteration together", rows.slow_percent)
                            : "",
      name_of(largest), *largest.corrected_us, *largest.predicted_us);
}

std::string describe_not_slow(const join::Analysis& analysis, const join::NotableRows& rows) {
  const bool has_any = std::ranges::any_of(
      analysis.rows, [](const join::Row& row) { return row.predicted_ci90_us.has_value(); });
  std::string text =
      rows.judged == 0
          ? fmt::format("No row has a prediction with an interval{}, so none can be called slow.",
                        has_any && !analysis.machine_reason.empty() ? " on every GPU" : "")
          : fmt::format("None of {} rows with a prediction and its interval is slow.", rows.judged);
  if (rows.upper_bounds > 0)
    text += fmt::format(
        " {} longer than predicted, but the GPU had run dry before: upper bounds, which hold some "
        "of "
        "the launching.",
        count_of_rows(rows.upper_bounds));
  return text;
}

// Names what the GPU waits for most; empty if that is not known, or little.
std::string describe_idle(const join::Analysis& analysis) {
  const auto mean = join::mean_idle(analysis.idle);
  const join::IdlePart* part = mean ? join::largest_part(*mean) : nullptr;
  if (part == nullptr || !analysis.iteration.us) return {};
  const double percent = 100.0 / *analysis.iteration.us;
  if (part->us * percent < kMuchIdlePercent) return {};
  const std::string place =
      part->behind.empty() ? ""
                           : shortened(readable_name(part->behind.front().place), kMostOfAName);
  const std::string share = fmt::format("The GPU waits {:.0f} % of the step", part->us * percent);
  switch (part->reason) {
    case join::IdleReason::kLaunchingThread:
      return fmt::format(
          "{} for the thread that launches its work, the largest part ({:.0f} %) before {}: "
          "fuse or capture it.",
          share, part->behind.front().us * percent, place);
    case join::IdleReason::kBetweenIterations:
      return share +
             " for the first launch or copy of an iteration: look at what the program does "
             "between two iterations, such as loading data.";
    case join::IdleReason::kSynchronisation:
      return fmt::format(
          "{} because the host waits for it and launches only then{}: leave the wait "
          "out, or make it later.",
          share, place.empty() ? "" : fmt::format(", the largest part before {}", place));
    case join::IdleReason::kOtherStreams:
      return share + " for other streams or ranks; prof-analyze ranks says which rank comes last.";
    case join::IdleReason::kStarts:
      return share +
             " between tasks that are queued already, a few microseconds each: capture them "
             "in a graph, or fuse them.";
    case join::IdleReason::kNotKnown:
      break;
  }
  return {};
}

// Names what a GPU waits for, to follow "its own GPU waits 31 % of the step".
const char* words_of(join::IdleReason reason) {
  constexpr std::array<const char*, join::kIdleReasons> words{
      "for its launching thread",      "between iterations, as where data is loaded",
      "because its host waits for it", "for other streams or ranks",
      "between queued tasks",          ""};
  return words.at(static_cast<std::size_t>(reason));
}

// Says why the last device of collectives is late; empty if that is not known, or little.
std::string describe_why_late(const join::Analysis& analysis, const join::LastDevice& last) {
  for (const join::Idle& idle : analysis.idle) {
    if (idle.profile != last.profile || idle.device_id != last.device_id) continue;
    const join::IdlePart* part = join::largest_part(idle);
    const auto& iteration_us = analysis.runs[idle.profile].iteration.us;
    if (part == nullptr || !iteration_us) return {};
    const double percent = part->us * 100.0 / *iteration_us;
    if (percent < kMuchIdlePercent) return {};
    return fmt::format(": its own GPU waits {:.0f} % of the step {}", percent,
                       words_of(part->reason));
  }
  return {};
}

// Names the rank that the others wait for; empty if that is not known, or little.
std::string describe_last_rank(const join::Analysis& analysis) {
  const auto devices = join::last_devices(analysis.rank_waits, analysis.runs);
  if (devices.empty() || devices.front().exposed_percent < kMuchIdlePercent) return {};
  return fmt::format(
      "The other ranks wait {:.0f} % of the step for {}, which comes last to collectives{}.",
      devices.front().exposed_percent, join::name_of(devices.front(), analysis.runs),
      describe_why_late(analysis, devices.front()));
}

// A run of PyTorch whose kernels have no modules and operators.
bool is_torch_without_names(const join::Analysis& analysis) {
  const bool is_torch = std::ranges::any_of(analysis.rows, [](const join::Row& row) {
    return row.event.str().find("at::native") != std::string::npos ||
           row.kernel_name.str().find("2at6native") != std::string::npos;
  });
  // Our hooks were there, and learned no operator.
  const bool has_hooks = std::ranges::any_of(analysis.runs, [](const join::Run& run) {
    return join::fact_of(run.profile, "iterations") != nullptr ||
           join::fact_of(run.profile, "torch") != nullptr;
  });
  return is_torch && !has_hooks && std::ranges::none_of(analysis.rows, [](const join::Row& row) {
           return row.source.str().starts_with("aten::");
         });
}

// Returns what to do about the largest cause that is not idle time, which has words of its own.
std::string describe_remedy(const std::vector<join::Cause>& causes) {
  for (const join::Cause& cause : causes) {
    if (cause.rows == 0) continue;
    return fmt::format("{}, up to {} of the step: {}; first in {}.", with_capital(cause.name),
                       part_of_step(cause.gain_percent, " %", cause.gain_us), cause.advice,
                       shortened(readable_name(cause.where), kMostOfAName));
  }
  return {};
}

std::string describe_next(const join::Analysis& analysis, const join::NotableRows& rows,
                          const std::vector<join::Cause>& causes) {
  std::vector<std::string> steps;
  const auto say = [&steps](std::string step) {
    if (!step.empty()) steps.push_back(std::move(step));
  };
  if (analysis.watched && !analysis.watched->recurrences.empty()) {
    const join::Recurrence& first = analysis.watched->recurrences.front();
    say(with_capital(fmt::format("{}: {}; {}.", first.cause, printable(first.what),
                                 printable(first.evidence.front()))));
  }
  const bool is_torch = is_torch_without_names(analysis);
  static const read::Profile none;
  const read::Profile& first_profile = analysis.runs.empty() ? none : analysis.runs.front().profile;
  if (is_torch) {
    const bool is_trace = first_profile.profiler.backend == "torch.profiler";
    say(is_trace ? "Record the trace with ProfilerActivity.CPU, record_shapes and "
                   "with_modules, which tell what the kernels compute."
                 : "PyTorch seen: run again with prof-run --torch, which names "
                   "modules and operators.");
  }
  const auto missing = join::missing_samples(analysis);
  const bool is_cut_short = missing && !first_profile.complete;
  if (is_cut_short && missing->without > 0) {
    // By the default policy one of each comes first.
    const bool takes_turns =
        missing->graph_nodes == 0 && first_profile.profiler.policy == "interleaved";
    const std::string how =
        takes_turns
            ? fmt::format("run {} steps for one of each; for intervals {}",
                          grouped(missing->steps(1)), steps_for_intervals(*missing))
            : fmt::format("run {} steps, or use --repeat 2 ({})",
                          grouped(missing->steps(missing->repeat)), grouped(missing->steps(2)));
    say(fmt::format("{} of {} rows have no sample: {}.", grouped(missing->without),
                    grouped(missing->events), how));
  }
  if (!analysis.machine_reason.empty()) {
    const auto nameless = std::ranges::find_if(analysis.runs, [](const join::Run& run) {
      return run.machines.empty() || std::ranges::count(run.machines, "") > 0;
    });
    const bool is_one_of_several = !analysis.machine.empty() && nameless != analysis.runs.end();
    say(fmt::format("Name the GPU{} with --machine, so that there are predictions.",
                    is_one_of_several ? " of " + nameless->profile.file : ""));
  }
  const bool waits_most = !causes.empty() && causes.front().rows == 0;
  const std::string idle = describe_idle(analysis);
  const auto say_waiting = [&] {
    if (!analysis.shares_percent) return;
    say(describe_last_rank(analysis));
    say(idle);
  };
  if (waits_most) say_waiting();
  say(describe_remedy(causes));
  if (analysis.shares_percent) {
    const join::Shares& percent = *analysis.shares_percent;
    if (percent.seen >= kMuchPercent && !(missing && missing->left_out > 0))
      say(fmt::format(
          "Measure longer, or more events: {:.0f} % of the iteration was seen but never sampled.",
          percent.seen));
    if (!is_torch && percent.measured >= kMuchPercent / 2 && rows.unpredicted != nullptr)
      say(fmt::format(
          "Say what {} computes (PROFILE_OP, or a layers file): {:.1f} % without a prediction.",
          shortened(printable(name_of(*rows.unpredicted)), kMostOfAName),
          rows.unpredicted->share_percent.value_or(0.0)));
    if (!waits_most) say_waiting();
    if (percent.idle >= kMuchPercent && idle.empty())
      say(
          fmt::format("Find out what the other {:.0f} % is: a GPU that waits for its host, or work "
                      "that the schedule leaves out.",
                      percent.idle));
  }
  if (missing && missing->left_out > 0)
    say(fmt::format("The schedule left {} of {} rows out.", grouped(missing->left_out),
                    grouped(missing->left_out + missing->events)));
  if (steps.empty() && !first_profile.complete)
    return "Let the run go on until it has all its samples.";
  if (steps.empty()) return "Nothing here asks for a next step.";
  // Two lines of a terminal: the first step, and what else fits.
  constexpr std::size_t most_characters = 134;
  std::string text = steps.front();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (text.size() + 1 + steps[i].size() <= most_characters) text += ' ' + steps[i];
  }
  return text;
}

Findings describe_nothing(const join::Analysis& analysis) {
  const read::Profile& profile = analysis.runs.front().profile;
  const bool ended_early = std::ranges::any_of(profile.warnings, [](const std::string& warning) {
    return warning.find("ended in the warm-up") != std::string::npos;
  });
  return {.what = std::string(simulated_words(analysis)) + doubts_of(analysis) +
                  (analysis.rows.empty() ? printable(profile.file) + " has no events."
                                         : "Nothing was measured."),
          .why = profile.warnings.empty() ? "No event has a sample."
                                          : with_capital(printable(profile.warnings.front())) + ".",
          .next = ended_early
                      ? fmt::format("Run more iterations: the first {} are the warm-up, and each "
                                    "later one measures an event.",
                                    profile.profiler.warmup_iterations.value_or(0))
                  : analysis.rows.empty()
                      ? "Run a program that uses the GPU, for more iterations than the warm-up."
                  : has_source(analysis, kNoIteration)
                      ? "Run longer, and say where an iteration begins."
                      : "Name events that the program has: prof-schedule --from FILE --list."};
}

}  // namespace

bool is_nothing_measured(const join::Analysis& analysis) {
  return !analysis.runs.empty() && !(analysis.rows.empty() && analysis.shares_percent) &&
         std::ranges::all_of(analysis.rows, [](const join::Row& row) { return row.samples == 0; });
}

std::string doubts_of(const join::Analysis& analysis) {
  std::string doubts = describe_incomplete(analysis);
  const auto is_guess = [](const join::Run& run) {
    const auto& profiler = run.profile.profiler;
    return profiler.iteration_source == "auto" &&
           profiler.iteration_confidence.value_or(1.0) < kLeastConfidence;
  };
  if (warning_of(analysis, "doubtful: the iterations") != nullptr)
    doubts += "DOUBTFUL: these may be no iterations, see the warnings. ";
  else if (const auto run = std::ranges::find_if(analysis.runs, is_guess);
           run != analysis.runs.end())
    doubts += fmt::format("DOUBTFUL: these may be no iterations (confidence {:.2f}). ",
                          *run->profile.profiler.iteration_confidence);
  if (has_source(analysis, kNoIteration))
    doubts +=
        "DOUBTFUL: no iteration was found. Mark the steps with PROFILE_ITERATION, in Python with "
        "--torch or inline_prof.torch.iteration(), or set INLINE_PROF_ITERATION. ";
  // A warning of the library's (libinject/session/completeness.cpp).
  if (std::ranges::any_of(analysis.runs, [](const join::Run& run) {
        return std::ranges::any_of(run.profile.warnings, [](const std::string& warning) {
          return warning.starts_with("INLINE_PROF_TORCH is 1, but no PyTorch was hooked");
        });
      }))
    doubts += "No PyTorch was hooked, so no module has a name: see the warnings. ";
  doubts += describe_long_iterations(analysis);
  if (warning_of(analysis, "doubtful: the files") != nullptr)
    doubts += "DOUBTFUL: these files may be of several runs, see the warnings. ";
  if (warning_of(analysis, join::kDoubtfulShares) != nullptr)
    doubts +=
        "DOUBTFUL: the events take more than an iteration, so shares and idle time are rough. ";
  if (const std::string* missing = warning_of(analysis, join::kMissingRanks))
    doubts += with_capital(*missing) + ". ";
  if (const std::size_t rows = join::impossible_rows(analysis); rows > 0)
    doubts += fmt::format("{} {} faster than possible, and in no sum: bytes or time are wrong. ",
                          counted(rows, "row"), rows == 1 ? "is" : "are");
  return doubts;
}

Findings findings(const join::Analysis& analysis) {
  if (is_nothing_measured(analysis)) return describe_nothing(analysis);
  const join::NotableRows rows = join::notable_rows(analysis);
  const std::vector<join::Cause> causes = join::find_causes(analysis);
  return {.what = std::string(simulated_words(analysis)) + doubts_of(analysis) +
                  describe_whole(analysis),
          .why = !causes.empty()      ? describe_causes(causes)
                 : !rows.slow.empty() ? describe_slow(rows)
                                      : describe_not_slow(analysis, rows),
          .next = describe_next(analysis, rows, causes)};
}

}  // namespace inline_prof::report
