#include "report/findings.hpp"

#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

constexpr double kMuchPercent = 20.0;  // a share that is worth a sentence
constexpr double kLargeRowPercent = 1.0;

std::string name_of(const join::MergedRow& row) {
  const std::string event = readable_name(row.event);
  std::string name = row.layer.empty() ? event : row.layer + " " + event;
  if (row.occurrence > 0) name += fmt::format(" #{}", row.occurrence);
  return name;
}

// Rows that stand for themselves: the prediction of a region is that of its parts.
std::vector<const join::MergedRow*> innermost_rows(const join::Analysis& analysis) {
  std::vector<bool> has_children(analysis.merged.size(), false);
  for (const join::MergedRow& row : analysis.merged) {
    if (row.parent) has_children[*row.parent] = true;
  }
  std::vector<const join::MergedRow*> rows;
  for (std::size_t i = 0; i < has_children.size(); ++i) {
    if (!has_children[i]) rows.push_back(&analysis.merged[i]);
  }
  return rows;
}

template <typename Condition>
std::vector<const join::MergedRow*> largest_first(const std::vector<const join::MergedRow*>& all,
                                                  const Condition& condition) {
  std::vector<const join::MergedRow*> rows;
  std::ranges::copy_if(all, std::back_inserter(rows),
                       [&](const join::MergedRow* row) { return condition(*row); });
  std::ranges::stable_sort(rows, [](const join::MergedRow* a, const join::MergedRow* b) {
    return a->share_percent.value_or(0.0) > b->share_percent.value_or(0.0);
  });
  return rows;
}

double sum_of_shares(const std::vector<const join::MergedRow*>& rows) {
  double sum = 0.0;
  for (const join::MergedRow* row : rows)
    sum += row->share_percent.value_or(0.0);
  return sum;
}

std::string describe_whole(const join::Analysis& analysis) {
  if (!analysis.shares_percent || !analysis.iteration_us) {
    return fmt::format("Where the iteration goes is not known: {}.", analysis.shares_reason);
  }
  const join::Shares& percent = *analysis.shares_percent;
  return fmt::format(
      "An iteration takes {:.3f} ms. {:.1f} % of it is measured and predicted, {:.1f} % measured "
      "without a prediction, {:.1f} % seen but not measured, {:.1f} % idle or not seen.",
      *analysis.iteration_us * 1e-3, percent.predicted, percent.measured, percent.seen,
      percent.idle);
}

std::string count_of_rows(std::size_t count) {
  return count == 1 ? "1 row takes" : fmt::format("{} rows take", count);
}

std::string describe_slow(const std::vector<const join::MergedRow*>& slow) {
  const join::MergedRow& largest = *slow.front();
  return fmt::format(
      "{} longer than predicted, {:.1f} % of the iteration together. The largest is {}: {:.1f} us "
      "where {:.1f} us were predicted.",
      count_of_rows(slow.size()), sum_of_shares(slow), name_of(largest), *largest.corrected_us,
      *largest.predicted_us);
}

bool is_bound(const join::MergedRow& row) {
  return row.ratio && !row.predicted_ci90_us;
}

std::string describe_not_slow(const std::vector<const join::MergedRow*>& rows) {
  const auto judged = std::ranges::count_if(rows, [](const join::MergedRow* row) {
    return row->ratio && row->predicted_ci90_us && row->verdict != join::Verdict::kExtrapolated;
  });
  const auto bounds = largest_first(rows, [](const join::MergedRow& row) { return is_bound(row); });
  std::string text =
      judged == 0
          ? "No row has a prediction with an interval, so none can be called slow."
          : fmt::format("None of {} rows with a prediction and its interval is slow.", judged);
  const auto far_from_bound = std::ranges::max_element(bounds, {}, [](const join::MergedRow* row) {
    return row->share_percent.value_or(0.0) * (1.0 - 1.0 / std::max(1.0, *row->ratio));
  });
  if (far_from_bound != bounds.end() && *(*far_from_bound)->ratio > 1.0) {
    const join::MergedRow& row = **far_from_bound;
    text += fmt::format(
        " Furthest above its bound is {}, {:.1f} times, {:.1f} % of the iteration; a bound is the "
        "least time there can be, and not what to expect.",
        name_of(row), *row.ratio, row.share_percent.value_or(0.0));
  }
  return text;
}

// Where nothing is slow for certain, what there may be to gain.
std::optional<std::string> describe_largest_gain(const join::Analysis& analysis) {
  if (analysis.worth_fixing.empty() || !analysis.iteration_us) return std::nullopt;
  const join::MergedRow& row = analysis.merged[analysis.worth_fixing.front()];
  const double saved_us = row.saved_us_if_predicted.value_or(0.0);
  if (saved_us * 100.0 < kLargeRowPercent * *analysis.iteration_us) return std::nullopt;
  return fmt::format("The most to gain is at {}: {:.1f} us of the iteration, if it met its {}.",
                     name_of(row), saved_us, is_bound(row) ? "bound" : "prediction");
}

std::string describe_next(const join::Analysis& analysis,
                          const std::vector<const join::MergedRow*>& rows,
                          const std::vector<const join::MergedRow*>& slow) {
  std::vector<std::string> steps;
  if (!slow.empty() && slow.front()->share_percent.value_or(0.0) >= kLargeRowPercent) {
    steps.push_back(fmt::format("Look at {} first.", name_of(*slow.front())));
  } else if (auto gain = describe_largest_gain(analysis)) {
    steps.push_back(std::move(*gain));
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
    const auto unpredicted = largest_first(rows, [](const join::MergedRow& row) {
      return row.corrected_us && row.verdict == join::Verdict::kNoPrediction;
    });
    if (percent.measured >= kMuchPercent / 2 && !unpredicted.empty()) {
      steps.push_back(fmt::format(
          "Say what {} computes, with PROFILE_OP or a layers file: at {:.1f} % of the iteration it "
          "is the largest row without a prediction ({}).",
          name_of(*unpredicted.front()), unpredicted.front()->share_percent.value_or(0.0),
          unpredicted.front()->reason));
    }
    if (percent.idle >= kMuchPercent) {
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
  const auto rows = innermost_rows(analysis);
  const auto slow = largest_first(
      rows, [](const join::MergedRow& row) { return row.verdict == join::Verdict::kSlower; });
  return {.what = describe_whole(analysis),
          .why = slow.empty() ? describe_not_slow(rows) : describe_slow(slow),
          .next = describe_next(analysis, rows, slow)};
}

}  // namespace inline_prof::report
