#include "join/rollups.hpp"

#include "base/text.hpp"
#include "join/diagnose/idle.hpp"
#include "join/diagnose/worth_fixing.hpp"
#include "join/notable_rows.hpp"
#include "join/place/placement.hpp"
#include "join/rows/row.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace inline_prof::join {
namespace {

// Smaller gains are not worth a line.
constexpr double kLeastCausePercent = 1.0;
// Kernels of one family differ by as much.
constexpr double kLeastGainOfRow = 0.2;
// A row this far above its bound may have another cause than the bound's own optimism.
constexpr double kFarAboveBound = 2.0;
// Models of collectives are off by less than that outside of what they were fitted to.
constexpr double kFarAboveTransfer = 5.0;

// Returns the rows that no other stands for: of a region its parts, if one of them has a time.
std::vector<std::size_t> innermost_rows(const std::vector<MergedRow>& merged) {
  std::vector<bool> has_timed_parts(merged.size(), false);
  for (const MergedRow& row : merged) {
    if (row.parent && row.in_iteration_us) has_timed_parts[*row.parent] = true;
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (merged[i].in_iteration_us && !has_timed_parts[i]) rows.push_back(i);
  }
  return rows;
}

// Returns "aten::mul", or the kernel's name without its arguments.
std::string operator_of(const MergedRow& row) {
  const bool is_of_label = row.source == "PROFILE_OP" || row.source == "layers file";
  if (!row.source.empty() && !is_of_label) return row.source;
  std::string name = base::readable_name(row.event);
  // The parentheses of a namespace without a name are none of arguments.
  if (const auto begin = name.find("(anonymous"); begin != name.npos) {
    const auto end = name.find("::", begin);
    if (end != name.npos) name.erase(begin, end + 2 - begin);
  }
  name.resize(std::min(name.find_first_of("<("), name.size()));
  while (name.ends_with(' '))  // "Memcpy DtoD (Device -> Device)"
    name.pop_back();
  return name;
}

struct Sums {
  Total total;
  double compared_us = 0.0;
  double predicted_us = 0.0;
  double peak_us = 0.0;
};

// Adds to a sum that is known once a part of it is.
void add_known(std::optional<double>& sum, const std::optional<double>& part) {
  if (part) sum = sum.value_or(0.0) + *part;
}

// Means over all devices, as shares are: those without the row count as 0.
double devices_of(const Analysis& analysis) {
  return std::max(1.0, static_cast<double>(analysis.placement.devices.size()));
}

// Adds what the products of a row, or of the parts of a region, take at their peak.
double peak_us_of(const Analysis& analysis, const MergedRow& row) {
  double sum_us = 0.0;
  for (const std::size_t i : row.rows)
    sum_us += analysis.rows[i].peak_us.value_or(0.0) * static_cast<double>(analysis.rows[i].calls);
  return sum_us / devices_of(analysis);
}

// A merged row in an iteration; the ratio of its medians is none of these means.
struct RowTimes {
  double time_us = 0.0;
  double compared_us = 0.0;  // of `time_us`, where there is a prediction
  double predicted_us = 0.0;
};

RowTimes times_of(const Analysis& analysis, const MergedRow& merged) {
  RowTimes times;
  for (const std::size_t i : merged.rows) {
    const Row& row = analysis.rows[i];
    if (!row.in_iteration_us) continue;
    const double time_us = *row.in_iteration_us / devices_of(analysis);
    times.time_us += time_us;
    if (!row.ratio || !(*row.ratio > 0)) continue;
    const double working_us = time_us * *row.working_us() / *row.corrected_us;
    times.compared_us += working_us;
    times.predicted_us += working_us / *row.ratio;
  }
  return times;
}

std::vector<Total> finished(const std::map<std::string, Sums>& sums) {
  std::vector<Total> totals;
  totals.reserve(sums.size());
  for (const auto& [name, each] : sums) {
    Total& total = totals.emplace_back(each.total);
    total.name = name;
    if (each.predicted_us > 0) total.ratio = each.compared_us / each.predicted_us;
    if (each.peak_us > 0 && total.time_us > 0) total.peak_part = each.peak_us / total.time_us;
  }
  std::ranges::stable_sort(totals, std::greater(), [](const Total& total) {
    return std::pair(total.share_percent.value_or(0.0), total.time_us);
  });
  return totals;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The causes in the order in which a row is asked for them, with what to do.
enum class CauseKind : std::uint8_t {
  kOptimizer,
  kRuns,
  kCasts,
  kCopies,
  kMoves,
  kPageable,
  kAttention,
  kRanks,
  kSlower,
  kRemedy,
  kAboveBound,
};

struct CauseWords {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array<CauseWords, 11> kCauseWords{
    {{"unfused optimizer", "use a fused one (PyTorch: fused=True)"},
     {"unfused kernels in a row", "one could do the work of each row: fuse them (torch.compile)"},
     {"dtype casts", "keep tensors in one type, or let torch.compile fuse the casts"},
     {"copies", "keep tensors contiguous, or let torch.compile fuse the copies"},
     {"copies within the device",
      "write into their destination at once, as into the buffers of a captured graph's inputs"},
     {"copies of pageable memory", "pin it: pin_memory=True, and copy with non_blocking=True"},
     {"attention of single products", "use scaled_dot_product_attention"},
     {"collectives that take longer than their transfer",
      "other ranks come later, or the links are shared"},
     {"slower than predicted", "look at the largest"},
     {"unfused operators", ""},      // each remedy is a cause of its own
     {"far above the bound", ""}}};  // the two below
constexpr std::array<std::string_view, 4> kFusedByTorch{"Adam", "AdamW", "SGD", "Adagrad"};
constexpr const char* kCompiledOptimizer =
    "compile it with torch.compile(optimizer.step), since PyTorch has no fused one of this class";
constexpr const char* kFewerLaunches =
    "small kernels: fuse them with their neighbours (torch.compile)";
constexpr const char* kBetterKernel =
    "far above the bound: look for a better kernel, or with Nsight Compute for what this one waits";

// Returns layers that compute attention by products and a softmax of their own.
std::set<std::string> layers_of_plain_attention(const std::vector<MergedRow>& merged) {
  constexpr std::size_t products_of_attention = 2;
  std::map<std::string, std::pair<std::size_t, bool>> found;
  for (const MergedRow& row : merged) {
    auto& [products, has_softmax] = found[row.layer];
    if (contains(row.source, "bmm") || contains(row.source, "StridedBatched")) ++products;
    if (contains(row.source, "softmax")) has_softmax = true;
  }
  std::set<std::string> layers;
  for (const auto& [layer, parts] : found) {
    if (!layer.empty() && parts.first >= products_of_attention && parts.second)
      layers.insert(layer);
  }
  return layers;
}

class CauseFinder {
  using Key = std::pair<CauseKind, std::string>;

 public:
  explicit CauseFinder(const Analysis& analysis)
      : analysis_(analysis), attention_(layers_of_plain_attention(analysis.merged)) {}

  std::vector<Cause> find() {
    const std::vector<bool> is_in_run = add_runs();
    for (const std::size_t i : innermost_rows(analysis_.merged))
      if (!is_in_run[i]) add(analysis_.merged[i]);
    std::vector<Cause> causes;
    for (auto& [key, cause] : causes_) {
      if (cause.rows > 0) causes.push_back(std::move(cause));
    }
    add_idle(causes);
    add_rank_waits(causes);
    const double iteration_us = analysis_.iteration.us.value_or(0.0);
    for (Cause& cause : causes) {
      if (!(iteration_us > 0)) break;
      if (cause.rows == 0) cause.share_percent = 100 * cause.time_us / iteration_us;
      cause.gain_percent =
          std::min(cause.share_percent.value_or(0.0), 100 * cause.gain_us / iteration_us);
    }
    const double least_us = kLeastCausePercent * 0.01 * iteration_us;
    std::erase_if(causes, [&](const Cause& cause) { return !(cause.gain_us >= least_us); });
    std::ranges::stable_sort(causes, std::greater(), &Cause::gain_us);
    return causes;
  }

 private:
  // `key` tells causes of one kind apart.
  void count(CauseKind kind, const std::string& key, const MergedRow& row, double gain_us) {
    if (!(gain_us > 0)) return;
    Cause& cause = causes_[{kind, key}];
    if (cause.name.empty()) {
      const CauseWords& words = kCauseWords.at(static_cast<std::size_t>(kind));
      cause.name = words.name;
      cause.advice = key.empty() ? std::string(words.advice) : key;
      if (kind == CauseKind::kRanks)
        cause.advice +=
            analysis_.runs.size() > 1
                ? "; prof-analyze ranks says which comes last"
                : "; with a file of each rank, prof-analyze ranks says which comes last";
      // "elements are addressed one by one: make the tensors contiguous": a cause and its remedy.
      if (const std::size_t colon = key.find(": "); colon != std::string::npos) {
        cause.name = key.substr(0, colon);
        cause.advice = key.substr(colon + 2);
      }
    }
    if (kind == CauseKind::kOptimizer && !row.is_one_launch) cause.unit = "row";
    add_time(cause, row);
    add_gain({kind, key}, row, gain_us);
  }

  void add_time(Cause& cause, const MergedRow& row) const {
    ++cause.rows;
    cause.time_us += times_of(analysis_, row).time_us;
    add_known(cause.share_percent, row.share_percent);
  }

  void add_gain(const Key& key, const MergedRow& row, double gain_us) {
    Cause& cause = causes_[key];
    cause.gain_us += gain_us;
    if (double& largest = largest_us_[key]; gain_us > largest) {
      largest = gain_us;
      cause.row = static_cast<std::size_t>(&row - analysis_.merged.data());
      const std::string operation = operator_of(row);
      cause.where =
          row.layer.empty() || row.layer == operation ? operation : row.layer + " " + operation;
    }
  }

  // Equal layers are one cause.  Returns which of the merged rows are in a run.
  std::vector<bool> add_runs() {
    std::vector<std::size_t> merged_of(analysis_.rows.size());
    for (std::size_t i = 0; i < analysis_.merged.size(); ++i)
      for (const std::size_t row : analysis_.merged[i].rows)
        merged_of[row] = i;
    std::vector<bool> is_in_run(analysis_.merged.size(), false);
    for (const FusableRun& run : fusable_runs(analysis_.rows)) {
      const MergedRow& first = analysis_.merged[merged_of[run.rows.front()]];
      if (attention_.contains(first.layer) || is_of_unfused_optimizer(first)) continue;
      const std::string layers = layer_pattern(layer_to_fuse_in(analysis_.rows[run.rows.front()]));
      const Key key{CauseKind::kRuns, layers};
      Cause& cause = causes_[key];
      const CauseWords& words = kCauseWords.at(static_cast<std::size_t>(CauseKind::kRuns));
      cause.name = layers.empty()
                       ? words.name
                       : "unfused kernels in " + layers.substr(layers.find_last_of('/') + 1);
      cause.advice = words.advice;
      for (const std::size_t row : run.rows) {
        const std::size_t merged = merged_of[row];
        if (is_in_run[merged]) continue;  // of another device
        is_in_run[merged] = true;
        add_time(cause, analysis_.merged[merged]);
      }
      add_gain(key, first, (run.measured_us - run.fused_us) / devices_of(analysis_));
    }
    return is_in_run;
  }

  // Returns the row's time beside which its device does nothing else, as a mean over devices.
  double exposed_us(const MergedRow& row) {
    double sum_us = 0.0;
    for (const std::size_t i : row.rows) {
      const DeviceKey device = device_of(analysis_.rows[i]);
      const auto placed = analysis_.placement.devices.find(device);
      if (placed == analysis_.placement.devices.end()) return times_of(analysis_, row).time_us;
      const auto time =
          device_times_.try_emplace(device, analysis_.placement, placed->second).first;
      sum_us += time->second.exposed_us(i, analysis_.rows[i].in_iteration_us.value_or(0.0));
    }
    return sum_us / devices_of(analysis_);
  }

  void add(const MergedRow& row) {
    const RowTimes times = times_of(analysis_, row);
    const double time_us = times.time_us * row.working_part;
    const double predicted_us =
        times.predicted_us > 0 ? time_us * times.predicted_us / times.compared_us : time_us;
    const Row& first = analysis_.rows[row.rows.front()];
    if (is_of_unfused_optimizer(row))
      return count(CauseKind::kOptimizer, way_to_fuse(row), row,
                   gain_of_fusing(row, time_us - predicted_us));
    if (contains(row.source, "aten::_to_copy") || row.source == "aten::to")
      return count(CauseKind::kCasts, "", row, time_us);
    if (row.source == "aten::copy_" || row.source == "aten::clone" ||
        row.source == "aten::contiguous")
      return count(CauseKind::kCopies, "", row, time_us);
    if (contains(first.event.str(), "DtoD")) return count(CauseKind::kMoves, "", row, time_us);
    if (first.op_kind.str() == op_kind_name(OpKind::kCopy)) {
      if (contains(first.event.str(), "ageable"))
        count(CauseKind::kPageable, "", row, time_us - predicted_us);
      return;  // no kernel would do it faster
    }
    if (attention_.contains(row.layer) && first.op_kind.str() != op_kind_name(OpKind::kGemm))
      return count(CauseKind::kAttention, "", row, time_us);
    const bool is_far_above_bound =
        is_bound(row) && row.verdict == Verdict::kAboveBound && *row.ratio >= kFarAboveBound;
    // The time of a collective holds the waiting for the ranks that come later.  Only what no other
    // work hides makes the iteration longer.
    if (first.op_kind.str() == op_kind_name(OpKind::kCollective)) {
      const bool is_far_above_transfer =
          row.verdict == Verdict::kExtrapolated && row.ratio.value_or(0.0) >= kFarAboveTransfer;
      if (row.verdict == Verdict::kSlower || is_far_above_bound || is_far_above_transfer)
        count(CauseKind::kRanks, "", row, std::min(time_us - predicted_us, exposed_us(row)));
      return;
    }
    if (row.verdict == Verdict::kSlower)
      return count(CauseKind::kSlower, "", row, time_us - predicted_us);
    if (!first.remedy.empty() && first.attainable_us && first.corrected_us &&
        *first.attainable_us < (1 - kLeastGainOfRow) * *first.corrected_us)
      return count(CauseKind::kRemedy, first.remedy.str(), row,
                   time_us * (1 - *first.attainable_us / *first.corrected_us));
    if (!is_far_above_bound) return;
    // A kernel that does next to nothing has no better one; there can only be fewer launches.
    count(CauseKind::kAboveBound, first.bound.str() == "launch" ? kFewerLaunches : kBetterKernel,
          row, time_us - predicted_us);
  }

  [[nodiscard]] bool is_of_unfused_optimizer(const MergedRow& row) const {
    const std::string& kernel = analysis_.rows[row.rows.front()].kernel_name.str();
    if (contains(row.source, "_fused_") || contains(kernel, "Fused") || contains(kernel, "fused"))
      return false;
    return contains(row.source, "_foreach_") ||
           (row.layer.starts_with("optimizer") && !row.is_one_launch);
  }

  // Returns the advice for optimizers that take no `fused=True`, else "".
  static const char* way_to_fuse(const MergedRow& row) {
    constexpr std::string_view named = "optimizer.";
    const std::string_view layer = row.layer;
    if (!layer.starts_with(named)) return "";
    const auto name = layer.substr(named.size());
    return std::ranges::find(kFusedByTorch, name) == kFusedByTorch.end() ? kCompiledOptimizer : "";
  }

  // An operator of its own reads two tensors and writes one; a fused step of Adam reads four and
  // writes three.  With the state known, the bound says it better.
  double gain_of_fusing(const MergedRow& row, double above_bound_us) {
    if (row.ratio) return above_bound_us;
    constexpr double operators_that_cost_as_much = 7.0 / 3.0;
    const auto operators = static_cast<double>(foreach_operators());
    return times_of(analysis_, row).time_us *
           std::max(0.0, 1 - operators_that_cost_as_much / operators);
  }

  std::size_t foreach_operators() {
    if (foreach_count_ == 0) {
      std::set<std::string_view> met;
      for (const MergedRow& row : analysis_.merged) {
        if (is_of_unfused_optimizer(row)) met.insert(row.source);
      }
      foreach_count_ = std::max<std::size_t>(1, met.size());
    }
    return foreach_count_;
  }

  void add_idle(std::vector<Cause>& causes) const {
    const auto mean = mean_idle(analysis_.idle);
    if (!mean) return;
    constexpr std::array<CauseWords, kIdleReasons> words{
        {{"launch-bound", "capture the step in a graph, or launch less (torch.compile)"},
         {"waits before the first launch",
          "load and prepare data earlier, and do less between two iterations"},
         {"host synchronisation", "leave out .item(), .cpu() and synchronisations"},
         {"waits for other streams or ranks", "prof-analyze ranks says which rank comes last"},
         {"starts of queued kernels", "capture them in a graph, or fuse them"},
         {"", ""}}};
    for (const IdlePart& part : mean->parts) {
      const auto& [name, advice] = words.at(static_cast<std::size_t>(part.reason));
      if (name.empty()) continue;
      causes.push_back({.name = std::string(name),
                        .advice = std::string(advice),
                        .where = part.behind.empty() ? "" : "before " + part.behind.front().place,
                        .time_us = part.us,
                        .gain_us = part.us});
    }
  }

  // Times of collectives' kernels that are no work of theirs.
  void add_rank_waits(std::vector<Cause>& causes) const {
    const auto devices = last_devices(analysis_.rank_waits, analysis_.runs);
    if (devices.empty() || !analysis_.iteration.us) return;
    const LastDevice& last = devices.front();
    const double us = 0.01 * last.exposed_percent * *analysis_.iteration.us;
    const auto& rank = analysis_.runs[last.profile].profile.rank;
    causes.push_back({.name = rank ? fmt::format("waits for rank {}", *rank) : "waits for a GPU",
                      .advice = "divide the work evenly; prof-analyze ranks has each collective",
                      .where = "for " + name_of(last, analysis_.runs),
                      .time_us = us,
                      .gain_us = us});
  }

  const Analysis& analysis_;
  std::set<std::string> attention_;
  std::map<Key, Cause> causes_;
  std::map<Key, double> largest_us_;
  std::map<DeviceKey, DeviceTime> device_times_;
  std::size_t foreach_count_ = 0;
};

}  // namespace

std::vector<Total> totals_by_operator(const Analysis& analysis) {
  std::map<std::string, Sums> sums;
  for (const std::size_t i : innermost_rows(analysis.merged)) {
    const MergedRow& row = analysis.merged[i];
    Sums& of = sums[operator_of(row)];
    ++of.total.count;
    const RowTimes times = times_of(analysis, row);
    of.total.time_us += times.time_us;
    add_known(of.total.share_percent, row.share_percent);
    of.peak_us += peak_us_of(analysis, row);
    of.compared_us += times.compared_us;
    of.predicted_us += times.predicted_us;
  }
  return finished(sums);
}

std::vector<Total> totals_by_layer_pattern(const Analysis& analysis) {
  std::map<std::string, Sums> sums;
  for (const LayerSum& layer : layer_sums(analysis)) {
    Sums& of = sums[layer.layer.empty() ? "(no layer)" : layer_pattern(layer.layer)];
    ++of.total.count;
    of.total.time_us += layer.time_us.value_or(0.0);
    add_known(of.total.share_percent, layer.share_percent);
    of.compared_us += layer.compared_us.value_or(0.0);
    of.predicted_us += layer.predicted_us.value_or(0.0);
    for (const std::size_t row : layer.rows)
      of.peak_us += peak_us_of(analysis, analysis.merged[row]);
  }
  return finished(sums);
}

std::optional<double> flops_utilisation(const Analysis& analysis) {
  double peak_us = 0.0;
  for (const MergedRow& row : analysis.merged)
    peak_us += peak_us_of(analysis, row);
  if (!analysis.iteration.us || !(*analysis.iteration.us > 0) || !(peak_us > 0)) return {};
  return peak_us / *analysis.iteration.us;
}

const std::string* fact_of(const read::Profile& profile, std::string_view name) {
  constexpr std::string_view prefix = "inline_prof.";
  for (const read::RuntimeData& fact : profile.runtime_data) {
    const std::string_view own = fact.name;
    if (own.starts_with(prefix) && own.substr(prefix.size()) == name && !fact.data.empty())
      return &fact.data.back();
  }
  return nullptr;
}

std::vector<Cause> find_causes(const Analysis& analysis) {
  return CauseFinder(analysis).find();
}

std::size_t impossible_rows(const Analysis& analysis) {
  return static_cast<std::size_t>(
      std::ranges::count(analysis.merged, Verdict::kImpossible, &MergedRow::verdict));
}

namespace {

class Summer {
 public:
  explicit Summer(const Analysis& analysis)
      : analysis_(analysis), merged_(analysis.merged), children_(merged_.size()) {
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      if (merged_[i].parent) children_[*merged_[i].parent].push_back(i);
    }
  }

  // A region without a sample takes as long as what it encloses; one without a prediction of its
  // own is compared by what it encloses.
  void add(LayerSum& sum, std::size_t outer) const {
    visit(outer, [&](const MergedRow& row) {
      if (!row.in_iteration_us) return false;
      add_known(sum.time_us, times_of(analysis_, row).time_us);
      add_known(sum.share_percent, row.share_percent);
      return true;
    });
    visit(outer, [&](const MergedRow& row) {
      const RowTimes times = times_of(analysis_, row);
      if (!row.ratio || times.predicted_us <= 0) return false;
      add_known(sum.compared_us, times.compared_us);
      add_known(sum.predicted_us, times.predicted_us);
      return true;
    });
  }

 private:
  // Calls `take` with the row, and with what a row encloses for which that returns false.
  template <typename Take>
  void visit(std::size_t outer, const Take& take) const {
    std::vector<std::size_t> to_do{outer};
    while (!to_do.empty()) {
      const std::size_t i = to_do.back();
      to_do.pop_back();
      if (!take(merged_[i])) to_do.insert(to_do.end(), children_[i].begin(), children_[i].end());
    }
  }

  const Analysis& analysis_;
  const std::vector<MergedRow>& merged_;
  std::vector<std::vector<std::size_t>> children_;
};

}  // namespace

std::vector<LayerSum> layer_sums(const Analysis& analysis) {
  const Summer summer(analysis);
  std::vector<LayerSum> sums;
  std::map<std::string_view, std::size_t> sum_of;
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    const std::string& layer = analysis.merged[i].layer;
    const auto [it, is_new] = sum_of.try_emplace(layer, sums.size());
    if (is_new) sums.emplace_back().layer = layer;
    LayerSum& sum = sums[it->second];
    sum.rows.push_back(i);
    if (!is_outermost_of_layer(analysis.merged, i)) continue;
    sum.outer_rows.push_back(i);
    summer.add(sum, i);
  }
  for (LayerSum& sum : sums) {
    if (sum.predicted_us && *sum.predicted_us > 0) sum.ratio = *sum.compared_us / *sum.predicted_us;
  }
  return sums;
}

