#include "model/published/seer/evaluation.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace inline_prof::model::seer {
namespace {

bool is_wrong(const read::SeerPickRow& row, std::optional<std::size_t> pick, PickRule rule) {
  if (!pick) return true;
  const double best = row.time_ms[static_cast<std::size_t>(row.best)];
  const double picked = row.time_ms.at(*pick);
  if (picked < 0 && rule == PickRule::kStrict) return true;
  constexpr double tolerated = 0.1;
  return (picked - best) / best > tolerated;
}

constexpr std::array<std::pair<KernelType, std::string_view>, 3> kTypes = {
    {{KernelType::kCompute, "compute"},
     {KernelType::kDram, "dram"},
     {KernelType::kUnderUtilised, "resource"}}};

class Judge {
 public:
  Judge(const Parameters& parameters, Edition edition, GpuChoice gpu)
      : edition_(edition), predictor_(parameters, rules_of(edition), gpu) {}

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
      const std::vector<read::SeerLayer> layers = read::read_seer_layers(table);
      const auto counts = count_types(predictor_, layers);
      add_row("network_layers", name, layers.size());
      for (std::size_t i = 0; i < kTypes.size(); ++i)
        add_row(fmt::format("network_{}", kTypes[i].second), name, counts[i]);
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
  void add_share(std::string_view scope, std::string_view name, std::size_t rows,
                 std::size_t wrong) {
    add_row(scope, name, rows,
            rows == 0 ? 0.0 : 100.0 * static_cast<double>(wrong) / static_cast<double>(rows));
  }

  void add_set_one(const std::string& name, const std::vector<JudgedTime>& rows) {
    add("set1_variant", name, rows);
    auto& all = by_algorithm_[name.substr(0, 5)];  // "algo0"
    all.insert(all.end(), rows.begin(), rows.end());
    ++table_count_;
  }

  void add_picks(const std::vector<read::SeerPickRow>& rows) {
    for (const auto& [rule, scope] : {std::pair(PickRule::kPublished, "pick_original_rule"),
                                      std::pair(PickRule::kStrict, "pick_strict_rule")}) {
      if (rule == PickRule::kPublished && edition_ != Edition::kPublished) continue;
      const PickErrors errors = test_picks(predictor_, rows, rule);
      add_share(scope, "seer_wrong_of_n", rows.size(), errors.wrong);
      add_share(scope, "cudnn_wrong_of_n", rows.size(), errors.wrong_cudnn);
    }
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
  const bool is_padded = kVariants.at(variant).name == "algo1_128x32";
  for (const read::SeerSample& sample : samples) {
    read::SeerLayer layer = sample.layer;
    if (is_padded) layer.out_channels = std::max<std::int64_t>(layer.out_channels, 32);
    const BlockPrediction p =
        predictor.main_kernel(variant, layer, static_cast<double>(sample.blocks));
    judged.push_back({.measured_ms = sample.time_ms, .predicted_ms = p.main_ms, .type = p.type});
  }
  return judged;
}

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

PickErrors test_picks(const Predictor& predictor, std::span<const read::SeerPickRow> rows,
                      PickRule rule) {
  PickErrors errors{.rows = rows.size()};
  for (const read::SeerPickRow& row : rows) {
    if (is_wrong(row, predictor.pick(row.layer).best, rule)) ++errors.wrong;
    if (is_wrong(row, static_cast<std::size_t>(row.cudnn_pick), rule)) ++errors.wrong_cudnn;
  }
  return errors;
}

std::array<std::size_t, 3> count_types(const Predictor& predictor,
                                       std::span<const read::SeerLayer> layers) {
  std::array<std::size_t, 3> counts{};
  for (const read::SeerLayer& layer : layers) {
    const Pick pick = predictor.pick(layer);
    if (!pick.best) continue;
    const KernelType type = pick.algorithms[*pick.best].type;
    if (type != KernelType::kUnknown) ++counts[static_cast<std::size_t>(type)];
  }
  return counts;
}

std::string model_of_file(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".csv", ".train", ".test"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
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
