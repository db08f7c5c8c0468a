#include "model/calibrated/embedding/embedding.hpp"

#include "model/calibrated/analytic.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::model {
namespace {

using Eigen::ArrayXd;

constexpr double kSector = 32;     // bytes that DRAM and L2 move at a time
constexpr double kL2Usable = 0.8;  // of L2 that holds rows: the rest holds indices and output
// Rates at which rows go through L2, of DRAM's bandwidth, in FBGEMM's kernels of two public traces
// (tests/data/real_traces): gathered 1.16 on V100 and 1.32 on A100; as gradients, for each look-up,
// 0.48 and 0.47.  Streams are three times as fast as DRAM.
constexpr double kGatherOverDram = 1.25;
constexpr double kGradientOverDram = 0.48;
// Between the two GPUs, and for what they do not tell.
constexpr double kGpuSigma = 0.2;
// Between the two kernels of a gradient, which share its work.
constexpr double kPartSigma = 0.35;
constexpr double kOverlap = 3.0;  // of DRAM, L2 and latency
constexpr double kIndexBytes = 8;
constexpr double kOffsetBytes = 8;  // where a bag starts
constexpr double kWarpsPerSm = 64;
constexpr double kLoadsInFlight = 4;  // of a warp
// About 500 and 260 clocks: W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
// Architecture via Microbenchmarking", 2024, arXiv:2402.13499.
constexpr double kDramLatencyUs = 0.3;
constexpr double kL2LatencyUs = 0.15;
// Radix sort moves key and value in and out, 8 bits of the key a pass: A. Adinets, D. Merrill,
// "Onesweep", 2022, arXiv:2206.01784.
constexpr double kSortBytes = 32;
constexpr double kSortBits = 8;
constexpr double kSortLaunches = 4;

// Share of the bandwidth that random rows of this many bytes reach: 0.92 less the penalties of
// TorchRec's planner (pytorch/torchrec, distributed/planner/constants.py: 1.75 for less than 64
// elements, 1.15 for less than 128), on straight lines in between.
double random_row_share(double row_bytes) {
  constexpr std::array<std::pair<double, double>, 3> points{
      {{128, 0.92 / 1.75}, {384, 0.92 / 1.15}, {512, 0.92}}};
  if (row_bytes <= points.front().first) return points.front().second;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& [x0, y0] = points[i - 1];
    const auto& [x1, y1] = points[i];
    if (row_bytes <= x1) return y0 + (y1 - y0) * (row_bytes - x0) / (x1 - x0);
  }
  return points.back().second;
}

constexpr double kOwnClasses = 64;
constexpr double kGrowth = 1.05;
constexpr int kNewtonSteps = 60;

ArrayXd as_array(const std::vector<double>& values) {
  return Eigen::Map<const ArrayXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// Integral of x^-alpha.
double primitive(double x, double alpha) {
  return std::abs(alpha - 1) < 1e-9 ? std::log(x) : std::pow(x, 1 - alpha) / (1 - alpha);
}

double sectors(double bytes) {
  return kSector * std::ceil(bytes / kSector);
}

struct Traffic {
  double dram = 0, l2 = 0;
};

void add_forward(const EmbeddingShape& shape, double requests, double row_bytes,
                 const EmbeddingTime& time, Traffic& traffic) {
  const double output = shape.batch * sectors(shape.dim * shape.element_bytes);
  const double indices = requests * kIndexBytes + (shape.batch + 1) * kOffsetBytes;
  traffic.dram += shape.tables * (requests * (1 - time.hit_rate) * row_bytes + indices + output);
  traffic.l2 += shape.tables * requests * row_bytes;
}

// The gradient of a bag is read for each of its look-ups; every row that was looked up is read and
// written once, if the indices were sorted, or by an atomic addition for each look-up.
void add_backward(const EmbeddingShape& shape, double requests, double row_bytes,
                  const EmbeddingTime& time, Traffic& traffic) {
  const double gradient = shape.batch * row_bytes;
  const double indices = requests * kIndexBytes + (shape.batch + 1) * kOffsetBytes;
  const double updates = time.unique_rows * row_bytes * 2;
  const bool has_state = shape.pass == EmbeddingPass::kBackwardRowwiseAdagrad;
  const double state = has_state ? time.unique_rows * kSector * 2 : 0;
  const double touched =
      has_state ? updates : std::max(updates, requests * (1 - time.hit_rate) * row_bytes * 2);
  traffic.dram += shape.tables * (gradient + indices + touched + state);
  traffic.l2 += shape.tables * requests * row_bytes;
}

}  // namespace

