#include "model/published/seer/evaluation.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace inline_prof::model::seer {
namespace {

// Sums of squares of predicted against measured.
class ErrorSum {
 public:
  void add(double predicted, double measured) {
    // A kernel may well write nothing; a relative error needs something to relate to.
    if (!(measured > 0)) return;
    const double relative = (predicted - measured) / measured;
    relative_squares_ += relative * relative;
    squares_ += (predicted - measured) * (predicted - measured);
    ++rows_;
  }

  [[nodiscard]] Errors errors() const {
    if (rows_ == 0) return {};
    const auto count = static_cast<double>(rows_);
    return {.rows = rows_,
            .rmspe_percent = 100.0 * std::sqrt(relative_squares_ / count),
            .rmse_ms = std::sqrt(squares_ / count)};
  }

 private:
  std::size_t rows_ = 0;
  double relative_squares_ = 0.0;
  double squares_ = 0.0;
};

bool is_wrong(const read::SeerPickRow& row, std::optional<std::size_t> pick, PickRule rule) {
  if (!pick) return true;
  const double best = row.time_ms[static_cast<std::size_t>(row.best)];
  const double picked = row.time_ms.at(*pick);
  if (picked < 0 && rule == PickRule::kStrict) return true;
  constexpr double tolerated = 0.1;
  return (picked - best) / best > tolerated;
}

constexpr std::string_view kTitanXp = "titan-xp";
constexpr std::string_view kTitanV = "titan-v";

constexpr std::array<std::pair<KernelType, std::string_view>, 3> kTypes = {
    {{KernelType::kCompute, "compute"},
     {KernelType::kDram, "dram"},
     {KernelType::kUnderUtilised, "resource"}}};

class Judge {
 public:
  Judge(const Parameters& parameters, Edition edition, GpuChoice gpu)
      : edition_(edition),
        predictor_(parameters, edition == Edition::kPublished ? kPublishedRules : kCorrectedRules,
                   gpu) {}

