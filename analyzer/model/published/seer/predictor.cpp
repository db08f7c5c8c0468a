#include "model/published/seer/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  const auto c = static_cast<double>(layer.in_channels);
  const auto k = static_cast<double>(layer.out_channels);
  return poly[0] * c + poly[1] * c * k + poly[2] * k + poly[3];
}

// SEER fitted its models on a batch of 128 only, and these two do not have the batch in them.
constexpr std::int64_t kFittedBatch = 128;

// Each algorithm's tiles of 32 x 32 overlap by a filter.
constexpr std::int64_t kFftTile = 32;

}  // namespace

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
  return launched_blocks(kVariants.at(variant), layer, rules_.blocks);
}

double Predictor::helpers_ms(std::size_t variant, const read::SeerLayer& layer) const {
  const Variant& which = kVariants.at(variant);
  const auto batch = static_cast<double>(layer.batch);
  const auto in_width = static_cast<double>(layer.in_width);
  const auto out_width = static_cast<double>(layer.out_width);
  const auto c = static_cast<double>(layer.in_channels);
  const auto k = static_cast<double>(layer.out_channels);
  const double filter = static_cast<double>(layer.filter_width * layer.filter_width) * c;  // k^2 C
  if (gpu_.is_titan_v) return 0.0;
  if (which.algorithm == Algorithm::kGemm) {  // image to columns
    const auto& q = coefficients("algo2_pre", "pre", 3);
    return q[0] * batch * out_width * out_width * filter + q[1] * k * filter + q[2];
  }
  if (which.algorithm == Algorithm::kWinogradNonfused) {  // transforms of input, filter and output
    const auto& q = coefficients(fmt::format("{}_pre", which.name), "pre", 4);
    // The batch in the filter's term is the original's; the transform does not depend on it.
    return q[0] * batch * c * in_width * in_width + q[1] * batch * filter * k +
           q[2] * batch * k * out_width * out_width + q[3];
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
  prediction.time_ms = fft_products(coefficients(fmt::format("algo4_{}", width), "poly", 4), layer);
  return prediction;
}

AlgorithmPrediction Predictor::predict_fft_tiling(const read::SeerLayer& layer) const {
  AlgorithmPrediction prediction;
  if (layer.filter_width > kFftTile) {
    return not_computed(kNoFftMs, "algorithm 5 computes filters up to 32 only");
  }
  const std::array<double, 4> features = {
      static_cast<double>(layer.in_channels), static_cast<double>(layer.out_channels),
      static_cast<double>(layer.out_width), static_cast<double>(layer.filter_width)};
  const KernelType type = type_from_class(tree("ctree_algo5").evaluate(features));
  const double across = std::ceil(static_cast<double>(layer.out_width) /
                                  static_cast<double>(kFftTile + 1 - layer.filter_width));
  if (layer.stride != 1) {
    prediction = not_computed(kNoFftMs, "algorithm 5 computes stride 1 only");
  } else if (!rules_.sentinel_times && layer.batch != kFittedBatch) {
    prediction = not_computed(kNoFftMs, "algorithm 5 is fitted for batch 128 only");
  } else {
    prediction.time_ms = across * across * fft_products(coefficients("algo5", "poly", 4), layer);
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
  const VariantRange range = variants_of(algorithm, layer.filter_width);
  if (algorithm == Algorithm::kImplicitPrecompGemm) {
    return range.index[precomp_gemm_variant(layer.out_channels)];
  }
  if (gpu_.is_titan_v && algorithm == Algorithm::kWinograd) return range.index[0];
  const auto features = traffic_features(layer, 0.0);
  const std::string name = fmt::format("ctree_kernel_algo{}", index_of(algorithm));
  const double answer = tree(name).evaluate(std::span(features).first(6));
  const bool is_class =
      answer >= 0 && answer < static_cast<double>(range.size) && answer == std::floor(answer);
  if (!is_class) {
    throw std::invalid_argument(
        fmt::format("{} answers {:g}, expected 0 to {}", name, answer, range.size - 1));
  }
  const auto which = static_cast<std::size_t>(answer);
  const bool has_gemm_tiles =
      algorithm == Algorithm::kImplicitGemm || algorithm == Algorithm::kGemm;
  if (gpu_.is_titan_v && has_gemm_tiles && which == 2) return kNoVariant;
  return range.index[which];
}

const BlockModel& Predictor::block_model(std::size_t variant) const {
  const auto& found = block_models_.at(variant);
  if (!found) throw std::invalid_argument(missing_[variant]);
  return *found;
}

const std::vector<double>& Predictor::coefficients(std::string_view model, std::string_view kind,
                                                   std::size_t count) const {
  const std::vector<double>* found = parameters_->find(model, kind, count);
  if (found == nullptr) {
    throw std::invalid_argument(fmt::format("no {} coefficients {} of {}", count, kind, model));
  }
  return *found;
}

const Tree& Predictor::tree(std::string_view name) const {
  const Tree* found = parameters_->find_tree(name);
  if (found == nullptr) throw std::invalid_argument(fmt::format("no tree {}", name));
  return *found;
}

double Predictor::resident_blocks(const Variant& variant) const {
  const std::int64_t per_sm = gpu_.blocks_per_sm.value_or(variant.blocks_per_sm);
  const std::int64_t sms = rules_.keeps_titan_xp_blocks ? kTitanXpSms : gpu_.sm_count;
  return static_cast<double>(per_sm * sms);
}

}  // namespace inline_prof::model::seer