IndexDistribution::IndexDistribution(ArrayXd probabilities, ArrayXd counts)
    : probabilities_(std::move(probabilities)), counts_(std::move(counts)) {
  probabilities_ /= (probabilities_ * counts_).sum();
}

IndexDistribution IndexDistribution::zipf(double rows, double alpha) {
  std::vector<double> weights, counts;
  for (double rank = 1; rank <= std::min(rows, kOwnClasses); ++rank) {
    weights.push_back(std::pow(rank, -alpha));
    counts.push_back(1);
  }
  for (double first = kOwnClasses + 1; first <= rows;) {
    const double next = std::min(rows + 1, std::ceil(first * kGrowth));
    if (!(next > first)) break;  // from 2^53 rows on, one more is the same number
    // Midpoint rule the other way round: the integral around whole ranks stands for their sum.
    const double sum = primitive(next - 0.5, alpha) - primitive(first - 0.5, alpha);
    counts.push_back(next - first);
    weights.push_back(sum / counts.back());
    first = next;
  }
  return {as_array(weights), as_array(counts)};
}

IndexDistribution IndexDistribution::histogram(const read::Table& table) {
  const std::size_t accesses = table.require("accesses");
  const auto rows = table.find("rows");
  std::map<double, double> classes;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const double times = table.number(i, accesses);
    if (!(times >= 0)) table.fail(i, accesses, "expected a number >= 0");
    const double count = rows ? table.number(i, *rows) : 1.0;
    if (rows && !(count > 0)) table.fail(i, *rows, "expected a number > 0");
    classes[times] += count;
  }
  std::vector<double> weights, counts;
  for (const auto& [times, count] : classes) {
    weights.push_back(times);
    counts.push_back(count);
  }
  if (weights.empty() || !(weights.back() > 0)) {
    throw read::InputError(fmt::format("{}: no row is ever accessed", table.label()));
  }
  return {as_array(weights), as_array(counts)};
}

double IndexDistribution::unique_rows(double requests) const {
  // (1 - p)^n as exp(n ln(1 - p)): p = 1 is a table of one row.
  // expm1: of 2^53 rows each one is asked for so rarely that 1 - exp(...) has no digit left.
  return -(counts_ * (requests * (-probabilities_.min(1 - 1e-16)).log1p()).expm1()).sum();
}

double IndexDistribution::touched(double requests) const {
  return (counts_ * (1 - (-requests * probabilities_).exp())).sum();
}

// Newton's method on a function that rises and flattens: from the left it never overshoots.
double IndexDistribution::stay(double capacity) const {
  double tau = capacity;  // `capacity` requests touch at most so many rows
  for (int step = 0; step < kNewtonSteps; ++step) {
    const ArrayXd left = (-tau * probabilities_).exp();
    const double missing = capacity - (counts_ * (1 - left)).sum();
    if (missing <= 1e-9 * capacity) break;
    const double slope = (counts_ * probabilities_ * left).sum();
    if (!(slope > 0)) break;
    tau += missing / slope;
  }
  return tau;
}

double IndexDistribution::hit_rate(double requests, double capacity) const {
  if (!(requests > 0) || !(capacity > 0)) return 0;
  const bool never_full = capacity >= touched(requests);
  const double filled = never_full ? requests : std::min(stay(capacity), requests);
  const ArrayXd present = 1 - (-filled * probabilities_).exp();
  const double while_filling = filled - (counts_ * present).sum();
  const double afterwards = (requests - filled) * (counts_ * probabilities_ * present).sum();
  return std::clamp((while_filling + afterwards) / requests, 0.0, 1.0);
}

std::optional<EmbeddingPass> embedding_pass(std::string_view name) {
  if (name.empty() || name == "forward") return EmbeddingPass::kForward;
  if (name == "backward_sgd") return EmbeddingPass::kBackwardSgd;
  if (name == "backward_rowwise_adagrad") return EmbeddingPass::kBackwardRowwiseAdagrad;
  return std::nullopt;
}

