#include "model/published/collective/curve.hpp"
#include "model/published/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

using collective::Curve;
using collective::NamedCurve;
using collective::Section;

constexpr double kMostBytes = 1e15;
constexpr double kMostRanks = 1e6;

constexpr std::array<Column, 8> kInputs{{
    {"curve", "", ColumnKind::kText, 0, 0, false, "name of the curve"},
    {"size_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, false, "message size"},
    {"bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, false, "the same"},
    {"collective", "", ColumnKind::kText, 0, 0, false, "all_reduce, ...: where no curve is named"},
    {"op", "", ColumnKind::kText, 0, 0, false, "the same"},
    {"num_gpus", "", ColumnKind::kInteger, 1, kMostRanks, false, "ranks"},
    {"btd", "", ColumnKind::kText, 0, 0, false,
     "an uneven all-to-all in the place of a size: BATCH,TABLES-TABLES-...,DIM"},
    {"gpu", "", ColumnKind::kText, 0, 0, false,
     "a machine's id: refuses the published curves of another"},
}};

consteval std::size_t at(std::string_view name) {
  return place_of(kInputs, name);
}

constexpr std::array<std::string_view, 3> kSections{"latency", "sigmoid", "saturated"};
constexpr std::array<std::string_view, 4> kParts{"bus_bw_gbps", "section", "curve", "bytes"};

using SizeRule = double collective::ExchangeBytes::*;

SizeRule size_rule(const std::string& name) {
  if (name == "sum") return &collective::ExchangeBytes::sum;
  if (name == "max_of_max") return &collective::ExchangeBytes::max_of_max;
  if (name == "max_of_sum") return &collective::ExchangeBytes::max_of_sum;
  throw std::invalid_argument(
      fmt::format("exchange: expected sum, max_of_max or max_of_sum, found {}", name));
}

class CollectiveCurves : public Model {
 public:
  CollectiveCurves(std::vector<NamedCurve> curves, std::vector<std::string> warnings, SizeRule rule,
                   bool are_published)
      : curves_(std::move(curves)),
        warnings_(std::move(warnings)),
        rule_(rule),
        are_published_(are_published) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    RowPrediction prediction;
    const auto bytes = size_of(row, prediction);
    if (!bytes) return prediction;
    const NamedCurve* named = choose(row, prediction);
    if (named == nullptr) return prediction;
    if (named->ranks == 1 && named->collective != "memory") {
      return RowPrediction::none("", "one rank sends nothing");
    }
    const double time = named->curve.time_us(*bytes);
    if (!std::isfinite(time)) {
      return RowPrediction::none("", fmt::format("curve {} gives no time", named->name));
    }
    const Section section = named->curve.section(*bytes);
    prediction.time_us = time;
    prediction.bound = section == Section::kLatency ? "latency" : "bandwidth";
    prediction.parts = {named->curve.bus_gb_per_s(*bytes),
                        std::string(kSections[static_cast<std::size_t>(section)]), named->name,
                        *bytes};
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    RowPrediction prediction;
    const auto bytes = size_of(row, prediction);
    const NamedCurve* named = bytes ? choose(row, prediction) : nullptr;
    if (named == nullptr) return prediction.reason;
    const Curve& curve = named->curve;
    const auto& [height, centre, slope, base] = curve.sigmoid;
    std::string text = fmt::format(
        "curve {}: {:g} us up to 2^{:g} bytes, then log10 GB/s = {:g} / (1 + exp(-{:g} * (log2 "
        "bytes - {:g}))) + {:g} up to 2^{:g}, then {:g} GB/s; bus factor {:g}\n  ",
        named->name, curve.overhead_us, curve.linear_until, height, slope, centre, base,
        curve.saturated_from, curve.max_bus_gb_per_s, curve.bus_factor);
    switch (curve.section(*bytes)) {
      case Section::kLatency:
        return text + fmt::format("{:g} bytes: time = {:g} us", *bytes, curve.overhead_us);
      case Section::kSigmoid:
        return text + fmt::format("{:g} bytes: time = {:g} / 10^{:g} * {:g} / 1000 = {:g} us",
                                  *bytes, *bytes, curve.sigmoid.at(std::log2(*bytes)),
                                  curve.bus_factor, curve.time_us(*bytes));
      case Section::kSaturated:
        return text + fmt::format("{:g} bytes: time = {:g} / {:g} * {:g} / 1000 + {:g} = {:g} us",
                                  *bytes, *bytes, curve.max_bus_gb_per_s, curve.bus_factor,
                                  curve.overhead_us, curve.time_us(*bytes));
    }
    return text;
  }

 private:
  // The bytes of a row; empty, with a reason in `prediction`, if it does not say.
  std::optional<double> size_of(const Row& row, RowPrediction& prediction) const {
    if (row.has(at("size_bytes"))) return row.number(at("size_bytes"));
    if (row.has(at("bytes"))) return row.number(at("bytes"));
    if (!row.has(at("btd"))) {
      prediction.reason = "neither size_bytes, bytes nor btd";
      return std::nullopt;
    }
    if (!row.has(at("num_gpus"))) {
      prediction.reason = "btd without num_gpus";
      return std::nullopt;
    }
    try {
      const auto ranks = row.whole(at("num_gpus"));
      return exchange_bytes(collective::parse_exchange(row.text(at("btd"))), ranks).*rule_;
    } catch (const std::invalid_argument& error) {
      prediction.reason = fmt::format("btd: {}", error.what());
      return std::nullopt;
    }
  }

  // The curve that a row names, or the only one for its collective and ranks.
  const NamedCurve* choose(const Row& row, RowPrediction& prediction) const {
    if (row.has(at("curve"))) {
      const auto it = std::ranges::find(curves_, row.text(at("curve")), &NamedCurve::name);
      if (it != curves_.end()) return &*it;
      prediction.error = "KeyError";
      prediction.reason = fmt::format("no curve {}", row.text(at("curve")));
      return nullptr;
    }
    const std::size_t word = row.has(at("collective")) ? at("collective") : at("op");
    if (!row.has(word) || !row.has(at("num_gpus"))) {
      prediction.reason = "neither curve, nor collective (or op) and num_gpus";
      return nullptr;
    }
    constexpr std::string_view published_gpu = "v100";
    if (are_published_ && row.has(at("gpu")) && !row.text(at("gpu")).starts_with(published_gpu)) {
      prediction.reason =
          fmt::format("the published curves are of a V100, not {}; a fit of yours: --params",
                      row.text(at("gpu")));
      return nullptr;
    }
    const auto ranks = row.whole(at("num_gpus"));
    const auto fits = [&](const NamedCurve& named) {
      return named.collective == row.text(word) && named.ranks == ranks;
    };
    const auto first = std::ranges::find_if(curves_, fits);
    if (first == curves_.end()) {
      prediction.error = "KeyError";
      prediction.reason = fmt::format("no curve for {} on {} GPUs", row.text(word), ranks);
      return nullptr;
    }
    const auto second = std::find_if(std::next(first), curves_.end(), fits);
    if (second != curves_.end()) {
      prediction.reason =
          fmt::format("{} and {} are both {} on {} GPUs: name one in a column curve", first->name,
                      second->name, row.text(word), ranks);
      return nullptr;
    }
    return &*first;
  }

  std::vector<NamedCurve> curves_;
  std::vector<std::string> warnings_;
  SizeRule rule_;
  bool are_published_;
};

constexpr const char* kDefaultRule = "max_of_max";

std::unique_ptr<Model> make(const ModelOptions& options) {
  std::vector<std::string> warnings;
  std::vector<NamedCurve> curves;
  if (!options.params.empty()) curves = collective::read_curves(options.params, warnings);
  // A file of collectives still has the published curves of device memory.
  for (const NamedCurve& named : collective::published_curves()) {
    if (options.params.empty() ||
        (named.collective == "memory" &&
         std::ranges::find(curves, named.name, &NamedCurve::name) == curves.end())) {
      curves.push_back(named);
    }
  }
  return std::make_unique<CollectiveCurves>(std::move(curves), std::move(warnings),
                                            size_rule(setting(options, "exchange", kDefaultRule)),
                                            options.params.empty());
}

OperationInputs inputs_of(const Operation& operation) {
  OperationInputs inputs;
  inputs.add_text("op", operation.op, "op");
  inputs.add_size("num_gpus", operation.op, "ranks");
  inputs.add_size("bytes", operation.op, "bytes");
  inputs.add("gpu", operation.machine.id);
  return inputs;
}

}  // namespace

ModelEntry collective_entry() {
  return {.name = "collective",
          .summary = "collectives: measured bandwidth over size as latency, sigmoid and maximum",
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .params = Need::kOptional,
          .params_meaning =
              "curves that fit made, or a table of curves; default: the published "
              "ones (dram_V100, v100_all_reduce_8, ...)",
          .settings = {{"exchange", kDefaultRule,
                        "size of an uneven all-to-all: sum, max_of_max or max_of_sum"}},
          .make = make,
          .operations = {OpKind::kCollective},
          .inputs_of = inputs_of};
}

}  // namespace inline_prof::model
