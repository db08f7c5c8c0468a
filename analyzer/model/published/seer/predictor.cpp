#include "model/published/seer/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace inline_prof::model::seer {
namespace {

// The filter width and stride that the Winograd algorithms can compute.
bool is_computable(Algorithm algorithm, const read::SeerLayer& layer) {
  if (layer.stride != 1) return false;
  return layer.filter_width == 3 ||
         (algorithm == Algorithm::kWinogradNonfused && layer.filter_width == 5);
}

// a C + b C K + c K + d: the multiplications between transforms.  Neither the batch nor the image
// within its bucket is in it: it holds for the batch of 128 that it was fitted on.
double fft_products(const std::vector<double>& poly, const read::SeerLayer& layer) {
  const Sizes sizes(layer);
  return poly[0] * sizes.c + poly[1] * sizes.c * sizes.k + poly[2] * sizes.k + poly[3];
}

// SEER fitted its models on a batch of 128 only, and these two do not have the batch in them.
constexpr std::int64_t kFittedBatch = 128;

// Each algorithm's tiles of 32 x 32 overlap by a filter.
constexpr std::int64_t kFftTile = 32;

}  // namespace

KernelType type_from_class(double value) {
  if (value == 0.0) return KernelType::kCompute;
  if (value == 1.0) return KernelType::kDram;
  if (value == 2.0) return KernelType::kUnderUtilised;
  throw std::invalid_argument(fmt::format("a tree of types answers {:g}, not 0, 1 or 2", value));
}

double instruction_variable(Algorithm algorithm, const read::SeerLayer& layer) {
  const Sizes sizes(layer);
  return is_winograd(algorithm) ? std::ceil(sizes.c / 8.0) : sizes.volume;
}

double read_scale(Algorithm algorithm, const read::SeerLayer& layer) {
  const Sizes sizes(layer);
  return is_winograd(algorithm) ? sizes.c : sizes.volume;
}

std::array<double, 10> traffic_features(const read::SeerLayer& layer, double blocks) {
  const Sizes sizes(layer);
  return {sizes.c,
          sizes.wi,
          sizes.k,
          sizes.wo,
          sizes.filter,
          sizes.stride,
          blocks,
          sizes.volume,
          sizes.volume * sizes.k,
          sizes.wo * sizes.wo * sizes.volume};
}

BlockModel::BlockModel(const Parameters& parameters, const Variant& variant)
    : variant_(&variant),
      instructions_(parameters.find(variant.name, "flop", 2)),
      compute_(parameters.find(variant.name, "compute", 2)),
      dram_(parameters.find(variant.name, "dram", 2)),
      resource_(parameters.find(variant.name, "resource", 4)),
      any_(parameters.find(variant.name, "any", 4)),
      type_(&parameters.need_tree(fmt::format("ctree_{}", variant.name))),
      reads_(&parameters.need_tree(fmt::format("rtree_dread_{}", variant.name))),
      writes_(&parameters.need_tree(fmt::format("rtree_dwrite_{}", variant.name))) {
  if (instructions_ == nullptr) {
    throw std::invalid_argument(fmt::format("no coefficients flop of {}", variant.name));
  }
  const bool has_all = compute_ != nullptr && dram_ != nullptr && resource_ != nullptr;
  if (!has_all && any_ == nullptr) {
    throw std::invalid_argument(
        fmt::format("{} needs the coefficients compute, dram and resource, or any", variant.name));
  }
}

BlockPrediction BlockModel::predict(const read::SeerLayer& layer, double blocks,
                                    double resident_blocks) const {
  const auto features = traffic_features(layer, blocks);
  const std::span<const double> view(features);
  const auto traffic = is_winograd(variant_->algorithm) ? view.first(6) : view;

  BlockPrediction p;
  p.resident_blocks = resident_blocks;
  p.blocks = blocks;
  p.waves = std::ceil(blocks / resident_blocks);
  p.tail = (blocks - (p.waves - 1) * resident_blocks) / resident_blocks;
  p.type = type_from_class(type_->evaluate(view.first(7)));
  p.instructions =
      (*instructions_)[0] * instruction_variable(variant_->algorithm, layer) + (*instructions_)[1];
  p.read_ratio = reads_->evaluate(traffic);
  p.reads = p.read_ratio * read_scale(variant_->algorithm, layer);
  p.writes = writes_->evaluate(traffic);

  const double issued = p.waves * resident_blocks * p.instructions;  // G B I
  const auto under_utilised = [&](const std::vector<double>& u) {
    return blocks * (u[0] * p.reads + u[3] * p.writes) + u[1] * issued + u[2];
  };
  if (compute_ != nullptr) {
    p.compute_ms = p.waves * ((*compute_)[0] * resident_blocks * p.instructions + (*compute_)[1]);
  }
  if (dram_ != nullptr) p.dram_ms = (*dram_)[0] * blocks * (p.reads + p.writes) + (*dram_)[1];
  if (resource_ != nullptr) p.resource_ms = under_utilised(*resource_);

  const std::optional<double>& selected = p.type == KernelType::kCompute ? p.compute_ms
                                          : p.type == KernelType::kDram  ? p.dram_ms
                                                                         : p.resource_ms;
  p.main_ms = selected ? *selected : under_utilised(*any_);
  return p;
}