  // False if it is none of SEER's tables.
  [[nodiscard]] bool add(const read::Table& table) {
    const std::string name = model_of_file(table.label());
    if (find_variant(name) != kNoVariant) {
      add_variant(name, table);
    } else if (name.starts_with("algo4_") || name == "algo5") {
      const auto algorithm = name == "algo5" ? Algorithm::kFftTiling : Algorithm::kFft;
      add_set_one(name, test_layers(predictor_, algorithm, read::read_seer_timed_layers(table)));
    } else if (name == "conv-test-set-II") {
      const auto rows = read::read_seer_timed_layers(table);
      add_errors("set2", "min_over_algos", errors_of(test_layers(predictor_, std::nullopt, rows)));
    } else if (name == "Algo-pick-set") {
      add_picks(read::read_seer_picks(table));
    } else if (name.starts_with("network")) {
      add_network(name, table);
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] Judgement take() {
    if (table_count_ > 1) {
      std::vector<JudgedTime> all;
      for (const auto& [algorithm, rows] : by_algorithm_) {
        add_errors("set1_algo", algorithm, errors_of(rows));
        all.insert(all.end(), rows.begin(), rows.end());
      }
      add_errors("set1_total", "all", errors_of(all));
    }
    return std::move(sheet_);
  }

 private:
  // `percent` and `rmse` where they apply.
  void add(std::string_view scope, std::string_view name, std::size_t count, Part percent = {},
           Part rmse = {}) {
    sheet_.rows.push_back({std::string(scope), std::string(name), static_cast<double>(count),
                           std::move(percent), std::move(rmse)});
  }
  void add_errors(std::string_view scope, std::string_view name, const Errors& errors) {
    add(scope, name, errors.rows, errors.rmspe_percent, errors.rmse_ms);
  }
  void add_share(std::string_view scope, std::string_view name, std::size_t rows,
                 std::size_t wrong) {
    add(scope, name, rows,
        rows == 0 ? 0.0 : 100.0 * static_cast<double>(wrong) / static_cast<double>(rows));
  }

  void add_set_one(const std::string& name, const std::vector<JudgedTime>& rows) {
    add_errors("set1_variant", name, errors_of(rows));
    auto& all = by_algorithm_[name.substr(0, 5)];  // "algo0"
    all.insert(all.end(), rows.begin(), rows.end());
    ++table_count_;
  }

  void add_variant(const std::string& name, const read::Table& table) {
    const VariantTest test =
        test_variant(predictor_, find_variant(name), read::read_seer_samples(table));
    add_set_one(name, test.rows);
    for (const auto& [type, word] : kTypes) {
      add_errors(fmt::format("set1_{}", word), name, errors_of(test.rows, type));
    }
    add_share("set1_type_wrong_of_n", name, test.rows.size(), test.wrong_types);
    // Counts, so only the relative error means something.
    for (const auto& [word, errors] :
         {std::pair("instructions", &test.instructions), std::pair("dram_reads", &test.reads),
          std::pair("dram_writes", &test.writes)}) {
      add_errors(fmt::format("set1_{}", word), name, *errors);
    }
  }

  void add_picks(const std::vector<read::SeerPickRow>& rows) {
    const PickErrors strict = test_picks(predictor_, rows, PickRule::kStrict);
    if (edition_ == Edition::kPublished) {
      const PickErrors published = test_picks(predictor_, rows, PickRule::kPublished);
      add_share("pick_original_rule", "seer_wrong_of_n", rows.size(), published.wrong);
      add_share("pick_original_rule", "cudnn_wrong_of_n", rows.size(), published.wrong_cudnn);
    }
    add_share("pick_strict_rule", "seer_wrong_of_n", rows.size(), strict.wrong);
    add_share("pick_strict_rule", "cudnn_wrong_of_n", rows.size(), strict.wrong_cudnn);
  }

  void add_network(const std::string& name, const read::Table& table) {
    const std::vector<read::SeerLayer> layers = read::read_seer_layers(table);
    const auto counts = count_types(predictor_, layers);
    add("network_layers", name, layers.size());
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      add(fmt::format("network_{}", kTypes[i].second), name, counts[i]);
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
  ErrorSum sum;
  for (const JudgedTime& row : rows) {
    if (!type || row.type == *type) sum.add(row.predicted_ms, row.measured_ms);
  }
  return sum.errors();
}

VariantTest test_variant(const Predictor& predictor, std::size_t variant,
                         std::span<const read::SeerSample> samples) {
  VariantTest test;
  ErrorSum instructions;
  ErrorSum reads;
  ErrorSum writes;
  const bool is_padded = kVariants.at(variant).name == "algo1_128x32";
  for (const read::SeerSample& sample : samples) {
    read::SeerLayer layer = sample.layer;
    if (is_padded) layer.out_channels = std::max<std::int64_t>(layer.out_channels, 32);
    const auto blocks = static_cast<double>(sample.blocks);
    const BlockPrediction p = predictor.main_kernel(variant, layer, blocks);
    test.rows.push_back({.measured_ms = sample.time_ms, .predicted_ms = p.main_ms, .type = p.type});
    if (static_cast<int>(p.type) != sample.type()) ++test.wrong_types;
    instructions.add(p.instructions, sample.fp32_instructions / blocks);
    reads.add(p.reads, sample.dram_reads / blocks);
    writes.add(p.writes, sample.dram_writes / blocks);
  }
  test.instructions = instructions.errors();
  test.reads = reads.errors();
  test.writes = writes.errors();
  return test;
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

std::optional<Algorithm> algorithm_of_file(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view word = "algo";
  for (std::size_t place = name.find(word); place != std::string::npos;
       place = name.find(word, place + 1)) {
    const std::size_t digit = place + word.size();
    if (digit < name.size() && name[digit] >= '0' && name[digit] <= '7') {
      return static_cast<Algorithm>(name[digit] - '0');
    }
  }
  return std::nullopt;
}

GpuChoice gpu_of(const ModelOptions& options) {
  if (!options.machine) return {};
  GpuChoice gpu;
  gpu.is_titan_v = options.machine->id == kTitanV;
  gpu.sm_count = options.machine->sm_count;
  if (options.edition == Edition::kPublished && !gpu.is_titan_v &&
      options.machine->id != kTitanXp) {
    throw std::invalid_argument(
        fmt::format("the published program knows titan-xp and titan-v only, not {}; --edition "
                    "calibrated takes the "
                    "machine's SMs",
                    options.machine->id));
  }
  return gpu;
}

std::string compute_capability_of(const ModelOptions& options) {
  return options.machine ? options.machine->compute_capability : "6.1";
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
