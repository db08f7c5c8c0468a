#include "model/published/seer/predictor.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace inline_prof::model::seer {
namespace {

// The filter width and stride that the Winograd algorithms can compute.
bool is_computable(Algorithm algorithm, const read::SeerLayer& layer) {
  if (layer.stride != 1) return false;
  return layer.filter_width == 3 ||
         (algorithm == Algorithm::kWinogradNonfused && layer.filter_width == 5);
}

// SEER fitted its models on a batch of 128 only, and these two do not have the batch in them.
constexpr std::int64_t kFittedBatch = 128;

// Throws std::invalid_argument for anything but 0, 1 or 2.
KernelType type_from_class(double value) {
  if (value == 0.0) return KernelType::kCompute;
  if (value == 1.0) return KernelType::kDram;
  if (value == 2.0) return KernelType::kUnderUtilised;
  throw std::invalid_argument(fmt::format("a tree of types answers {:g}, not 0, 1 or 2", value));
}

}  // namespace

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

BlockPrediction Predictor::main_kernel(std::size_t which, read::SeerLayer layer,
                                       double blocks) const {
  const Variant& variant = kVariants.at(which);
  if (variant.algorithm == Algorithm::kImplicitPrecompGemm)
    layer.out_channels = std::max(layer.out_channels, kNarrowestTile);
  const auto tree = [&](std::string_view kind) -> const Tree& {
    return parameters_->need_tree(fmt::format("{}_{}", kind, variant.name));
  };
  const auto& flop = parameters_->need(variant.name, "flop");
  const auto* compute = parameters_->find(variant.name, "compute");
  const auto* dram = parameters_->find(variant.name, "dram");
  const auto* resource = parameters_->find(variant.name, "resource");
  const auto* any = parameters_->find(variant.name, "any");
  if ((compute == nullptr || dram == nullptr || resource == nullptr) && any == nullptr) {
    throw std::invalid_argument(
        fmt::format("{} needs the coefficients compute, dram and resource, or any", variant.name));
  }
  const auto features = traffic_features(layer, blocks);
  const std::span<const double> view(features);
  const auto traffic = is_winograd(variant.algorithm) ? view.first(6) : view;
  const std::int64_t per_sm = gpu_.blocks_per_sm.value_or(variant.blocks_per_sm);
  const std::int64_t sms = is_published_ ? kTitanXpSms : gpu_.sm_count;

  BlockPrediction p;
  p.resident_blocks = static_cast<double>(per_sm * sms);
  p.blocks = blocks;
  p.waves = std::ceil(blocks / p.resident_blocks);
  p.tail = (blocks - (p.waves - 1) * p.resident_blocks) / p.resident_blocks;
  p.type = type_from_class(tree("ctree").evaluate(view.first(7)));
  p.instructions = flop[0] * instruction_variable(variant.algorithm, layer) + flop[1];
  p.read_ratio = tree("rtree_dread").evaluate(traffic);
  p.reads = p.read_ratio * read_scale(variant.algorithm, layer);
  p.writes = tree("rtree_dwrite").evaluate(traffic);

  const double issued = p.waves * p.resident_blocks * p.instructions;  // G B I
  const auto under_utilised = [&](const std::vector<double>& u) {
    return blocks * (u[0] * p.reads + u[3] * p.writes) + u[1] * issued + u[2];
  };
  if (compute != nullptr)
    p.compute_ms = p.waves * ((*compute)[0] * p.resident_blocks * p.instructions + (*compute)[1]);
  if (dram != nullptr) p.dram_ms = (*dram)[0] * blocks * (p.reads + p.writes) + (*dram)[1];
  if (resource != nullptr) p.resource_ms = under_utilised(*resource);
  const std::optional<double>& selected = p.type == KernelType::kCompute ? p.compute_ms
                                          : p.type == KernelType::kDram  ? p.dram_ms
                                                                         : p.resource_ms;
  p.main_ms = selected ? *selected : under_utilised(*any);
  return p;
}