EmbeddingTime predict_embedding(const EmbeddingShape& shape, const IndexDistribution& indices,
                                const read::Machine& machine) {
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  const double requests = shape.batch * shape.bag;
  const double row_bytes = sectors(shape.dim * shape.element_bytes);
  const auto sm_count = static_cast<double>(machine.sm_count);
  EmbeddingTime time;
  // A warp works on a bag, so the tables that are read at the same time share the L2.
  const double tables_at_once =
      std::min(shape.tables, std::max(1.0, std::ceil(sm_count * kWarpsPerSm / shape.batch)));
  time.cached_rows = shape.cached_rows.value_or(
      std::floor(kL2Usable * *machine.l2_mb * 1e6 / tables_at_once / row_bytes));
  time.unique_rows = indices.unique_rows(requests);
  time.hit_rate = indices.hit_rate(requests, time.cached_rows);

  Traffic traffic;
  const bool is_forward = shape.pass == EmbeddingPass::kForward;
  if (is_forward) {
    add_forward(shape, requests, row_bytes, time, traffic);
  } else {
    add_backward(shape, requests, row_bytes, time, traffic);
  }
  time.dram_bytes = traffic.dram;
  time.l2_bytes = traffic.l2;
  const double dram_rate = machine.memory_gb_per_s * 1e3;
  const double dram_us = traffic.dram / (dram_rate * random_row_share(row_bytes));
  const double l2_us =
      traffic.l2 / (dram_rate * (is_forward ? kGatherOverDram : kGradientOverDram));
  const double wait_us = kDramLatencyUs * (1 - time.hit_rate) + kL2LatencyUs * time.hit_rate;
  time.latency_us = std::ceil(shape.batch * shape.tables / (sm_count * kWarpsPerSm)) *
                    std::ceil(shape.bag / kLoadsInFlight) * wait_us;
  double overhead_us = machine.launch_floor_us;
  if (shape.pass == EmbeddingPass::kBackwardRowwiseAdagrad) {
    const double passes =
        std::ceil(std::max(1.0, std::log2(shape.rows * shape.tables)) / kSortBits);
    time.sort_us =
        kSortLaunches * machine.launch_floor_us +
        passes * shape.tables * requests * kSortBytes / (dram_rate * machine.memory_fraction);
    overhead_us += time.sort_us;
  } else if (shape.pass == EmbeddingPass::kBackwardSgd && machine.boost_clock_mhz) {
    // Additions to the same address follow one another, one a clock at best.
    const double hottest = indices.highest_probability() * requests / *machine.boost_clock_mhz;
    time.latency_us = std::max(time.latency_us, hottest);
  }
  const double move_us = power_sum(kOverlap, dram_us, l2_us, time.latency_us);
  time.time_us = overhead_us + move_us;
  const double slowest = std::max({dram_us, l2_us, time.latency_us});
  time.bound = overhead_us > move_us        ? "launch"
               : slowest == time.latency_us ? "latency"
               : slowest == dram_us         ? "memory"
                                            : "l2";
  return time;
}

