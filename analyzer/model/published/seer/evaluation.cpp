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

read::SeerLayer layer_of(const NamedRow& row) {
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
