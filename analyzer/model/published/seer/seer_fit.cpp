#include "model/published/seer/seer_fit.hpp"

#include "fit/measured_rows.hpp"
#include "model/machines.hpp"
#include "model/published/seer/predictor.hpp"
#include "model/row_reader.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

namespace inline_prof::fit {
namespace {

namespace seer = model::seer;
using read::SeerLayer;
using read::SeerSample;

constexpr std::string_view kFftTilingTypes = "algo5-ctree";
constexpr std::string_view kOperatorPrefix = "Other-ops-";

bool is_timed_table(std::string_view model) {
  return model == kFftTilingTypes || seer::coefficient_count(model, "pre") > 0 ||
         (model.starts_with("algo") && seer::coefficient_count(model, "poly") > 0);
}

std::vector<double> features_of(const SeerLayer& layer, double blocks, std::size_t count) {
  const auto all = seer::traffic_features(layer, blocks);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

class Fitter {
 public:
  explicit Fitter(const SeerFitOptions& options) : options_(options) {
    if (options.prior != nullptr) fit_.parameters = *options.prior;
  }

  void fit_variant(const std::string& name, std::vector<SeerSample> samples) {
    const seer::Variant& variant = seer::kVariants[seer::find_variant(name)];
    if (options_.prior != nullptr) return fit_types(name, samples);
    if (name == "algo1_128x32") {
      // This one table has narrower layers than cuDNN computes; prediction pads all of algorithm 1.
      for (SeerSample& sample : samples) {
        sample.layer.out_channels = std::max(sample.layer.out_channels, seer::kNarrowestTile);
      }
    }
    const std::size_t traffic_count = seer::is_winograd(variant.algorithm) ? 6 : 10;
    std::vector<LinearSample> instructions;
    std::vector<TreeSample> types;
    std::vector<TreeSample> reads;
    std::vector<TreeSample> writes;
    for (const SeerSample& sample : samples) {
      const auto blocks = static_cast<double>(sample.blocks);
      if (sample.fp32_instructions > 0) {
        instructions.push_back({{seer::instruction_variable(variant.algorithm, sample.layer), 1.0},
                                sample.fp32_instructions / blocks});
      }
      types.push_back({features_of(sample.layer, blocks, 7), static_cast<double>(sample.type())});
      const auto features = features_of(sample.layer, blocks, traffic_count);
      const double scale = seer::read_scale(variant.algorithm, sample.layer);
      reads.push_back({features, sample.dram_reads / blocks / scale});
      writes.push_back({features, sample.dram_writes / blocks});
    }
    fit_coefficients(name, "flop", instructions);
    fit_types(name, samples);
    auto& trees = fit_.parameters.trees;
    trees["ctree_" + name] = fit_tree(types, TreeKind::kClass);
    trees["rtree_dread_" + name] = fit_tree(reads, TreeKind::kRegression);
    trees["rtree_dwrite_" + name] = fit_tree(writes, TreeKind::kRegression);
  }

  // Which variant cuDNN runs: learnt from which table a layer stands in.
  void fit_variant_tree(std::size_t algorithm, const SeerTables& tables) {
    const auto which = static_cast<seer::Algorithm>(algorithm);
    std::vector<TreeSample> samples;
    std::set<std::size_t> classes;
    for (const std::int64_t filter_width : {3, 5}) {
      const std::vector<std::size_t> range = seer::variants_of(which, filter_width);
      for (std::size_t i = 0; i < range.size(); ++i) {
        const auto found = tables.variants.find(seer::kVariants[range[i]].name);
        if (found == tables.variants.end() || found->second.empty()) continue;
        classes.insert(i);
        for (const SeerSample& sample : found->second)
          samples.push_back({features_of(sample.layer, 0.0, 6), static_cast<double>(i)});
      }
      if (which != seer::Algorithm::kWinogradNonfused) break;  // one set for all filters
    }
    // One variant alone says nothing of when the others are run.
    if (classes.size() < 2) return;
    fit_.parameters.trees[fmt::format("ctree_kernel_algo{}", algorithm)] =
        fit_tree(samples, TreeKind::kClass);
  }

  void fit_timed(const std::string& name, const std::vector<read::SeerTimedLayer>& rows) {
    const seer::OperatorEntry* entry = seer::find_operator(name);
    const bool is_gradient = entry != nullptr && entry->coefficient_count == 0;
    if (name == kFftTilingTypes || is_gradient) {
      std::vector<TreeSample> samples;
      for (const auto& row : rows) {
        const auto all = seer::traffic_features(row.layer, 0.0);
        samples.push_back({is_gradient ? features_of(row.layer, 0.0, 6)
                                       : std::vector<double>{all[0], all[2], all[3], all[4]},
                           row.value});
      }
      fit_.parameters.trees[is_gradient ? "rtree_" + name : "ctree_algo5"] =
          fit_tree(samples, is_gradient ? TreeKind::kRegression : TreeKind::kClass);
      return;
    }
    std::vector<LinearSample> samples;
    samples.reserve(rows.size());
    for (const auto& row : rows)
      samples.push_back({seer::linear_terms(name, row.layer), row.value});
    fit_coefficients(name, name.ends_with("_pre") ? "pre" : "poly", samples);
  }

  SeerFit take() { return std::move(fit_); }

 private:
  void fit_coefficients(const std::string& model, std::string_view kind,
                        const std::vector<LinearSample>& samples) {
    const std::size_t count = seer::coefficient_count(model, kind);
    RelativeFit fit =
        samples.empty() ? RelativeFit{std::vector<double>(count, 1.0)} : fit_relative(samples);
    fit_.parameters.coefficients[{model, std::string(kind)}] = std::move(fit.coefficients);
    fit_.quality.push_back({model, std::string(kind), samples.size(), fit.rmspe});
  }

  // The rows of each type, and of all of them.
  void fit_types(const std::string& name, const std::vector<SeerSample>& samples) {
    std::array<std::vector<LinearSample>, 3> by_type;
    std::vector<LinearSample> any;
    for (const SeerSample& sample : samples) {
      const auto blocks = static_cast<double>(sample.blocks);
      const auto resident = static_cast<double>(sample.resident_blocks);
      const double waves = std::ceil(blocks / resident);
      const double issued = waves * resident * (sample.fp32_instructions / blocks);  // G B I
      const LinearSample resource{{sample.dram_reads, issued, 1.0, sample.dram_writes},
                                  sample.time_ms};
      any.push_back(resource);
      const std::array<LinearSample, 3> own{
          {{{issued, waves}, sample.time_ms},
           {{sample.dram_reads + sample.dram_writes, 1.0}, sample.time_ms},
           resource}};
      const auto type = static_cast<std::size_t>(sample.type());
      by_type[type].push_back(own[type]);
    }

    constexpr std::array<std::string_view, 3> kinds = {"compute", "dram", "resource"};
    bool needs_any = false;
    for (std::size_t type = 0; type < kinds.size(); ++type) {
      const bool is_sparse = by_type[type].size() < seer::coefficient_count(name, kinds[type]) + 2;
      if (is_sparse && !options_.keeps_sparse_types) {
        needs_any = true;
      } else {
        fit_coefficients(name, kinds[type], by_type[type]);
      }
    }
    if (needs_any && options_.prior == nullptr) return fit_coefficients(name, "any", any);
    if (needs_any) scale_prior(name, by_type, kinds, any);
  }

  // Too few rows of a run for coefficients of their own: those of the prior, times one factor.
  void scale_prior(const std::string& name, const std::array<std::vector<LinearSample>, 3>& by_type,
                   const std::array<std::string_view, 3>& kinds,
                   const std::vector<LinearSample>& any) {
    const auto prior_of = [&](std::string_view kind) { return options_.prior->find(name, kind); };
    std::vector<LinearSample> scaled;
    const auto add = [&](const std::vector<LinearSample>& rows, const std::vector<double>& prior) {
      for (const LinearSample& row : rows)
        scaled.push_back(
            {{std::inner_product(prior.begin(), prior.end(), row.terms.begin(), 0.0)}, row.value});
    };
    for (std::size_t type = 0; type < kinds.size(); ++type)
      if (const auto* prior = prior_of(kinds[type])) add(by_type[type], *prior);
    if (scaled.empty()) add(any, *prior_of("any"));
    const RelativeFit fit = fit_relative(scaled);
    fit_.quality.push_back({name, "factor", scaled.size(), fit.rmspe});
    for (const std::string_view kind : {kinds[0], kinds[1], kinds[2], std::string_view("any")}) {
      auto own = fit_.parameters.coefficients.find(std::pair(name, std::string(kind)));
      const auto* prior = prior_of(kind);
      if (own == fit_.parameters.coefficients.end() || prior == nullptr || own->second != *prior)
        continue;  // there is none, or it has rows of its own
      for (double& coefficient : own->second)
        coefficient *= fit.coefficients.front();
    }
  }

  SeerFitOptions options_;
  SeerFit fit_;
};

// Layers that differ in the image's size only are one group: a model that has seen one of them has
// half seen the others.
using Family = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
Family family_of(const read::SeerLayer& layer) {
  return {layer.in_channels, layer.out_channels, layer.filter_width, layer.stride};
}

// Test set I of a variant on rows whose family was kept out of the fit, in five folds.
seer::Errors cross_validate(const std::string& name, const std::vector<SeerSample>& samples,
                            const SeerFitOptions& options, model::Edition edition) {
  std::map<Family, std::size_t> folds;
  for (const SeerSample& sample : samples) {
    folds.emplace(family_of(sample.layer), 0);
  }
  constexpr std::size_t fold_count = 5;
  std::size_t next = 0;
  for (auto& [family, fold] : folds) {
    fold = next++ % fold_count;
  }
  std::vector<seer::JudgedTime> judged;
  for (std::size_t fold = 0; fold < fold_count; ++fold) {
    SeerTables train;
    std::vector<SeerSample> test;
    for (const SeerSample& sample : samples) {
      const bool is_kept = folds.at(family_of(sample.layer)) == fold;
      (is_kept ? test : train.variants[name]).push_back(sample);
    }
    if (train.variants.empty() || test.empty()) continue;
    const SeerFit fit = fit_seer(train, options);
    const seer::Predictor predictor(fit.parameters, edition);
    const auto rows = seer::test_variant(predictor, seer::find_variant(name), test);
    judged.insert(judged.end(), rows.begin(), rows.end());
  }
  return seer::errors_of(judged);
}

FitResult fit(const FitRequest& request) {
  if (!request.boundary.empty() || request.points)
    throw std::invalid_argument("the fit of seer takes no --boundary or --points");
  SeerFitOptions options;
  options.keeps_sparse_types =
      setting(request, "sparse_types", "pooled", {"pooled", "published"}) == "published";
  const model::Edition edition =
      options.keeps_sparse_types ? model::Edition::kPublished : model::Edition::kCalibrated;

  seer::Parameters prior;
  if (!request.prior.empty()) {
    prior = seer::read_seer_parameters(request.prior);
    options.prior = &prior;
  }
  SeerTables tables;
  read::Parameters file;
  FitResult result;
  std::optional<read::Machine> gpu = request.machine;
  for (const read::Table& table : request.tables) {
    const bool is_run = table.find("time_us").has_value();
    if (!is_run && options.prior != nullptr)
      throw std::invalid_argument("--prior: SEER's own tables say all that a fit needs");
    if (is_run) {
      const auto machine = table.find("machine");
      if (!gpu && machine)
        gpu = model::choose_machine(table.cell(0, *machine), model::builtin_machines());
      if (gpu) model::check_same_machine(table, *gpu);
      result.summary +=
          add_seer_run(tables, table, options.prior, gpu ? gpu->sm_count : seer::kTitanXpSms);
    } else {
      add_seer_table(tables, table, seer::model_of_file(table.label()));
    }
    file.trained_rows += static_cast<std::int64_t>(table.row_count());
  }
  if (tables.variants.empty() && tables.timed.empty() && !result.summary.empty())
    throw read::InputError(result.summary.substr(0, result.summary.size() - 1));
  const SeerFit fitted = fit_seer(tables, options);
  for (const SeerFitQuality& quality : fitted.quality) {
    result.summary += fmt::format("{:<22} {:<9} {:>5} rows, error on them {:.2f} %\n",
                                  quality.model, quality.kind, quality.rows, 100.0 * quality.rmspe);
  }
  const seer::Predictor predictor(fitted.parameters, edition);
  for (const auto& [name, samples] : tables.variants) {
    request.say(fmt::format("cross-validating {}", name));
    const std::size_t variant = seer::find_variant(name);
    const auto own = seer::errors_of(seer::test_variant(predictor, variant, samples));
    const auto unseen = cross_validate(name, samples, options, edition);
    result.summary += fmt::format(
        "{:<22} RMSPE {:.2f} % on its {} rows, {:.2f} % on families of layers kept out of the "
        "fit\n",
        name, own.rmspe_percent, own.rows, unseen.rmspe_percent);
  }

  file.model = "seer";
  file.machine = gpu ? gpu->id : "";
  file.parameters = seer::seer_parameters_json(fitted.parameters);
  result.file_text = read::parameters_text(file);
  return result;
}

}  // namespace

void add_seer_table(SeerTables& tables, const read::Table& table, std::string_view model) {
  const auto append = [](auto& rows, auto more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  };
  if (seer::find_variant(model) != seer::kNoVariant) {
    return append(tables.variants[std::string(model)], read::read_seer_samples(table));
  }
  if (is_timed_table(model)) {
    auto rows = read::read_seer_timed_layers(table);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const bool is_type = model == kFftTilingTypes;
      const double value = rows[row].value;
      if (is_type && value != 0 && value != 1 && value != 2) {
        table.fail(row, 9, fmt::format("expected a type, 0 to 2, found {:g}", value));
      }
      if (!is_type && !(value > 0)) table.fail(row, 9, "expected a time above 0, found 0");
    }
    return append(tables.timed[std::string(model)], std::move(rows));
  }
  bool is_known = false;
  for (const seer::OperatorEntry& entry : seer::kOperators) {
    if (model != fmt::format("{}{}", kOperatorPrefix, entry.table)) continue;
    is_known = true;
    auto& timed = tables.timed[std::string(entry.name)];
    const auto rows = read::read_seer_operator(table, entry.column_count);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double value = rows[row].values[entry.column];
      if (!(value > 0))
        table.fail(row, 8 + entry.column, fmt::format("expected more than 0, found {:g}", value));
      timed.push_back({.layer = rows[row].layer, .value = value});
    }
  }
  if (is_known) return;
  throw read::InputError(fmt::format(
      "{}: the name {} belongs to none of SEER's tables; expected one such as algo0_32x32, "
      "algo2_pre, algo4_16, algo5, algo5-ctree or Other-ops-maxpool",
      table.label(), model));
}