Predictor::Predictor(const Parameters& parameters, Rules rules, GpuChoice gpu)
    : parameters_(&parameters), rules_(rules), gpu_(gpu) {
  for (std::size_t i = 0; i < kVariants.size(); ++i) {
    try {
      block_models_[i].emplace(parameters, kVariants[i]);
    } catch (const std::invalid_argument& error) {
      missing_[i] = error.what();
    }
  }
}

AlgorithmPrediction Predictor::predict(Algorithm algorithm, const read::SeerLayer& layer) const {
  switch (algorithm) {
    case Algorithm::kDirect:
      return not_computed(kNoDirectMs, "cuDNN never implemented algorithm 3 (direct)");
    case Algorithm::kFft:
      return predict_fft(layer);
    case Algorithm::kFftTiling:
      return predict_fft_tiling(layer);
    default:
      return predict_blocks(algorithm, layer);
  }
}

Pick Predictor::pick(const read::SeerLayer& layer) const {
  Pick pick;
  for (std::size_t i = 0; i < kAlgorithmCount; ++i) {
    pick.algorithms[i] = predict(static_cast<Algorithm>(i), layer);
    const auto& time = pick.algorithms[i].time_ms;
    if (time && (!pick.best || *time < *pick.algorithms[*pick.best].time_ms)) pick.best = i;
  }
  return pick;
}

BlockPrediction Predictor::main_kernel(std::size_t variant, const read::SeerLayer& layer,
                                       double blocks) const {
  return block_model(variant).predict(layer, blocks, resident_blocks(kVariants.at(variant)));
}

double Predictor::blocks_of(std::size_t variant, const read::SeerLayer& layer) const {
  return launched_blocks(kVariants.at(variant), layer, rules_);
}

double Predictor::helpers_ms(std::size_t variant, const read::SeerLayer& layer) const {
  const Variant& which = kVariants.at(variant);
  const Sizes sizes(layer);
  if (gpu_.is_titan_v) return 0.0;
  if (which.algorithm == Algorithm::kGemm) {  // image to columns
    const auto& q = parameters_->need("algo2_pre", "pre", 3);
    return q[0] * sizes.n * sizes.wo * sizes.wo * sizes.volume + q[1] * sizes.k * sizes.volume +
           q[2];
  }
  if (which.algorithm == Algorithm::kWinogradNonfused) {  // transforms of input, filter and output
    const auto& q = parameters_->need(fmt::format("{}_pre", which.name), "pre", 4);
    // The batch in the filter's term is the original's; the transform does not depend on it.
    return q[0] * sizes.n * sizes.c * sizes.wi * sizes.wi +
           q[1] * sizes.n * sizes.volume * sizes.k +
           q[2] * sizes.n * sizes.k * sizes.wo * sizes.wo + q[3];
  }
  return 0.0;
}

AlgorithmPrediction Predictor::predict_blocks(Algorithm algorithm,
                                              const read::SeerLayer& layer) const {
  read::SeerLayer used = layer;
  // cuDNN pads to its narrowest tile.
  if (algorithm == Algorithm::kImplicitPrecompGemm) {
    used.out_channels = std::max<std::int64_t>(layer.out_channels, 32);
  }

  const bool can_compute = !is_winograd(algorithm) || is_computable(algorithm, used);
  const auto refuse = [&] {
    return not_computed(
        kNoWinogradMs,
        fmt::format("algorithm {} computes filters {} with stride 1 only", index_of(algorithm),
                    algorithm == Algorithm::kWinograd ? "3x3" : "3x3 and 5x5"));
  };
  // The published program asks its trees for the type of a fused Winograd all the same.
  const bool asks_anyway = algorithm == Algorithm::kWinograd && rules_.sentinel_times;
  if (!can_compute && !asks_anyway) return refuse();

  AlgorithmPrediction prediction;
  prediction.variant = pick_variant(algorithm, used);
  if (prediction.variant == kNoVariant) {
    return not_computed(kNoFftMs, fmt::format("a Titan V has no kernel of algorithm {} with a tile "
                                              "of 128x128",
                                              index_of(algorithm)));
  }
  prediction.main = main_kernel(prediction.variant, used, blocks_of(prediction.variant, used));
  prediction.type = prediction.main->type;
  if (!can_compute) {
    AlgorithmPrediction refused = refuse();
    refused.type = prediction.type;
    refused.variant = prediction.variant;
    refused.main = prediction.main;
    return refused;
  }
  prediction.helpers_ms = helpers_ms(prediction.variant, used);
  prediction.time_ms = prediction.main->main_ms + prediction.helpers_ms;
  return prediction;
}

