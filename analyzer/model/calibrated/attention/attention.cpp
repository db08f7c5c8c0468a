#include "model/calibrated/by_source/by_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace inline_prof::model {
namespace {

constexpr double kMost = 1e9;
constexpr std::size_t kTexts = 3;
constexpr std::array<Column, kTexts + 7> kInputs{{
    {"source", "", ColumnKind::kText, 0, 0, false, "of the kernel; absent: all that are known"},
    {"type", "", ColumnKind::kText, 0, 0, true, "of the products: bf16, f8e4m3"},
    {"kv_type", "", ColumnKind::kText, 0, 0, false, "of the cache"},
    {"batch", "", ColumnKind::kInteger, 1, kMost, true, "sequences"},
    {"heads", "", ColumnKind::kInteger, 1, kMost, true, "of the queries"},
    {"kv_heads", "", ColumnKind::kInteger, 1, kMost, false, "of keys and values; as many"},
    {"q_len", "", ColumnKind::kInteger, 1, kMost, true, "queries of a sequence"},
    {"kv_len", "", ColumnKind::kInteger, 1, kMost, false, "keys of a sequence; as many"},
    {"head_dim", "", ColumnKind::kInteger, 1, kMost, true, "numbers of a head"},
    {"window", "", ColumnKind::kInteger, 0, kMost, false, "keys that a query sees; all"},
}};
enum Size : std::size_t { kBatch, kHeads, kKvHeads, kQueries, kKeys, kHeadDim, kWindow };

void complete(Sizes& sizes) {
  if (!(sizes[kKvHeads] > 0)) sizes[kKvHeads] = sizes[kHeads];
  if (!(sizes[kKeys] > 0)) sizes[kKeys] = sizes[kQueries];
  if (!(sizes[kWindow] > 0) || sizes[kWindow] > sizes[kKeys]) sizes[kWindow] = sizes[kKeys];
}

constexpr double kTile = 128;  // queries, and keys, that one step of a block multiplies
constexpr double kUsualDim = 128;
constexpr double kBytes = 2;  // of a query's, key's or value's number

// Returns the time of one step of a block at its multiprocessor's peak, in microseconds.
double tile_us(const SourceGpu& gpu) {
  return 4 * kTile * kTile * kUsualDim / (gpu.flops_per_us / gpu.units);
}

// Prompts and encoders.

enum PromptParameter : std::size_t {
  kLaunch,
  kEfficiency,
  kAlone,
  kTileStart,
  kMemory,
  kOverlap,
  kDimGain,
  kStartDim,
  kOdd,
  kSequences,
  kRamp
};
constexpr std::array<ParameterSpec, 11> kPromptParameters{{
    source_parameter("launch_us", 10, "of all kernels of the call"),
    source_parameter("efficiency", 0.6, "of the peak of 16-bit numbers, heads of 128"),
    source_parameter("longest", 1, "a block's steps when it is alone, of one among many"),
    source_parameter("tile_start_us", 1, "of a block, before and behind its steps"),
    source_parameter("memory_share", 0.5, "of the data sheet's bandwidth"),
    source_parameter("overlap", 2, "power of the sum of all steps and the longest block's"),
    source_parameter("dim_gain", 1, "1 + power with which efficiency grows with heads"),
    source_parameter("start_dim", 0.7, "power with which a block's start grows with heads"),
    source_parameter("odd_share", 1, "of the efficiency where heads are no multiple of 16"),
    source_parameter("sequence_us", 0.001, "for each sequence"),
    source_parameter("ramp", 2, "power of the sum of computing and moving"),
}};

// Some kernels put the query heads that share keys into one tile, where queries are few.
constexpr std::size_t kPacksHeads = 1;

template <bool is_causal>
SourceTime prompt_time(const Sizes& sizes, const read::Machine& machine,
                       std::span<const double> values, std::size_t variant) {
  const SourceGpu gpu(machine);
  const double queries = sizes[kQueries], keys = sizes[kKeys], dim = sizes[kHeadDim];
  const double sharing = sizes[kHeads] / sizes[kKvHeads];
  const double apart = sharing * std::ceil(queries / kTile),
               packed = std::ceil(queries * sharing / kTile);
  const bool packs = variant == kPacksHeads && packed < 0.9 * apart;
  const double blocks = sizes[kBatch] * sizes[kKvHeads] * (packs ? packed : apart) / gpu.units;
  const double span = std::min(queries, packs ? std::max(kTile / sharing, 1.0) : kTile);
  // Steps of a block: the keys that its queries see.
  const double own = std::ceil(queries / kTile), before = std::floor((keys - queries) / kTile);
  const double all = is_causal ? own + std::max(0.0, before) : std::ceil(keys / kTile);
  const double seen =
      sizes[kWindow] < keys ? std::min(all, std::ceil((sizes[kWindow] + span) / kTile)) : all;
  double mean = seen;
  if (is_causal) {
    const double first = all - own;  // whole tiles of keys before the first query
    const double rising = std::clamp(seen - first, 0.0, own);
    mean = rising > 0 ? (rising * (first + (rising + 1) / 2) + (own - rising) * seen) / own : seen;
  }
  const double step_us = tile_us(gpu) * dim / kUsualDim / values[kEfficiency] *
                         std::pow(dim / kUsualDim, 1 - values[kDimGain]) /
                         (std::fmod(dim, 16) == 0 ? 1 : values[kOdd]);
  const double start_us = values[kTileStart] * std::pow(dim / kUsualDim, values[kStartDim]);
  const double compute_us =
      power_sum(values[kOverlap], blocks * mean * step_us, values[kAlone] * seen * step_us, 0) +
      start_us * power_sum(4, blocks, 1, 0);
  const double bytes =
      sizes[kBatch] * dim * kBytes * (2 * queries * sizes[kHeads] + 4 * keys * sizes[kKvHeads]);
  const double memory_us = bytes / gpu.bytes_per_us / values[kMemory];
  const double launch_us = values[kLaunch] + values[kSequences] * sizes[kBatch];
  const double work_us = power_sum(values[kRamp], compute_us, memory_us, 0);
  return {launch_us + work_us, launch_us > work_us      ? "launch"
                               : compute_us > memory_us ? "compute"
                                                        : "memory"};
}

Eigen::VectorXd prompt_features(const Sizes& sizes) {
  Eigen::VectorXd features(6);
  features << std::log2(sizes[kQueries]), std::log2(sizes[kKeys] / sizes[kQueries]),
      std::log2(sizes[kBatch] * sizes[kHeads]), std::log2(sizes[kHeads] / sizes[kKvHeads]),
      1.5 * std::log2(sizes[kHeadDim]), std::log2(sizes[kWindow] / sizes[kKeys]);
  return features;
}

// The blocks of a head read the same keys, as often as not from L2: H100 and H200 take as long.
void prompt_transfer(std::string_view /*source*/, const read::Machine& trained,
                     const read::Machine& machine, std::span<double> values) {
  values[kMemory] *= std::sqrt(share_by_clock(SourceGpu(trained), SourceGpu(machine)));
}

// TensorRT-LLM's own kernels for Blackwell leave unusual heads to its older ones
// (NVIDIA/TensorRT-LLM, class FmhaDispatcher), whose instructions Ampere has too: 2048 operations
// of a multiprocessor in a clock (NVIDIA A100 Tensor Core GPU Architecture whitepaper, 2020).
void encoder_transfer(std::string_view source, const read::Machine& trained,
                      const read::Machine& machine, std::span<double> values) {
  prompt_transfer(source, trained, machine, values);
  constexpr double older_flops = 2048;
  const auto is_blackwell = [](const read::Machine& each) {
    return each.compute_capability.starts_with("10.");
  };
  const SourceGpu gpu(machine);
  if (source.starts_with("torch_flow") && is_blackwell(machine) && !is_blackwell(trained))
    values[kOdd] *= older_flops * gpu.clocks_per_us / gpu.flops_per_us;
}

Eigen::VectorXd encoder_features(const Sizes& sizes) {
  Eigen::VectorXd features(4);
  features << std::log2(sizes[kQueries]), std::log2(sizes[kKeys] / sizes[kQueries]),
      std::log2(sizes[kBatch] * sizes[kHeads]), sizes[kHeadDim] / 8;
  return features;
}

// Decoding.

enum DecodingParameter : std::size_t {
  kCall,
  kUnit,
  kStep,
  kChain,
  kSplit,
  kBandwidth,
  kL2Gain,
  kStartRamp,
  kSum,
  kHead,
  kHeadUnit,
  kHeadStep,
  kHeadChain
};
constexpr std::array<ParameterSpec, 13> kDecodingParameters{{
    source_parameter("launch_us", 6, "of all kernels of the call"),
    source_parameter("unit_us", 1, "of a block, before and behind its steps"),
    source_parameter("step_us", 0.7, "128 keys, where all units are busy"),
    source_parameter("chain_us", 0.7, "128 keys, one behind the other"),
    source_parameter("split_us", 2, "to add up what several blocks found"),
    source_parameter("memory_share", 0.85, "of the data sheet's bandwidth"),
    source_parameter("l2_gain", 1.5, "how much faster a cache in L2 is read"),
    source_parameter("ramp", 2, "power of the sum of starts and steps"),
    source_parameter("overlap", 2, "power of the sum of steps and memory"),
    source_parameter("head_us", 0.02, "a head's new numbers"),
    source_parameter("alone_unit_us", 1, "unit_us where a head reads for itself"),
    source_parameter("alone_step_us", 0.3, "step_us, likewise"),
    source_parameter("alone_chain_us", 1, "chain_us, likewise"),
}};

// TensorRT-LLM's kernels for Ampere and Hopper: up to 32 heads read their keys together, more or
// one alone each for itself (cpp/tensorrt_llm/kernels/decoderMaskedMultiheadAttention); one form
// of it looks also whether the cache gives enough blocks.
constexpr std::size_t kAloneByBlocks = 2, kDecodingVariants = 3;
constexpr double kMostSharing = 32, kBlockFactor = 4, kRowsOfAUnit = 64;

bool reads_alone(const Sizes& sizes, double units, std::size_t variant) {
  const double sharing = sizes[kHeads] / sizes[kKvHeads];
  if (variant == 0) return false;
  if (sharing == 1 || sharing > kMostSharing) return true;
  return variant == kAloneByBlocks && sizes[kBatch] * sizes[kKvHeads] *
                                              std::max(1.0, std::floor(sizes[kKeys] / kTile)) *
                                              kBlockFactor <
                                          units;
}

SourceTime decoding_time(const Sizes& sizes, const read::Machine& machine,
                         std::span<const double> values, std::size_t variant) {
  const SourceGpu gpu(machine);
  const double dim = sizes[kHeadDim] / kUsualDim, sharing = sizes[kHeads] / sizes[kKvHeads];
  const bool alone = reads_alone(sizes, gpu.units, variant);
  const double blocks =
      sizes[kBatch] * (alone ? sizes[kHeads] : sizes[kKvHeads] * std::ceil(sharing / kRowsOfAUnit));
  const double tiles = std::ceil(sizes[kWindow] / kTile);
  const double parts = std::clamp(std::floor(gpu.units / blocks), 1.0, tiles);
  const double bytes =
      2 * kBytes * sizes[kBatch] * sizes[kKvHeads] * sizes[kHeadDim] * sizes[kWindow];
  const double in_memory = 1 / (1 + std::pow(0.7 * gpu.l2_bytes / bytes, 2));
  const double memory_us = bytes / gpu.bytes_per_us / values[kBandwidth] *
                           (in_memory + (1 - in_memory) / values[kL2Gain]);
  const double busy = blocks / gpu.units;
  const double steps_us = values[alone ? kHeadStep : kStep] * busy * tiles * dim;
  const double chain_us = values[alone ? kHeadChain : kChain] * std::ceil(tiles / parts);
  const double work_us =
      power_sum(values[kStartRamp], power_sum(values[kSum], memory_us, steps_us, chain_us),
                values[alone ? kHeadUnit : kUnit] * busy, 0) +
      values[kHead] * sizes[kBatch] * (sizes[kHeads] + 2 * sizes[kKvHeads]) * dim / gpu.units;
  const double launch_us = values[kCall] + (parts > 1 ? values[kSplit] : 0);
  return {launch_us + work_us, launch_us > work_us                        ? "launch"
                               : memory_us > std::max(steps_us, chain_us) ? "memory"
                                                                          : "compute"};
}

Eigen::VectorXd decoding_features(const Sizes& sizes) {
  Eigen::VectorXd features(5);
  features << std::log2(sizes[kKeys]), std::log2(sizes[kBatch] * sizes[kKvHeads]),
      std::log2(sizes[kHeads] / sizes[kKvHeads]), 1.5 * std::log2(sizes[kHeadDim]),
      std::log2(sizes[kWindow] / sizes[kKeys]);
  return features;
}

// Latencies go by the clock.  Not so for prompts, whose launches are as long on A100 as on H100.
void decoding_transfer(std::string_view /*source*/, const read::Machine& trained,
                       const read::Machine& machine, std::span<double> values) {
  const SourceGpu from(trained), to(machine);
  for (const DecodingParameter in_clocks :
       {kCall, kUnit, kStep, kChain, kHeadUnit, kHeadStep, kHeadChain})
    values[in_clocks] *= from.clocks_per_us / from.units / (to.clocks_per_us / to.units);
}

// Which sources have a kernel of this name.
struct Generation {
  std::string_view word;  // in the kernel's name
  std::string_view name;  // of the generation; "": none that was measured
};
constexpr std::array kGenerations{
    Generation{"cutlassF", ""},
    Generation{"cutlassB", ""},
    Generation{"cudnn", ""},
    Generation{"_sdpa_", ""},
    Generation{"FlashAttentionForwardSm100", "flash4"},
    Generation{"flash_fwd_sm100", "flash4"},
    Generation{"flash_fwd", "flash2"},
    Generation{"flash_bwd", "flash2"},
    Generation{"FlashAttn", "flash3"},
    Generation{"flash::compute_attn", "flash3"},
    Generation{"BatchPrefillWith", "flashinfer"},
    Generation{"BatchDecodeWith", "flashinfer"},
    Generation{"fmhaSm100", "trtllm"},
    Generation{"fmha_v2", "trtllm"},
    Generation{"kernel_mha", "trtllm"},
    Generation{"masked_multihead", "trtllm"},
    Generation{"_fwd_kernel", "triton"},
    Generation{"_fwd_grouped_kernel", "triton"},
};
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kGenerationOfSource{{
    {"fa3", "flash3"},
    {"vllm_flash_attn_fa3", "flash3"},
    {"flash_attention_v3", "flash3"},
    {"vllm_vit_flash_attn_fa3", "flash3"},
    {"flash_attention_v4", "flash4"},
    {"vllm_flash_attn_fa4", "flash4"},
    {"vllm_vit_flash_attn_fa4", "flash4"},
    {"flash_attention", "flash2"},
    {"vllm_flash_attn", "flash2"},
    {"torch_flow", "trtllm"},
    {"trtllm_mha", "trtllm"},
    {"vllm_flashinfer_trtllmprefill", "trtllm"},
    {"vllm_flashinfer_trtllmdecode", "trtllm"},
    {"vllm_trtllm", "trtllm"},
    {"flashinfer", "flashinfer"},
    {"torch_flow_flashinfer", "flashinfer"},
    {"triton", "triton"},
}};

std::string_view generation_of(std::string_view source) {
  const auto* const found = std::ranges::find(
      kGenerationOfSource, source, &std::pair<std::string_view, std::string_view>::first);
  return found == kGenerationOfSource.end() ? "" : found->second;
}

std::string type_name(const std::string& type) {
  return type == "f16" ? "bf16" : type;
}

enum class Phase { kPrompts, kEncoders, kDecoding };

template <Phase phase>
std::optional<SourceQuery> query(const Operation& operation) {
  const read::Op& op = operation.op;
  SourceQuery query;
  for (const Column& column : std::span(kInputs).subspan(kTexts))
    query.sizes.push_back(static_cast<double>(
        std::max<std::int64_t>(0, op.get<std::int64_t>(column.name).value_or(0))));
  Sizes& sizes = query.sizes;
  complete(sizes);
  const auto type = op.get<std::string>("type");
  if (!type || std::ranges::any_of(sizes, [](double size) { return !(size > 0); }))
    return std::nullopt;
  const bool is_causal = op.get<bool>("causal").value_or(false);
  const bool is_backward = op.get<std::string>("pass") == "backward";
  const Phase found = sizes[kQueries] == 1 && sizes[kKeys] > 1 && !is_backward ? Phase::kDecoding
                      : is_causal                                              ? Phase::kPrompts
                                                                               : Phase::kEncoders;
  if (found != phase) return std::nullopt;
  const std::string kv_type = op.get<std::string>("kv_type").value_or(*type);
  query.types = type_name(*type);
  if (phase != Phase::kEncoders) query.types += " " + type_name(kv_type);
  // Scores and values are two products, their gradients five.
  if (is_backward) query.work = 2.5;
  const auto* const known = std::ranges::find_if(kGenerations, [&](const Generation& each) {
    return operation.kernel.name.find(each.word) != std::string_view::npos;
  });
  if (known != kGenerations.end()) {
    if (known->name.empty()) return std::nullopt;
    query.may_be = [name = known->name](std::string_view source) {
      return generation_of(source) == name;
    };
  }
  return query;
}

}  // namespace

