#include "join/rows/row.hpp"

#include "base/error_metrics.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace inline_prof::join {

double mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> half_width_percent(const std::optional<double>& value,
                                         const std::optional<Interval>& interval) {
  if (!value || !interval || *value <= 0) return std::nullopt;
  return 50.0 * (interval->upper - interval->lower) / *value;
}

std::optional<Errors> prediction_errors(std::span<const PredictedAndMeasured> pairs) {
  std::vector<base::Judged> rows;
  std::vector<double> ratios;
  for (const auto& [predicted, measured] : pairs) {
    if (!(measured > 0)) continue;
    rows.push_back(
        {.predicted_us = predicted, .measured_us = measured, .lower_us = {}, .upper_us = {}});
    ratios.push_back(measured / predicted);
  }
  const auto summary = base::summarize(rows);
  if (!summary) return std::nullopt;
  return Errors{.rows = summary->count,
                .mape = summary->mape,
                .gmae = summary->gmae,
                .bias = summary->bias,
                .median_ratio = median(std::move(ratios))};
}

Iteration iteration_of(std::span<const double> times_ms) {
  if (times_ms.empty()) return {};
  std::vector<double> times(times_ms.begin(), times_ms.end());
  const MedianAndInterval time = median_and_interval95(std::span(times));
  if (!(time.median > 0)) return {};
  Iteration iteration{.us = time.median * 1e3, .ci95_us = {}};
  if (time.ci95) iteration.ci95_us = Interval{time.ci95->lower * 1e3, time.ci95->upper * 1e3};
  return iteration;
}

Iteration mean_iteration(const std::vector<Iteration>& of_devices) {
  if (of_devices.empty()) return {};
  const double weight = 1.0 / static_cast<double>(of_devices.size());
  Iteration mean{.us = 0.0, .ci95_us = Interval{}};
  for (const Iteration& device : of_devices) {
    if (!device.us) return {};
    *mean.us += *device.us * weight;
    if (device.ci95_us && mean.ci95_us) {
      mean.ci95_us->lower += device.ci95_us->lower * weight;
      mean.ci95_us->upper += device.ci95_us->upper * weight;
    } else {
      mean.ci95_us.reset();
    }
  }
  return mean;
}

namespace {

// Never destroyed, since rows may be looked at until the very end.
const std::string* find_or_add(std::string_view text) {
  // A thread finds a text that it has met before without waiting for the others.
  static thread_local std::unordered_map<std::string_view, const std::string*> known;
  if (const auto it = known.find(text); it != known.end()) return it->second;
  static std::mutex& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string* const shared = &*texts.emplace(text).first;  // elements keep their place
  known.emplace(*shared, shared);
  return shared;
}

}  // namespace

SharedText::SharedText(std::string_view text) {
  static const std::string* const empty = find_or_add({});
  text_ = text.empty() ? empty : find_or_add(text);
}

Verdict judge(double corrected_us, double predicted_us,
              const std::optional<Interval>& predicted_ci90_us, const Doubts& doubts) {
  if (!predicted_ci90_us)
    return doubts.may_hold_launching && corrected_us > predicted_us ? Verdict::kUpperBound
                                                                    : Verdict::kAboveBound;
  if (doubts.is_extrapolated) return Verdict::kExtrapolated;
  if (doubts.is_finding && corrected_us > predicted_ci90_us->upper)
    return doubts.may_hold_launching ? Verdict::kUpperBound : Verdict::kSlower;
  if (doubts.is_finding && corrected_us < predicted_ci90_us->lower) return Verdict::kFaster;
  return Verdict::kAsPredicted;
}

std::string verdict_text(Verdict verdict, const std::optional<double>& ratio,
                         const std::string& reason) {
  switch (verdict) {
    case Verdict::kNotMeasured:
      return "not measured";
    case Verdict::kNoPrediction:
      return fmt::format("no prediction: {}", reason);
    case Verdict::kImpossible:
      return fmt::format("impossible: {}", reason);
    case Verdict::kAboveBound:
      return fmt::format("{:.1f} of bound", ratio.value_or(0.0));
    case Verdict::kUpperBound:
      return "upper bound";
    case Verdict::kExtrapolated:
      return "extrapolated";
    case Verdict::kAsPredicted:
      return "as predicted";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kFaster:
      return "faster";
  }
  return "";
}