AlgorithmPrediction Predictor::predict_fft(const read::SeerLayer& layer) const {
  const std::int64_t width = fft_width(layer.in_width);
  if (layer.stride != 1 || width == 0) {
    return not_computed(kNoFftMs, "algorithm 4 computes stride 1 and images up to 256 only");
  }
  if (!rules_.sentinel_times && layer.batch != kFittedBatch) {
    return not_computed(kNoFftMs, "algorithm 4 is fitted for batch 128 only");
  }
  AlgorithmPrediction prediction;
  prediction.tiles = 1.0;
  prediction.time_ms =
      fft_products(parameters_->need(fmt::format("algo4_{}", width), "poly", 4), layer);
  return prediction;
}

AlgorithmPrediction Predictor::predict_fft_tiling(const read::SeerLayer& layer) const {
  AlgorithmPrediction prediction;
  if (layer.filter_width > kFftTile) {
    return not_computed(kNoFftMs, "algorithm 5 computes filters up to 32 only");
  }
  const Sizes sizes(layer);
  const std::array features{sizes.c, sizes.k, sizes.wo, sizes.filter};
  const KernelType type = type_from_class(parameters_->need_tree("ctree_algo5").evaluate(features));
  const double across = std::ceil(sizes.wo / (static_cast<double>(kFftTile + 1) - sizes.filter));
  if (layer.stride != 1) {
    prediction = not_computed(kNoFftMs, "algorithm 5 computes stride 1 only");
  } else if (!rules_.sentinel_times && layer.batch != kFittedBatch) {
    prediction = not_computed(kNoFftMs, "algorithm 5 is fitted for batch 128 only");
  } else {
    prediction.time_ms =
        across * across * fft_products(parameters_->need("algo5", "poly", 4), layer);
  }
  prediction.type = type;
  prediction.tiles = across * across;
  return prediction;
}

AlgorithmPrediction Predictor::not_computed(double sentinel_ms, std::string reason) const {
  AlgorithmPrediction prediction;
  prediction.reason = std::move(reason);
  if (rules_.sentinel_times) prediction.time_ms = sentinel_ms;
  return prediction;
}

std::size_t Predictor::pick_variant(Algorithm algorithm, const read::SeerLayer& layer) const {
  // Winograd of a filter that it cannot compute: the published program asks the same three.
  const std::vector<std::size_t> range = variants_of(algorithm, layer.filter_width);
  if (algorithm == Algorithm::kImplicitPrecompGemm) {
    return range[precomp_gemm_variant(layer.out_channels)];
  }
  if (gpu_.is_titan_v && algorithm == Algorithm::kWinograd) return range[0];
  const auto features = traffic_features(layer, 0.0);
  const std::string name = fmt::format("ctree_kernel_algo{}", index_of(algorithm));
  const double answer = parameters_->need_tree(name).evaluate(std::span(features).first(6));
  const bool is_class =
      answer >= 0 && answer < static_cast<double>(range.size()) && answer == std::floor(answer);
  if (!is_class) {
    throw std::invalid_argument(
        fmt::format("{} answers {:g}, expected 0 to {}", name, answer, range.size() - 1));
  }
  const auto which = static_cast<std::size_t>(answer);
  const bool has_gemm_tiles =
      algorithm == Algorithm::kImplicitGemm || algorithm == Algorithm::kGemm;
  if (gpu_.is_titan_v && has_gemm_tiles && which == 2) return kNoVariant;
  return range[which];
}

const BlockModel& Predictor::block_model(std::size_t variant) const {
  const auto& found = block_models_.at(variant);
  if (!found) throw std::invalid_argument(missing_[variant]);
  return *found;
}

double Predictor::resident_blocks(const Variant& variant) const {
  const std::int64_t per_sm = gpu_.blocks_per_sm.value_or(variant.blocks_per_sm);
  const std::int64_t sms = rules_.keeps_titan_xp_blocks ? kTitanXpSms : gpu_.sm_count;
  return static_cast<double>(per_sm * sms);
}

double predict_operator(const Parameters& parameters, const OperatorEntry& entry,
                        const read::SeerLayer& layer, std::optional<double> forward_ms) {
  if (entry.coefficient_count == 0) {
    const Tree& tree = parameters.need_tree(fmt::format("rtree_{}", entry.name));
    if (!forward_ms) {
      throw std::invalid_argument(fmt::format("{} needs the forward time", entry.name));
    }
    const auto features = traffic_features(layer, 0.0);
    return *forward_ms * tree.evaluate(std::span(features).first(6));
  }
  const auto& coefficients = parameters.need(entry.name, "poly", entry.coefficient_count);
  const std::vector<double> terms = operator_terms(entry, layer);
  return std::inner_product(terms.begin(), terms.end(), coefficients.begin(), 0.0);
}

}  // namespace inline_prof::model::seer
