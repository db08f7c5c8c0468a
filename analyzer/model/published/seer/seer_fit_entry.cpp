#include "model/published/seer/seer_fit_entry.hpp"

#include "model/published/seer/evaluation.hpp"
#include "model/published/seer/judgement.hpp"
#include "model/published/seer/parameter_files.hpp"
#include "model/published/seer/seer_fit.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace inline_prof::fit {
namespace {

namespace seer = model::seer;
using read::SeerSample;

bool choice(const FitRequest& request, const std::string& name, std::string_view no,
            std::string_view yes) {
  const auto it = request.settings.find(name);
  if (it == request.settings.end() || it->second == no) return false;
  if (it->second == yes) return true;
  throw std::invalid_argument(
      fmt::format("--set {}={}: expected {} or {}", name, it->second, no, yes));
}

// Layers that differ in the image's size only are one group: a model that has seen one of them has
// half seen the others.
using Family = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
Family family_of(const read::SeerLayer& layer) {
  return {layer.in_channels, layer.out_channels, layer.filter_width, layer.stride};
}

// Test set I of a variant on rows whose family was kept out of the fit, in five folds.
seer::Errors cross_validate(const std::string& name, const std::vector<SeerSample>& samples,
                            const SeerFitOptions& options, seer::Rules rules) {
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
    const seer::Predictor predictor(fit.parameters, rules);
    const auto rows = seer::test_variant(predictor, seer::find_variant(name), test).rows;
    judged.insert(judged.end(), rows.begin(), rows.end());
  }
  return seer::errors_of(judged);
}

FitResult fit(const FitRequest& request) {
  if (!request.boundary.empty() || !request.prior.empty() || request.points) {
    throw std::invalid_argument("the fit of seer takes no --boundary, --prior or --points");
  }
  SeerFitOptions options;
  options.keeps_sparse_types = choice(request, "sparse_types", "pooled", "published");
  options.sign = choice(request, "sign", "any", "not_negative") ? Sign::kNotNegative : Sign::kAny;
  options.tunes_trees = choice(request, "trees", "full", "tuned");
  const bool splits = choice(request, "split", "none", "systematic");
  const seer::Rules rules =
      options.keeps_sparse_types ? seer::kPublishedRules : seer::kCorrectedRules;

  SeerTables tables;
  read::Parameters file;
  for (const read::Table& table : request.tables) {
    add_seer_table(tables, table, seer::model_of_file(table.label()));
    file.trained_rows += static_cast<std::int64_t>(table.row_count());
  }
  std::map<std::string, std::vector<SeerSample>> kept_aside;
  if (splits) {
    for (auto& [name, samples] : tables.variants) {
      SeerSplit split = split_seer_samples(std::move(samples), options.keeps_sparse_types);
      samples = std::move(split.train);
      kept_aside[name] = std::move(split.test);
    }
  }

  const SeerFit fitted = fit_seer(tables, options);
  FitResult result;
  for (const SeerFitQuality& quality : fitted.quality) {
    result.summary += fmt::format("{:<22} {:<9} {:>5} rows, error on them {:.2f} %\n",
                                  quality.model, quality.kind, quality.rows, 100.0 * quality.rmspe);
  }
  const seer::Predictor predictor(fitted.parameters, rules);
  for (const auto& [name, samples] : tables.variants) {
    request.say(fmt::format("cross-validating {}", name));
    const std::size_t variant = seer::find_variant(name);
    const auto own = seer::errors_of(seer::test_variant(predictor, variant, samples).rows);
    const auto unseen = cross_validate(name, samples, options, rules);
    result.summary += fmt::format(
        "{:<22} RMSPE {:.2f} % on its {} rows, {:.2f} % on families of layers kept out of the fit",
        name, own.rmspe_percent, own.rows, unseen.rmspe_percent);
    if (splits) {
      const auto test =
          seer::errors_of(seer::test_variant(predictor, variant, kept_aside.at(name)).rows);
      result.summary +=
          fmt::format(", {:.2f} % on the {} kept aside", test.rmspe_percent, test.rows);
    }
    result.summary += "\n";
  }

  file.model = "seer";
  file.machine = request.machine ? request.machine->id : "";
  file.parameters = nlohmann::json::parse(seer::seer_parameters_text(fitted.parameters));
  result.file_text = read::parameters_text(file);
  return result;
}

}  // namespace

FitEntry seer_fit_entry() {
  FitEntry entry;
  entry.model = "seer";
  entry.settings = {
      {"sparse_types", "pooled",
       "types with fewer rows than coefficients + 2: \"pooled\" gives the variant a model of all "
       "its "
       "rows, \"published\" leaves ones where there are none"},
      {"sign", "any", "\"not_negative\" keeps all coefficients >= 0"},
      {"trees", "full", "\"tuned\" chooses the smallest leaves by cross-validation"},
      {"split", "none", "\"systematic\" keeps 3 rows of 10 aside, as SEER did, and judges them"}};
  entry.needs_machine = false;
  entry.fit = fit;
  return entry;
}

}  // namespace inline_prof::fit
