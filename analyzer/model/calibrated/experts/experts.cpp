#include "model/calibrated/by_source/by_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::model {
namespace {

constexpr double kMost = 1e9;
constexpr double kMostExperts = 65536;
constexpr std::size_t kTexts = 2;
constexpr std::array<Column, kTexts + 8> kInputs{{
    {"source", "", ColumnKind::kText, 0, 0, false, "of the kernels; absent: all that are known"},
    {"type", "", ColumnKind::kText, 0, 0, true, "of weights and products: bf16, fp8_block, ..."},
    {"tokens", "", ColumnKind::kInteger, 1, kMost, true, "of all GPUs that share the experts"},
    {"hidden", "", ColumnKind::kInteger, 1, kMost, true, "numbers of a token"},
    {"inter", "", ColumnKind::kInteger, 1, kMost, true, "between the products, of this GPU"},
    {"topk", "", ColumnKind::kInteger, 1, kMostExperts, true, "experts of a token"},
    {"experts", "", ColumnKind::kInteger, 1, kMostExperts, true, "of all GPUs"},
    {"ranks", "", ColumnKind::kInteger, 1, kMostExperts, false, "GPUs that share the experts; 1"},
    {"matrices", "", ColumnKind::kInteger, 1, 3, false, "of an expert: 3 with a gate, 2; 1: alone"},
    {"power", "", ColumnKind::kNumber, 0, 10, false, "of the law of loads; 0: balanced"},
}};
enum Size : std::size_t {
  kTokens,
  kHidden,
  kInter,
  kTopK,
  kExperts,
  kRanks,
  kMatrices,
  kPower,
  kActive,
  kRows,
  kTiles,
  kTile,
  kSizes
};

constexpr double kBalanced = 1e-3;  // a size is greater than 0

void complete(Sizes& sizes) {
  if (!(sizes[kRanks] > 0)) sizes[kRanks] = 1;
  if (!(sizes[kMatrices] > 0)) sizes[kMatrices] = 3;
  sizes[kPower] = std::max(sizes[kPower], kBalanced);
  const ExpertLoads loads =
      expert_loads(sizes[kTokens], sizes[kTopK], sizes[kExperts], sizes[kRanks],
                   sizes[kPower] > kBalanced ? sizes[kPower] : 0);
  sizes.resize(kSizes);
  sizes[kActive] = loads.active;
  sizes[kRows] = loads.rows;
  sizes[kTiles] = loads.tiles;
  sizes[kTile] = loads.tile;
}

enum Parameter : std::size_t {
  kLaunch,
  kWeights,
  kEfficiency,
  kMoves,
  kChoiceMoves,
  kActiveCost,
  kChain,
  kOverlap,
  kSmallTiles
};
constexpr std::array<ParameterSpec, 9> kParameters{{
    source_parameter("launch_us", 20, "of all kernels of the layer"),
    source_parameter("weight_share", 1, "of the bandwidth, as if a weight had two bytes"),
    source_parameter("efficiency", 0.6, "of the peak of 16-bit numbers"),
    source_parameter("move_share", 1, "of the bandwidth, for rows between the products"),
    source_parameter("choice_share", 1, "of the bandwidth, for rows of all GPUs' choices"),
    source_parameter("active_us", 5, "for 100 experts that get rows"),
    source_parameter("chain_us", 1, "a block's walk along 4096 numbers"),
    source_parameter("overlap", 2, "power of the sum of weights, products and walks"),
    source_parameter("small_tiles", 8, "rows that a tile costs beside its own"),
}};

SourceTime time(const Sizes& sizes, const read::Machine& machine, std::span<const double> values,
                std::size_t /*variant*/) {
  constexpr double tile_columns = 128, walk = 4096, bytes = 2;
  const SourceGpu gpu(machine);
  const double hidden = sizes[kHidden], inter = sizes[kInter], matrices = sizes[kMatrices];
  const double weights = matrices * hidden * inter;
  const double weights_us = sizes[kActive] * weights * bytes / gpu.bytes_per_us / values[kWeights];
  const double compute_us = 2 * sizes[kTiles] * (sizes[kTile] + values[kSmallTiles]) * weights /
                            gpu.flops_per_us / values[kEfficiency];
  const auto walk_us = [&](double along, double columns) {
    const double blocks = sizes[kTiles] * std::ceil(columns / tile_columns) / gpu.units;
    return values[kChain] * along / walk * power_sum(4, blocks, 1, 0);
  };
  const double into = std::max(1.0, matrices - 1);  // matrices of the first product
  double chain_us = walk_us(hidden, inter * into);
  if (matrices > 1) chain_us += walk_us(inter, hidden);
  const double moved =
      bytes * (sizes[kRows] * (2 * hidden + matrices * inter) + 2 * sizes[kTokens] * hidden);
  // Triton's and Marlin's kernels keep a row for each choice, whichever GPU has its expert.
  const double of_choices = bytes * sizes[kTokens] * sizes[kTopK] * (hidden + inter);
  const double moves_us =
      (moved / values[kMoves] + of_choices / values[kChoiceMoves]) / gpu.bytes_per_us;
  // A product alone is one kernel; a layer has seven: its rows' quantisation, three of routing
  // (scores, counts, offsets), two products, and the sum over the choices.
  const double share = matrices > 1 ? 1 : 1.0 / 7;
  const double launch_us = values[kLaunch] * share + values[kActiveCost] * sizes[kActive] / 100;
  const double work_us = power_sum(values[kOverlap], weights_us, compute_us, chain_us) + moves_us;
  return {launch_us + work_us, launch_us > work_us                             ? "launch"
                               : compute_us > std::max({weights_us, moves_us}) ? "compute"
                                                                               : "memory"};
}

// A source that gets less of the bandwidth is not held by memory.
constexpr double kLeastWeights = 0.5;

// Some releases of a library have no fast kernel for a generation: FlashInfer's of CUTLASS take
// four times those of TensorRT-LLM on Hopper, which are the same code, and as long on Blackwell.
bool carries(std::span<const double> values) {
  return values[kWeights] >= kLeastWeights;
}

void transfer(std::string_view source, const read::Machine& trained, const read::Machine& machine,
              std::span<double> values) {
  const SourceGpu from(trained), to(machine);
  const double clocks = to.clocks_per_us / from.clocks_per_us;
  for (const Parameter in_clocks : {kLaunch, kChain})
    values[in_clocks] *= to.units / from.units / clocks;
  const double by_clock = share_by_clock(from, to);
  if (values[kWeights] < kLeastWeights) values[kWeights] *= by_clock;
  // Rows between the products are in L2 as often as not.
  values[kMoves] *= std::sqrt(by_clock);
  // Rows of choices are many small pieces of work: H100, H200 and B200 move 0.8 to 1.3 TB/s of
  // them, whatever their memory could.
  values[kChoiceMoves] *= by_clock;
  // Triton and Marlin multiply on Blackwell as fast in a clock as on Hopper.
  const double flops = to.flops_per_us / from.flops_per_us;
  const bool multiplies_by_clock =
      (source.find("moe_triton") != source.npos || source.find("marlin") != source.npos) &&
      !is_before_hopper(trained) && !is_before_hopper(machine);
  if (multiplies_by_clock) values[kEfficiency] *= clocks / flops;
  // A tile's weights come through L2 and are unpacked, by the clock.
  values[kSmallTiles] *= multiplies_by_clock ? 1 : flops / clocks;
}

Eigen::VectorXd features(const Sizes& sizes) {
  Eigen::VectorXd features(7);
  features << std::log2(sizes[kRows] / sizes[kActive]), std::log2(sizes[kActive]),
      2 * std::log2(sizes[kHidden]), std::log2(sizes[kInter]), std::log2(sizes[kTokens]),
      2 * sizes[kPower], std::log2(sizes[kExperts]);
  return features;
}

// A grouped product of a program: one matrix for each group, rows shared out evenly.
std::optional<SourceQuery> query(const Operation& operation) {
  const read::Op& op = operation.op;
  const auto size = [&](std::string_view name) {
    return static_cast<double>(std::max<std::int64_t>(0, op.get<std::int64_t>(name).value_or(0)));
  };
  const auto a_type = op.get<std::string>("a_type"), b_type = op.get<std::string>("b_type");
  SourceQuery query;
  query.sizes = {size("m_total"), size("k"), size("n"), 1, size("groups"), 1, 1, 0};
  if (!a_type || !b_type ||
      std::any_of(query.sizes.begin(), query.sizes.begin() + 5,
                  [](double each) { return !(each > 0); }) ||
      query.sizes[kExperts] > kMostExperts)
    return std::nullopt;
  complete(query.sizes);
  const auto is_16_bit = [](const std::string& type) { return type == "bf16" || type == "f16"; };
  query.types = is_16_bit(*b_type)    ? "bf16"
                : *b_type != "f4e2m1" ? "fp8_block"
                : *a_type == "f4e2m1" ? "nvfp4"
                : is_16_bit(*a_type)  ? "w4a16_mxfp4"
                                      : "w4a8_mxfp4_mxfp8";
  return query;
}

}  // namespace