namespace {

// The rows of one model and kind, before they are summed up.
struct Gathered {
  ModelScore score;
  double time_us = 0;
  std::vector<PredictedAndMeasured> pairs;
  std::map<std::string, std::size_t> reasons;
};

double time_of(const Row& row) {
  return row.in_iteration_us.value_or(row.corrected_us.value_or(0.0));
}

void add(Gathered& gathered, const Row& row, const ModelTime& time) {
  ModelScore& score = gathered.score;
  ++score.rows;
  if (!time.predicted_us) {
    ++gathered.reasons[time.reason.str()];
    return;
  }
  ++score.predicted;
  gathered.time_us += time_of(row);
  const double measured_us = *row.working_us();
  gathered.pairs.push_back({.predicted = *time.predicted_us, .measured = measured_us});
  if (!time.predicted_ci90_us) return;
  ++score.with_interval;
  if (measured_us >= time.predicted_ci90_us->lower && measured_us <= time.predicted_ci90_us->upper)
    ++score.inside;
}

ModelScore summed_up(Gathered gathered, double all_us) {
  ModelScore score = std::move(gathered.score);
  if (all_us > 0) score.share_percent = 100 * gathered.time_us / all_us;
  score.errors = prediction_errors(gathered.pairs);
  const auto commonest =
      std::ranges::max_element(gathered.reasons, {}, [](const auto& each) { return each.second; });
  if (commonest != gathered.reasons.end()) score.reason = commonest->first;
  return score;
}

}  // namespace

