#include "model/published/seer/evaluation.hpp"

#include <cmath>

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

}  // namespace

Errors errors_of(std::span<const JudgedTime> rows) {
  ErrorSum sum;
  for (const JudgedTime& row : rows) {
    sum.add(row.predicted_ms, row.measured_ms);
  }
  return sum.errors();
}

Errors errors_of(std::span<const JudgedTime> rows, KernelType type) {
  ErrorSum sum;
  for (const JudgedTime& row : rows) {
    if (row.type == type) sum.add(row.predicted_ms, row.measured_ms);
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

}  // namespace inline_prof::model::seer