namespace {

// Adds rows one by one to the expert that has fewest, up to `most` each.
void fill(std::vector<double>& loads, double rows, double most) {
  std::sort(loads.begin(), loads.end());
  double sum = 0, lowest = 0;
  auto next = loads.begin();
  do {
    sum += *next++;
    lowest += 1;
  } while (next != loads.end() && *next * lowest - sum < rows);
  const double level = std::min(most, (sum + rows) / lowest), whole = std::floor(level);
  double higher = std::round((level - whole) * lowest);
  for (auto load = loads.begin(); load != next; ++load, --higher)
    *load = whole + (higher > 0 ? 1 : 0);
}

// A token's choices are as far apart as they can be, and those of the next begin one further.
std::vector<double> balanced_loads(std::int64_t tokens, std::int64_t chosen, std::int64_t experts,
                                   std::int64_t own) {
  const std::int64_t stride = (experts + chosen - 1) / chosen;
  std::vector<double> loads(static_cast<std::size_t>(own));
  for (std::int64_t choice = 0; choice < chosen; ++choice) {
    if (tokens < stride) {
      for (std::int64_t token = 0; token < tokens; ++token) {
        const std::int64_t expert = (token * stride / tokens + choice * stride) % experts;
        if (expert < own) loads[static_cast<std::size_t>(expert)] += 1;
      }
      continue;
    }
    for (std::int64_t expert = 0; expert < own; ++expert) {
      const std::int64_t first = (expert - choice * stride % experts + experts) % experts;
      const std::int64_t load = first < tokens ? (tokens - 1 - first) / experts + 1 : 0;
      loads[static_cast<std::size_t>(expert)] += static_cast<double>(load);
    }
  }
  return loads;
}

// Returns the loads of the GPU with most rows, when `all` are shared out in this order.
std::vector<double> fullest_gpu(const std::vector<double>& all, std::size_t own, double tokens,
                                double choices) {
  const std::size_t gpus = all.size() / own;
  double placed = 0;
  for (const double load : all)
    placed += std::min(load, tokens);
  const bool is_short = placed < choices;
  const double rest = std::abs(choices - placed),
               each = std::floor(rest / static_cast<double>(gpus));
  std::vector<double> fullest;
  double most = -1;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(gpu * own);
    std::vector<double> loads(begin, begin + static_cast<std::ptrdiff_t>(own));
    // Rows that are too many are taken from the experts that have most.
    for (double& load : loads)
      load = is_short ? std::min(load, tokens) : tokens - std::min(load, tokens);
    const bool has_one_more = static_cast<double>(gpu) < rest - each * static_cast<double>(gpus);
    fill(loads, each + (has_one_more ? 1 : 0), tokens);
    if (!is_short)
      for (double& load : loads)
        load = tokens - load;
    const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    if (sum <= most) continue;
    most = sum;
    fullest = std::move(loads);
  }
  return fullest;
}

}  // namespace