namespace {

// An operation of a run, in the columns of SEER's model.
struct RunRow {
  SeerLayer layer;
  std::string op;  // empty: a convolution
  std::optional<std::int64_t> algorithm;
  double time_ms = 0;
};

std::vector<RunRow> rows_of_run(const read::Table& table) {
  const auto inputs = model::seer_entry().inputs;
  std::vector<model::Column> columns(inputs.begin(), inputs.end());
  columns.push_back({"time_us", "us", model::ColumnKind::kNumber, 1e-3, 1e9, true, ""});
  model::RowReader reader(table, columns);
  std::vector<RunRow> rows;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const model::Row row = reader.read(i);
    rows.push_back({.layer = seer::layer_of(row),
                    .op = row.text("op"),
                    .algorithm = row.has("algo") ? std::optional(row.whole("algo")) : std::nullopt,
                    .time_ms = row.number("time_us") / 1e3});
  }
  return rows;
}

// Returns the main kernel of a run's row; throws std::invalid_argument where `prior` does not know
// it.
std::pair<std::string, SeerSample> sample_of(const RunRow& row, const seer::Predictor& predictor) {
  const auto p = predictor.predict(static_cast<seer::Algorithm>(*row.algorithm), row.layer);
  if (!p.main) throw std::invalid_argument(p.reason);
  const seer::BlockPrediction& main = *p.main;
  constexpr double busy = 10;
  SeerSample sample{.layer = row.layer,
                    .algorithm = *row.algorithm,
                    .time_ms = row.time_ms - p.helpers_ms,
                    .fp32_instructions = main.instructions * main.blocks,
                    .dram_reads = main.reads * main.blocks,
                    .dram_writes = main.writes * main.blocks,
                    .resident_blocks = std::llround(main.resident_blocks),
                    .blocks = std::llround(main.blocks)};
  if (main.type == seer::KernelType::kCompute) sample.fp32_utilisation = busy;
  if (main.type == seer::KernelType::kDram) sample.dram_utilisation = busy;
  if (!(sample.time_ms > 0)) throw std::invalid_argument("shorter than the kernels beside it");
  return {std::string(seer::kVariants[p.variant].name), sample};
}

}  // namespace