AlgorithmPrediction Predictor::predict(Algorithm algorithm, const read::SeerLayer& layer) const {
  if (algorithm == Algorithm::kDirect)
    return not_computed(kNoDirectMs, "cuDNN never implemented algorithm 3 (direct)");
  const bool is_fft = algorithm == Algorithm::kFft || algorithm == Algorithm::kFftTiling;
  return is_fft ? predict_fft(algorithm, layer) : predict_blocks(algorithm, layer);
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

double Predictor::helpers_ms(std::size_t variant, const read::SeerLayer& layer) const {
  const Variant& which = kVariants.at(variant);
  if (gpu_.is_titan_v) return 0.0;
  if (which.algorithm == Algorithm::kGemm) return parameters_->linear_ms("algo2_pre", "pre", layer);
  if (which.algorithm != Algorithm::kWinogradNonfused) return 0.0;
  return parameters_->linear_ms(fmt::format("{}_pre", which.name), "pre", layer);
}

AlgorithmPrediction Predictor::predict_blocks(Algorithm algorithm,
                                              const read::SeerLayer& layer) const {
  AlgorithmPrediction prediction;
  const bool can_compute = !is_winograd(algorithm) || is_computable(algorithm, layer);
  if (!can_compute) {
    prediction = not_computed(
        kNoWinogradMs,
        fmt::format("algorithm {} computes filters {} with stride 1 only", index_of(algorithm),
                    algorithm == Algorithm::kWinograd ? "3x3" : "3x3 and 5x5"));
    // The published program asks its trees for the type of a fused Winograd all the same.
    if (algorithm != Algorithm::kWinograd || !is_published_) return prediction;
  }
  prediction.variant = pick_variant(algorithm, layer);
  if (prediction.variant == kNoVariant) {
    return not_computed(kNoFftMs, fmt::format("a Titan V has no kernel of algorithm {} with a tile "
                                              "of 128x128",
                                              index_of(algorithm)));
  }
  const double blocks = launched_blocks(kVariants[prediction.variant], layer,
                                        is_published_ ? Edition::kPublished : Edition::kCalibrated);
  prediction.main = main_kernel(prediction.variant, layer, blocks);
  prediction.type = prediction.main->type;
  if (!can_compute) return prediction;
  prediction.helpers_ms = helpers_ms(prediction.variant, layer);
  prediction.time_ms = prediction.main->main_ms + prediction.helpers_ms;
  return prediction;
}

AlgorithmPrediction Predictor::predict_fft(Algorithm algorithm,
                                           const read::SeerLayer& layer) const {
  const bool is_tiled = algorithm == Algorithm::kFftTiling;
  if (is_tiled && layer.filter_width > kFftTile)
    return not_computed(kNoFftMs, "algorithm 5 computes filters up to 32 only");
  const std::int64_t width = fft_width(layer.in_width);
  AlgorithmPrediction prediction;
  if (layer.stride != 1 || (!is_tiled && width == 0)) {
    prediction = not_computed(kNoFftMs, is_tiled ? "algorithm 5 computes stride 1 only"
                                                 : "algorithm 4 computes stride 1 and images up to "
                                                   "256 only");
  } else if (!is_published_ && layer.batch != kFittedBatch) {
    prediction = not_computed(
        kNoFftMs, fmt::format("algorithm {} is fitted for batch 128 only", index_of(algorithm)));
  }
  if (!is_tiled && !prediction.reason.empty()) return prediction;
  const Sizes sizes(layer);
  prediction.tiles = is_tiled ? fft_tiles(layer) : 1;
  if (is_tiled) {
    const std::array features{sizes.c, sizes.k, sizes.wo, sizes.filter};
    prediction.type = type_from_class(parameters_->need_tree("ctree_algo5").evaluate(features));
  }
  if (!prediction.reason.empty()) return prediction;
  prediction.time_ms =
      parameters_->linear_ms(is_tiled ? "algo5" : fmt::format("algo4_{}", width), "poly", layer);
  return prediction;
}

AlgorithmPrediction Predictor::not_computed(double sentinel_ms, std::string reason) const {
  AlgorithmPrediction prediction;
  prediction.reason = std::move(reason);
  if (is_published_) prediction.time_ms = sentinel_ms;
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
  return parameters.linear_ms(entry.name, "poly", layer);
}

namespace {

constexpr std::array<std::pair<KernelType, std::string_view>, 3> kTypes = {
    {{KernelType::kCompute, "compute"},
     {KernelType::kDram, "dram"},
     {KernelType::kUnderUtilised, "resource"}}};

// The whole time of this algorithm, or of the fastest.  Rows without a prediction are left out.
std::vector<JudgedTime> test_layers(const Predictor& predictor, std::optional<Algorithm> algorithm,
                                    std::span<const read::SeerTimedLayer> rows) {
  std::vector<JudgedTime> judged;
  for (const read::SeerTimedLayer& row : rows) {
    AlgorithmPrediction prediction;
    if (algorithm) {
      prediction = predictor.predict(*algorithm, row.layer);
    } else {
      const Pick pick = predictor.pick(row.layer);
      if (pick.best) prediction = pick.algorithms[*pick.best];
    }
    if (prediction.time_ms) judged.push_back({row.value, *prediction.time_ms, prediction.type});
  }
  return judged;
}

class Judge {
 public:
  Judge(const Parameters& parameters, Edition edition, GpuChoice gpu)
      : edition_(edition), predictor_(parameters, edition, gpu) {}

  // False if it is none of SEER's tables.
  [[nodiscard]] bool add(const read::Table& table) {
    const std::string name = model_of_file(table.label());
    if (find_variant(name) != kNoVariant) {
      const auto rows =
          test_variant(predictor_, find_variant(name), read::read_seer_samples(table));
      add_set_one(name, rows);
      for (const auto& [type, word] : kTypes)
        add(fmt::format("set1_{}", word), name, rows, type);
    } else if (name.starts_with("algo4_") || name == "algo5") {
      const auto algorithm = name == "algo5" ? Algorithm::kFftTiling : Algorithm::kFft;
      add_set_one(name, test_layers(predictor_, algorithm, read::read_seer_timed_layers(table)));
    } else if (name == "conv-test-set-II") {
      const auto rows = read::read_seer_timed_layers(table);
      add("set2", "min_over_algos", test_layers(predictor_, std::nullopt, rows));
    } else if (name == "Algo-pick-set") {
      add_picks(read::read_seer_picks(table));
    } else if (name.starts_with("network")) {
      add_network(name, read::read_seer_layers(table));
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] Judgement take() {
    if (table_count_ > 1) {
      std::vector<JudgedTime> all;
      for (const auto& [algorithm, rows] : by_algorithm_) {
        add("set1_algo", algorithm, rows);
        all.insert(all.end(), rows.begin(), rows.end());
      }
      add("set1_total", "all", all);
    }
    return std::move(sheet_);
  }

 private:
  // `percent` and `rmse` where they apply.
  void add_row(std::string_view scope, std::string_view name, std::size_t count, Part percent = {},
               Part rmse = {}) {
    sheet_.rows.push_back({std::string(scope), std::string(name), static_cast<double>(count),
                           std::move(percent), std::move(rmse)});
  }
  void add(std::string_view scope, std::string_view name, std::span<const JudgedTime> rows,
           std::optional<KernelType> type = std::nullopt) {
    const Errors errors = errors_of(rows, type);
    add_row(scope, name, errors.rows, errors.rmspe_percent, errors.rmse_ms);
  }
  void add_set_one(const std::string& name, const std::vector<JudgedTime>& rows) {
    add("set1_variant", name, rows);
    auto& all = by_algorithm_[name.substr(0, 5)];  // "algo0"
    all.insert(all.end(), rows.begin(), rows.end());
    ++table_count_;
  }

  // A pick is wrong if it takes 10 % longer than the fastest.  The published program counts one
  // that could not run at all, whose time is negative, as right.
  void add_picks(const std::vector<read::SeerPickRow>& rows) {
    for (const bool is_strict : {false, true}) {
      if (!is_strict && edition_ != Edition::kPublished) continue;
      std::size_t wrong = 0, wrong_cudnn = 0;
      for (const read::SeerPickRow& row : rows) {
        const double best = row.time_ms[static_cast<std::size_t>(row.best)];
        const auto is_wrong = [&](double time_ms) {
          return (time_ms - best) / best > 0.1 || (is_strict && time_ms < 0);
        };
        const auto pick = predictor_.pick(row.layer).best;
        if (!pick || is_wrong(row.time_ms.at(*pick))) ++wrong;
        if (is_wrong(row.time_ms[static_cast<std::size_t>(row.cudnn_pick)])) ++wrong_cudnn;
      }
      const auto scope = is_strict ? "pick_strict_rule" : "pick_original_rule";
      const auto percent = [&](std::size_t count) {
        return rows.empty() ? 0.0
                            : 100.0 * static_cast<double>(count) / static_cast<double>(rows.size());
      };
      add_row(scope, "seer_wrong_of_n", rows.size(), percent(wrong));
      add_row(scope, "cudnn_wrong_of_n", rows.size(), percent(wrong_cudnn));
    }
  }

  // The layers of a network by the type of the algorithm that is picked.  Algorithm 4 has no type,
  // so its layers are in none.
  void add_network(const std::string& name, const std::vector<read::SeerLayer>& layers) {
    std::map<KernelType, std::size_t> counts;
    for (const read::SeerLayer& layer : layers) {
      const Pick pick = predictor_.pick(layer);
      if (pick.best) ++counts[pick.algorithms[*pick.best].type];
    }
    add_row("network_layers", name, layers.size());
    for (const auto& [type, word] : kTypes)
      add_row(fmt::format("network_{}", word), name, counts[type]);
  }

  Edition edition_;
  Predictor predictor_;
  Judgement sheet_{.columns = {"scope", "name", "n", "rmspe_percent", "rmse_ms"}, .rows = {}};
  std::map<std::string, std::vector<JudgedTime>> by_algorithm_;
  std::size_t table_count_ = 0;  // of test set I
};

}  // namespace

Errors errors_of(std::span<const JudgedTime> rows, std::optional<KernelType> type) {
  Errors errors;
  double relative_squares = 0.0, squares = 0.0;
  for (const auto& [measured, predicted, own_type] : rows) {
    if ((type && own_type != *type) || !(measured > 0)) continue;
    const double relative = (predicted - measured) / measured;
    relative_squares += relative * relative;
    squares += (predicted - measured) * (predicted - measured);
    ++errors.rows;
  }
  if (errors.rows == 0) return errors;
  const auto count = static_cast<double>(errors.rows);
  errors.rmspe_percent = 100.0 * std::sqrt(relative_squares / count);
  errors.rmse_ms = std::sqrt(squares / count);
  return errors;
}

std::vector<JudgedTime> test_variant(const Predictor& predictor, std::size_t variant,
                                     std::span<const read::SeerSample> samples) {
  std::vector<JudgedTime> judged;
  for (const read::SeerSample& sample : samples) {
    const BlockPrediction p =
        predictor.main_kernel(variant, sample.layer, static_cast<double>(sample.blocks));
    judged.push_back({.measured_ms = sample.time_ms, .predicted_ms = p.main_ms, .type = p.type});
  }
  return judged;
}

std::string model_of_file(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".csv", ".train", ".test"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

read::SeerLayer layer_of(const Row& row) {
  return {.batch = row.whole(row.first_of({"batch", "batch_size"})),
          .in_channels = row.whole("in_chan"),
          .in_width = row.whole("in_wid"),
          .out_channels = row.whole("out_chan"),
          .out_width = row.whole("out_wid"),
          .filter_width = row.whole("ker_wid"),
          .stride = row.whole("stride"),
          .padding = row.whole("padding")};
}

GpuChoice gpu_of(const ModelOptions& options) {
  if (!options.machine) return {};
  const std::string& id = options.machine->id;
  const GpuChoice gpu{.sm_count = options.machine->sm_count, .is_titan_v = id == "titan-v"};
  if (options.edition == Edition::kPublished && !gpu.is_titan_v && id != "titan-xp") {
    throw std::invalid_argument(
        fmt::format("the published program knows titan-xp and titan-v only, not {}; --edition "
                    "calibrated takes the machine's SMs",
                    id));
  }
  return gpu;
}

std::optional<Judgement> judge_tables(const ModelOptions& options,
                                      std::span<const read::Table> tables) {
  const Parameters parameters = read_seer_parameters(options.params);
  Judge judge(parameters, options.edition, gpu_of(options));
  for (const read::Table& table : tables) {
    if (judge.add(table)) continue;
    if (tables.size() == 1) return std::nullopt;
    throw read::InputError(
        fmt::format("{}: the name is none of SEER's tests, such as algo0_32x32, algo4_16, algo5, "
                    "conv-test-set-II, Algo-pick-set or network_1",
                    table.label()));
  }
  return judge.take();
}

}  // namespace inline_prof::model::seer