void find_nesting(std::vector<Row>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Enclosing rows come before what they enclose: they start earlier or, starting together, end
  // later.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::make_tuple(rows[i].profile, rows[i].device_id, rows[i].stream_index,
                             rows[i].start_index, -rows[i].end_index);
    };
    return key(a) < key(b);
  });
  const auto same_stream = [&](const Row& a, const Row& b) {
    return a.profile == b.profile && a.device_id == b.device_id && a.stream_index == b.stream_index;
  };

  // The chain of rows that may enclose the next one, each ending before the one under it.
  std::vector<std::size_t> open;
  for (const std::size_t i : order) {
    Row& row = rows[i];
    // A row that ends before this one only overlaps it, or has ended when it starts.  It is no
    // parent of a later row either: that starts within this row, too, and this one is nearer.
    while (!open.empty() &&
           (!same_stream(rows[open.back()], row) || rows[open.back()].end_index < row.end_index))
      open.pop_back();
    if (!open.empty()) {
      row.parent = open.back();
      rows[open.back()].is_region = true;
    }
    open.push_back(i);
  }
}

std::vector<std::vector<std::size_t>> children_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::size_t>> children(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].parent) children[*rows[i].parent].push_back(i);
  }
  return children;
}

std::vector<std::size_t> inner_first(const std::vector<std::vector<std::size_t>>& children,
                                     const std::vector<Row>& rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].parent) order.push_back(i);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {  // the list grows: outer rows first
    const auto& inner = children[order[next]];
    order.insert(order.end(), inner.begin(), inner.end());
  }
  std::ranges::reverse(order);
  return order;
}

namespace {

// A word or a number, whichever the file has.
std::string attribute_text(const read::Op& op, std::string_view name) {
  if (const auto text = op.get<std::string>(name)) return *text;
  if (const auto number = op.get<std::int64_t>(name)) return fmt::format("{}", *number);
  return {};
}

}  // namespace

bool is_collective(const read::Event& event) {
  return event.op && event.op->kind == op_kind_name(OpKind::kCollective);
}

bool is_point_to_point(const read::Op& op) {
  const std::string name = op.get<std::string>("op").value_or("");
  if (name == "send" || name == "recv" || name == "send_recv") return true;
  // Files of version 0.1 call any group of different calls so.
  return name == "group" && (op.source == "ncclSend" || op.source == "ncclRecv");
}

std::set<std::string> exchanges_of(const read::Profile& profile) {
  std::set<std::string> exchanges;
  for (const read::Event& event : profile.events) {
    if (is_collective(event) && is_point_to_point(*event.op))
      exchanges.insert(attribute_text(*event.op, "comm"));
  }
  exchanges.erase("");
  return exchanges;
}

std::string event_list_of(const read::Profile& profile) {
  if (profile.profiler.event_list_hash.empty() || profile.phases.size() > 1) return {};
  std::size_t sum = 0;
  for (const read::Event& event : profile.events)
    sum += std::hash<std::string>{}(
        fmt::format("{}\n{}\n{}", event.layer, event.name, event.occurrence));
  return fmt::format("{:016x}", sum);
}

std::set<std::string> kernels_of(const read::Profile& profile) {
  std::set<std::string> kernels;
  if (!profile.profiler.event_list_hash.empty()) return kernels;
  for (const read::Event& event : profile.events)
    kernels.insert(event.layer + ' ' + event.kernel_name);
  return kernels;
}

std::string communicator_of(const read::Op& op) {
  const std::string comm = attribute_text(op, "comm");
  const std::string sequence = attribute_text(op, "sequence");
  return comm.empty() || sequence.empty() ? "" : fmt::format("{} {}", comm, sequence);
}

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string layer_pattern(std::string_view layer) {
  std::string pattern;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const bool begins_number =
        is_digit(layer[i]) &&
        (i == 0 || std::string_view("_./").find(layer[i - 1]) != std::string_view::npos);
    if (!begins_number) {
      pattern += layer[i];
      continue;
    }
    pattern += '*';
    while (i + 1 < layer.size() && is_digit(layer[i + 1]))
      ++i;
  }
  return pattern;
}

}  // namespace inline_prof::join
