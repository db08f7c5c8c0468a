#include "join/diagnose/idle.hpp"
#include "join/diagnose/rank_waits.hpp"
#include "join/notable_rows.hpp"
#include "report/head.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <vector>

namespace inline_prof::report {
namespace {

constexpr double kMuchPercent = 20.0;  // a share that is worth a sentence
constexpr double kLargeRowPercent = 1.0;
constexpr double kMuchIdlePercent = 5.0;

std::string name_of(const join::MergedRow& row) {
  const std::string event = readable_event(row.event, row.source);
  std::string name = row.layer.empty() ? event : row.layer + " " + event;
  if (row.occurrence > 0) name += fmt::format(" #{}", row.occurrence);
  return name;
}

std::string describe_whole(const join::Analysis& analysis) {
  if (!analysis.shares_percent || !analysis.iteration.us) {
    return fmt::format("Where the iteration goes is not known: {}.", analysis.shares_reason);
  }
  const join::Shares& percent = *analysis.shares_percent;
  return fmt::format(
      "An iteration takes {:.3f} ms. {:.1f} % of it is measured and predicted, {:.1f} % measured "
      "without a prediction, {:.1f} % seen but not measured, {:.1f} % idle or not seen.",
      *analysis.iteration.us * 1e-3, percent.predicted, percent.measured, percent.seen,
      percent.idle);
}

std::string count_of_rows(std::size_t count) {
  return count == 1 ? "1 row takes" : fmt::format("{} rows take", count);
}

std::string describe_slow(const join::NotableRows& rows) {
  const join::MergedRow& largest = *rows.slow.front();
  return fmt::format(
      "{} longer than predicted, {:.1f} % of the iteration together. The largest is {}: {:.1f} us "
      "where {:.1f} us were predicted.",
      count_of_rows(rows.slow.size()), rows.slow_percent, name_of(largest), *largest.corrected_us,
      *largest.predicted_us);
}

std::string describe_not_slow(const join::NotableRows& rows) {
  std::string text =
      rows.judged == 0
          ? "No row has a prediction with an interval, so none can be called slow."
          : fmt::format("None of {} rows with a prediction and its interval is slow.", rows.judged);
  if (rows.upper_bounds > 0) {
    text += fmt::format(
        " {} longer than predicted, but the GPU had run dry when the host launched {}: these times "
        "are upper bounds, which hold some of the launching, and do not say that a kernel is slow.",
        count_of_rows(rows.upper_bounds), rows.upper_bounds == 1 ? "it" : "them");
  }
  if (rows.above_bound != nullptr && *rows.above_bound->ratio > 1.0) {
    const join::MergedRow& row = *rows.above_bound;
    text += fmt::format(
        " Furthest above its bound is {}, {:.1f} times, {:.1f} % of the iteration; a bound is the "
        "least time there can be, and not what to expect.",
        name_of(row), *row.ratio, row.share_percent.value_or(0.0));
  }
  return text;
}

// Names what there may be to gain if nothing is slow for certain.
std::string describe_gain(const join::MergedRow& row) {
  return fmt::format("The most to gain is at {}: {:.1f} us of the iteration, if it met its {}.",
                     name_of(row), row.saved_us_if_predicted.value_or(0.0),
                     join::is_bound(row) ? "bound" : "prediction");
}

// Names what the GPU waits for most; empty if that is not known, or little.
std::string describe_idle(const join::Analysis& analysis) {
  const auto mean = join::mean_idle(analysis.idle);
  const join::IdlePart* part = mean ? join::largest_part(*mean) : nullptr;
  if (part == nullptr || !analysis.iteration.us) return {};
  const double percent = 100.0 / *analysis.iteration.us;
  if (part->us * percent < kMuchIdlePercent) return {};
  const std::string place = part->behind.empty() ? "" : readable_name(part->behind.front().place);
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
  switch (reason) {
    case join::IdleReason::kLaunchingThread:
      return "for its launching thread";
    case join::IdleReason::kBetweenIterations:
      return "between iterations, as where data is loaded";
    case join::IdleReason::kSynchronisation:
      return "because its host waits for it";
    case join::IdleReason::kOtherStreams:
      return "for other streams or ranks";
    case join::IdleReason::kStarts:
      return "between queued tasks";
    case join::IdleReason::kNotKnown:
      break;
  }
  return "";
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

std::string describe_next(const join::Analysis& analysis, const join::NotableRows& rows) {
  std::vector<std::string> steps;
  if (!rows.slow.empty() && rows.slow.front()->share_percent.value_or(0.0) >= kLargeRowPercent) {
    steps.push_back(fmt::format("Look at {} first.", name_of(*rows.slow.front())));
  } else if (rows.largest_gain != nullptr) {
    steps.push_back(describe_gain(*rows.largest_gain));
  }
  if (!analysis.could_be_faster.empty() && analysis.iteration.us) {
    const join::Improvement& best = analysis.could_be_faster.front();
    if (const double percent = 100 * best.saved_us() / *analysis.iteration.us;
        percent >= kLargeRowPercent) {
      steps.push_back(fmt::format("{:.1f} % could be saved at {} x {}: {}.", percent, best.rows,
                                  readable_name(best.layers.empty() ? best.operation : best.layers),
                                  best.remedy));
    }
  }
  if (!analysis.machine_reason.empty() && analysis.machine.empty()) {
    steps.push_back("Name the GPU with --machine, so that there are predictions.");
  }
  if (analysis.shares_percent) {
    const join::Shares& percent = *analysis.shares_percent;
    if (percent.seen >= kMuchPercent) {
      steps.push_back(fmt::format(
          "Measure longer, or more events: {:.0f} % of the iteration was seen but never sampled.",
          percent.seen));
    }
    if (percent.measured >= kMuchPercent / 2 && rows.unpredicted != nullptr) {
      steps.push_back(fmt::format(
          "Say what {} computes, with PROFILE_OP or a layers file: at {:.1f} % of the iteration it "
          "is the largest row without a prediction ({}).",
          name_of(*rows.unpredicted), rows.unpredicted->share_percent.value_or(0.0),
          rows.unpredicted->reason));
    }
    if (const std::string last = describe_last_rank(analysis); !last.empty()) steps.push_back(last);
    const std::string idle = describe_idle(analysis);
    if (!idle.empty()) {
      steps.push_back(idle);
    } else if (percent.idle >= kMuchPercent) {
      steps.push_back(fmt::format(
          "Find out what the other {:.0f} % is: a GPU that waits for its host, or work that the "
          "schedule leaves out.",
          percent.idle));
    }
  }
  if (steps.empty()) return "Nothing here asks for a next step.";
  return fmt::format("{}", fmt::join(steps, " "));
}

}  // namespace

Findings findings(const join::Analysis& analysis) {
  const join::NotableRows rows = join::notable_rows(analysis);
  return {.what = describe_whole(analysis),
          .why = rows.slow.empty() ? describe_not_slow(rows) : describe_slow(rows),
          .next = describe_next(analysis, rows)};
}

}  // namespace inline_prof::report