namespace {

constexpr double kMost = 1e12;
constexpr std::array<Column, 9> kInputs{{
    {"batch", "", ColumnKind::kInteger, 1, kMost, true, "bags of a table"},
    {"tables", "", ColumnKind::kInteger, 1, 1e6, false, "tables in one launch; 1 if absent"},
    {"rows", "", ColumnKind::kInteger, 1, kMost, true, "rows of a table"},
    {"bag", "", ColumnKind::kInteger, 1, 1e9, true, "look-ups of a bag"},
    {"dim", "", ColumnKind::kInteger, 1, 1e6, true, "elements of a row"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of an element; f32 if absent"},
    {"pass", "", ColumnKind::kText, 0, 0, false,
     "forward, backward_sgd or backward_rowwise_adagrad; forward if absent"},
    {"zipf_alpha", "", ColumnKind::kNumber, 0, 4, false,
     "exponent of the indices' distribution; 0, uniform, if absent"},
    {"cached_rows", "", ColumnKind::kNumber, 0, kMost, false,
     "rows of a table that stay in L2; what fits, if absent"},
}};

// FBGEMM computes gradients in two kernels behind the sort: blocks share rows with more than 32
// look-ups, and warps each take one of the others, or find that there is none.
double part_of_gradient_us(const EmbeddingTime& all, const EmbeddingShape& shape, bool is_long,
                           const read::Machine& machine) {
  constexpr double usual_look_ups = 32, most_of_it = 0.9;
  const double look_ups = shape.batch * shape.bag / shape.rows;
  const double share = most_of_it * (1 - std::exp(-look_ups / usual_look_ups));
  const double work_us = all.time_us - all.sort_us - machine.launch_floor_us;
  return machine.launch_floor_us + work_us * (is_long ? share : 1 - share);
}

constexpr std::array<std::string_view, 7> kParts{
    "unique_rows", "cached_rows", "hit_rate", "dram_bytes", "l2_bytes", "sort_us", "latency_us"};

RowPrediction predict_row(const read::Machine& machine,
                          const std::optional<IndexDistribution>& histogram, const Row& row) {
  const auto bytes = number_type_bytes(row.has("type") ? row.text("type") : "f32");
  if (!bytes) throw NoAnswer{"", fmt::format("unknown type {}", row.text("type"))};
  const auto pass = embedding_pass(row.text("pass"));
  if (!pass) throw NoAnswer{"", fmt::format("unknown pass {}", row.text("pass"))};
  EmbeddingShape shape{row.number("batch"),
                       row.number("tables", 1),
                       row.number("rows"),
                       row.number("bag"),
                       row.number("dim"),
                       *bytes,
                       *pass,
                       {}};
  if (row.has("cached_rows")) shape.cached_rows = row.number("cached_rows");
  const EmbeddingTime time = predict_embedding(
      shape, histogram ? *histogram : IndexDistribution::zipf(shape.rows, row.number("zipf_alpha")),
      machine);
  RowPrediction prediction;
  prediction.time_us = time.time_us;
  prediction.bound = time.bound;
  prediction.parts = {time.unique_rows, time.cached_rows, time.hit_rate,  time.dram_bytes,
                      time.l2_bytes,    time.sort_us,     time.latency_us};
  return prediction;
}

// How often which row is asked for does not stand in an operation: as often as any other.
std::optional<Prediction> predict_operation(const Operation& operation) {
  const read::Op& op = operation.op;
  const auto size = [&](std::string_view name, std::int64_t otherwise) {
    return static_cast<double>(op.get<std::int64_t>(name).value_or(otherwise));
  };
  const auto element_bytes = number_type_bytes(op.get<std::string>("type").value_or("f32"));
  const auto pass = embedding_pass(op.get<std::string>("pass").value_or(""));
  const EmbeddingShape shape{size("batch", 0),
                             size("tables", 1),
                             size("rows", 0),
                             size("bag", 0),
                             size("dim", 0),
                             element_bytes.value_or(0),
                             pass.value_or(EmbeddingPass::kForward),
                             {}};
  if (!element_bytes || !pass ||
      std::min({shape.batch, shape.tables, shape.rows, shape.bag, shape.dim}) < 1) {
    return std::nullopt;
  }
  EmbeddingTime found =
      predict_embedding(shape, IndexDistribution::zipf(shape.rows, 0), operation.machine);
  const auto part = op.get<std::string>("part");
  if (part)
    found.time_us = part_of_gradient_us(found, shape, *part == "long_rows", operation.machine);
  Prediction prediction;
  prediction.time = microseconds(found.time_us);
  prediction.bound = bound_from_name(found.bound);
  prediction.model = "embedding";
  prediction.parameters = "every row equally often";
  const double ends = std::exp(1.6449 * (op.find("part") != nullptr ? kPartSigma : kGpuSigma));
  prediction.interval90 = {(1 / ends) * prediction.time, ends * prediction.time};
  return prediction;
}

Model make_embedding(const ModelOptions& options) {
  const read::Machine& machine = *options.machine;
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  const std::string file = setting(options, "histogram", "");
  std::optional<IndexDistribution> histogram;
  if (!file.empty()) histogram = IndexDistribution::histogram(read::read_table(file));
  return {kInputs,
          kParts,
          [machine, histogram](const Row& row) { return predict_row(machine, histogram, row); },
          {},
          predict_operation};
}

}  // namespace

ModelEntry embedding_entry() {
  return {.name = "embedding",
          .summary = "embedding look-up and gradient: unique rows, hits of a cache, sectors",
          .editions = {Edition::kCalibrated},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .params = Need::kNone,
          .settings = {{"histogram", "",
                        "CSV file with a column accesses (and rows): how often rows are asked for, "
                        "instead of zipf_alpha"}},
          .make = make_embedding,
          .operations = {OpKind::kEmbedding}};
}

}  // namespace inline_prof::model