std::string add_seer_run(SeerTables& tables, const read::Table& table,
                         const seer::Parameters* prior, std::int64_t sm_count) {
  const std::vector<RunRow> rows = rows_of_run(table);
  std::map<std::string, std::size_t> left_out;  // by reason
  const auto forward_ms = [&](const SeerLayer& layer) {
    for (const RunRow& row : rows)
      if (row.layer == layer && (row.op.empty() || row.op.starts_with("conv_1x1")))
        return row.time_ms;
    return 0.0;
  };
  static const seer::Parameters nothing;
  const seer::Predictor predictor(prior == nullptr ? nothing : *prior, model::Edition::kCalibrated,
                                  {.sm_count = sm_count});
  for (const RunRow& row : rows) {
    std::string model = row.op;
    double value = row.time_ms;
    const auto algorithm = static_cast<seer::Algorithm>(row.algorithm.value_or(0));
    if (const auto* entry = seer::find_operator(model); entry && entry->coefficient_count == 0) {
      value = forward_ms(row.layer) > 0 ? value / forward_ms(row.layer) : 0;
      if (value == 0) {
        ++left_out["gradients whose forward pass is not in the run"];
        continue;
      }
    } else if (model.empty() && !row.algorithm) {
      ++left_out["convolutions without cuDNN's algorithm"];
      continue;
    } else if (algorithm == seer::Algorithm::kFft) {
      model = fmt::format("algo4_{}", seer::fft_width(row.layer.in_width));
    } else if (algorithm == seer::Algorithm::kFftTiling) {
      model = "algo5";
    } else if (model.empty()) {
      try {
        if (prior == nullptr) throw std::invalid_argument("--prior");
        const auto [variant, sample] = sample_of(row, predictor);
        tables.variants[variant].push_back(sample);
      } catch (const std::invalid_argument& error) {
        ++left_out[prior == nullptr
                       ? "convolutions that need --prior, for their instructions and traffic"
                       : fmt::format("convolutions that the prior does not know: {}",
                                     error.what())];
      }
      continue;
    }
    tables.timed[model].push_back({row.layer, row.algorithm.value_or(0), value});
  }
  std::string text;
  for (const auto& [reason, count] : left_out)
    text += fmt::format("{}: left out: {} {}\n", table.label(), count, reason);
  return text;
}

SeerFit fit_seer(const SeerTables& tables, const SeerFitOptions& options) {
  if (tables.variants.empty() && tables.timed.empty()) {
    throw std::invalid_argument("SEER is fitted to no tables");
  }
  Fitter fitter(options);
  for (const auto& [name, samples] : tables.variants) {
    if (!samples.empty()) fitter.fit_variant(name, samples);
  }
  for (const std::size_t algorithm : {0U, 2U, 6U, 7U})
    if (options.prior == nullptr) fitter.fit_variant_tree(algorithm, tables);
  for (const auto& [name, rows] : tables.timed) {
    if (!rows.empty()) fitter.fit_timed(name, rows);
  }
  return fitter.take();
}

FitEntry seer_fit_entry() {
  return {
      .model = "seer",
      .settings = {{"sparse_types", "pooled",
                    "types with fewer rows than coefficients + 2: \"pooled\" gives the variant a "
                    "model of all its rows, \"published\" leaves ones where there are none"}},
      .needs_machine = false,
      .fit = fit};
}

}  // namespace inline_prof::fit