const SourceForm& attention_prompts_form() {
  static const SourceForm form{
      .model = "attention_prompts",
      .summary = "attention of prompts, causal: tiles over multiprocessors; fitted, by source",
      .inputs = kInputs,
      .texts = kTexts,
      .specs = kPromptParameters,
      .variants = 2,
      .complete = complete,
      .time = prompt_time<true>,
      .features = prompt_features,
      .fold_sizes = {kQueries, kHeads, kKvHeads},
      .transfer = prompt_transfer,
      .transfer_sigmas = {.same_units = 0.02, .from_hopper = 0.165, .before_hopper = 0.185},
      .kind = OpKind::kAttention,
      .query = query<Phase::kPrompts>};
  return form;
}

const SourceForm& attention_encoders_form() {
  static const SourceForm form{
      .model = "attention_encoders",
      .summary = "attention in which all see all: tiles over multiprocessors; fitted, by source",
      .inputs = kInputs,
      .texts = kTexts,
      .specs = kPromptParameters,
      .complete = complete,
      .time = prompt_time<false>,
      .features = encoder_features,
      .fold_sizes = {kQueries, kHeads, kBatch},
      .transfer = encoder_transfer,
      .transfer_sigmas = {.same_units = 0.02, .from_hopper = 0.195, .before_hopper = 0.195},
      .kind = OpKind::kAttention,
      .query = query<Phase::kEncoders>};
  return form;
}

const SourceForm& attention_decoding_form() {
  static const SourceForm form{
      .model = "attention_decoding",
      .summary = "attention of one query against a cache, split over blocks; fitted, by source",
      .inputs = kInputs,
      .texts = kTexts,
      .specs = kDecodingParameters,
      .variants = kDecodingVariants,
      .complete = complete,
      .time = decoding_time,
      .features = decoding_features,
      .fold_sizes = {kKeys, kHeads, kKvHeads},
      .transfer = decoding_transfer,
      .transfer_sigmas = {.same_units = 0.02, .from_hopper = 0.3, .before_hopper = 0.11},
      .kind = OpKind::kAttention,
      .query = query<Phase::kDecoding>};
  return form;
}

}  // namespace inline_prof::model
