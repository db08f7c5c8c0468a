#include "model/published/seer/judgement.hpp"

#include "model/published/seer/evaluation.hpp"
#include "model/published/seer/parameter_files.hpp"
#include "read/input_error.hpp"
#include "read/seer_tables.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace inline_prof::model::seer {
namespace {

constexpr std::string_view kTitanXp = "titan-xp";
constexpr std::string_view kTitanV = "titan-v";

// Collects the rows of the answer: scope, name, n, then what applies.
class Sheet {
 public:
  void add_errors(std::string_view scope, std::string_view name, const Errors& errors) {
    sheet_.rows.push_back({Part(std::string(scope)), Part(std::string(name)),
                           Part(static_cast<double>(errors.rows)), Part(errors.rmspe_percent),
                           Part(errors.rmse_ms)});
  }
  void add_share(std::string_view scope, std::string_view name, std::size_t rows,
                 std::size_t wrong) {
    const double percent =
        rows == 0 ? 0.0 : 100.0 * static_cast<double>(wrong) / static_cast<double>(rows);
    sheet_.rows.push_back({Part(std::string(scope)), Part(std::string(name)),
                           Part(static_cast<double>(rows)), Part(percent), Part()});
  }
  void add_count(std::string_view scope, std::string_view name, std::size_t count) {
    sheet_.rows.push_back({Part(std::string(scope)), Part(std::string(name)),
                           Part(static_cast<double>(count)), Part(), Part()});
  }
  [[nodiscard]] Judgement take() { return std::move(sheet_); }

 private:
  Judgement sheet_{.columns = {"scope", "name", "n", "rmspe_percent", "rmse_ms"}, .rows = {}};
};

constexpr std::array<std::pair<KernelType, std::string_view>, 3> kTypes = {
    {{KernelType::kCompute, "compute"},
     {KernelType::kDram, "dram"},
     {KernelType::kUnderUtilised, "resource"}}};

class Judge {
 public:
  Judge(const Parameters& parameters, Mode mode, GpuChoice gpu)
      : mode_(mode),
        predictor_(parameters, mode == Mode::kCompat ? kPublishedRules : kCorrectedRules, gpu) {}

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
      sheet_.add_errors("set2", "min_over_algos",
                        errors_of(test_layers(predictor_, std::nullopt, rows)));
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
        sheet_.add_errors("set1_algo", algorithm, errors_of(rows));
        all.insert(all.end(), rows.begin(), rows.end());
      }
      sheet_.add_errors("set1_total", "all", errors_of(all));
    }
    return sheet_.take();
  }

 private:
  void add_set_one(const std::string& name, const std::vector<JudgedTime>& rows) {
    sheet_.add_errors("set1_variant", name, errors_of(rows));
    auto& all = by_algorithm_[name.substr(0, 5)];  // "algo0"
    all.insert(all.end(), rows.begin(), rows.end());
    ++table_count_;
  }

  void add_variant(const std::string& name, const read::Table& table) {
    const VariantTest test =
        test_variant(predictor_, find_variant(name), read::read_seer_samples(table));
    add_set_one(name, test.rows);
    for (const auto& [type, word] : kTypes) {
      sheet_.add_errors(fmt::format("set1_{}", word), name, errors_of(test.rows, type));
    }
    sheet_.add_share("set1_type_wrong_of_n", name, test.rows.size(), test.wrong_types);
    // Counts, so only the relative error means something.
    for (const auto& [word, errors] :
         {std::pair("instructions", &test.instructions), std::pair("dram_reads", &test.reads),
          std::pair("dram_writes", &test.writes)}) {
      sheet_.add_errors(fmt::format("set1_{}", word), name, *errors);
    }
  }

  void add_picks(const std::vector<read::SeerPickRow>& rows) {
    const PickErrors strict = test_picks(predictor_, rows, PickRule::kStrict);
    if (mode_ == Mode::kCompat) {
      const PickErrors published = test_picks(predictor_, rows, PickRule::kPublished);
      sheet_.add_share("pick_original_rule", "seer_wrong_of_n", rows.size(), published.wrong);
      sheet_.add_share("pick_original_rule", "cudnn_wrong_of_n", rows.size(),
                       published.wrong_cudnn);
    }
    sheet_.add_share("pick_strict_rule", "seer_wrong_of_n", rows.size(), strict.wrong);
    sheet_.add_share("pick_strict_rule", "cudnn_wrong_of_n", rows.size(), strict.wrong_cudnn);
  }

  void add_network(const std::string& name, const read::Table& table) {
    const std::vector<read::SeerLayer> layers = read::read_seer_layers(table);
    const auto counts = count_types(predictor_, layers);
    sheet_.add_count("network_layers", name, layers.size());
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      sheet_.add_count(fmt::format("network_{}", kTypes[i].second), name, counts[i]);
    }
  }

  Mode mode_;
  Predictor predictor_;
  Sheet sheet_;
  std::map<std::string, std::vector<JudgedTime>> by_algorithm_;
  std::size_t table_count_ = 0;  // of test set I
};

}  // namespace

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
  if (options.mode == Mode::kCompat && !gpu.is_titan_v && options.machine->id != kTitanXp) {
    throw std::invalid_argument(fmt::format(
        "the published program knows titan-xp and titan-v only, not {}; --edition calibrated takes the "
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
  Judge judge(parameters, options.mode, gpu_of(options));
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