// The generator of AIConfigurator's benchmarks (ai-dynamo/aiconfigurator, collector/helper.py,
// balanced_logits and power_law_logits_v3, Apache-2.0): loads of experts are samples of a power law
// between 1 and 0.8 of the tokens, or 0.01 and 2 where there are fewer choices than experts, scaled
// to the choices and rounded; what is then missing goes to the emptiest experts of each GPU in
// turn. The GPU whose experts have most is timed, for five draws.  Here the samples are the law's
// quantiles, shared out among the GPUs five times.
ExpertLoads expert_loads(double tokens, double chosen, double experts, double ranks, double power) {
  const auto count = static_cast<std::size_t>(std::max(1.0, experts));
  const auto own = static_cast<std::size_t>(std::max(1.0, std::floor(experts / ranks)));
  const double choices = tokens * chosen;
  std::vector<std::vector<double>> draws;
  if (power > 0) {
    const bool many = choices > experts;
    const double least = many ? 1 : 0.01, most = many ? std::max(1.0, 0.8 * tokens) : 2;
    std::vector<double> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const double low = std::pow(least, 1 - power), high = std::pow(most, 1 - power);
      all[i] = power == 1 ? least * std::pow(most / least, share)
                          : std::pow(low + (high - low) * share, 1 / (1 - power));
    }
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    for (double& load : all)
      load = std::round(load / sum * choices);
    std::mt19937_64 random(1);  // the same loads each time
    const std::size_t ways = own == count ? 1 : 5;
    while (draws.size() < ways) {
      for (std::size_t i = count - 1; i > 0; --i)
        std::swap(all[i], all[random() % (i + 1)]);
      draws.push_back(fullest_gpu(all, own, tokens, choices));
    }
  } else {
    draws.push_back(balanced_loads(std::llround(tokens), std::llround(std::min(chosen, experts)),
                                   static_cast<std::int64_t>(count),
                                   static_cast<std::int64_t>(own)));
  }
  ExpertLoads result;
  const double part = 1 / static_cast<double>(draws.size());
  for (const std::vector<double>& loads : draws) {
    for (const double load : loads) {
      result.active += load > 0 ? part : 0;
      result.rows += part * load;
    }
  }
  if (result.rows < 1) {
    result.active = result.rows = 1;
    draws.assign(1, {1});
  }
  // Kernels choose tiles by the mean load.
  const double mean = result.rows / result.active;
  result.tile = std::clamp(std::exp2(std::ceil(std::log2(mean))), 16.0, 128.0);
  for (const std::vector<double>& loads : draws)
    for (const double load : loads)
      result.tiles += std::ceil(load / result.tile) / static_cast<double>(draws.size());
  return result;
}

const SourceForm& experts_form() {
  static const SourceForm form{
      .model = "experts",
      .summary = "mixtures of experts and grouped products: tiles of each expert's rows; fitted",
      .inputs = kInputs,
      .texts = kTexts,
      .derived = kSizes - (kInputs.size() - kTexts),
      .specs = kParameters,
      .complete = complete,
      .time = time,
      .features = features,
      .fold_sizes = {kTokens, kHidden, kInter},
      .transfer = transfer,
      .transfer_sigmas = {.same_units = 0.04, .from_hopper = 0.105, .before_hopper = 0.485},
      .carries = carries,
      .kind = OpKind::kGroupedGemm,
      .query = query};
  return form;
}

}  // namespace inline_prof::model