std::vector<ModelScore> model_scores(const Analysis& analysis) {
  struct Kind {
    double time_us = 0;
    std::vector<Gathered> models;
  };
  std::map<std::string, Kind> kinds;
  double all_us = 0;
  for (const Row& row : analysis.rows) {
    if (!row.corrected_us) continue;
    if (!row.parent) all_us += time_of(row);
    if (row.by_model.empty()) continue;
    Kind& kind = kinds[row.op_kind.str()];
    kind.time_us += time_of(row);
    const auto add_to = [&](const ModelTime& time) {
      auto found = std::ranges::find(kind.models, time.model.str(),
                                     [](const Gathered& each) { return each.score.model; });
      if (found == kind.models.end()) {
        found = kind.models.insert(kind.models.end(), Gathered{});
        found->score.kind = row.op_kind.str();
        found->score.model = time.model.str();
      }
      add(*found, row, time);
    };
    const bool is_own = row.predicted_us && !row.is_sum_of_children;
    add_to({.model = kOwnChoice,
            .predicted_us = is_own ? row.predicted_us : std::nullopt,
            .predicted_ci90_us = is_own ? row.predicted_ci90_us : std::nullopt,
            .reason = row.reason});
    for (const ModelTime& time : row.by_model)
      add_to(time);
  }
  std::vector<Kind*> largest_first;
  largest_first.reserve(kinds.size());
  for (auto& [name, kind] : kinds)
    largest_first.push_back(&kind);
  std::ranges::stable_sort(largest_first, std::greater{}, &Kind::time_us);
  std::vector<ModelScore> scores;
  for (Kind* kind : largest_first) {
    for (Gathered& gathered : kind->models)
      scores.push_back(summed_up(std::move(gathered), all_us));
  }
  return scores;
}

const std::vector<ModelTime>& by_model_of(const Analysis& analysis, const MergedRow& row) {
  static const std::vector<ModelTime> none;
  for (const std::size_t device : row.rows) {
    if (!analysis.rows[device].by_model.empty()) return analysis.rows[device].by_model;
  }
  return none;
}

}  // namespace inline_prof::join
