#include "model/published/collective/curve.hpp"
#include "model/published/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model {
namespace {

using collective::NamedCurve;
using collective::Section;

constexpr double kMostBytes = 1e15;
constexpr double kMostRanks = 1e6;

constexpr std::array kInputs{
    word_column("curve", "name of the curve"),
    Column{"size_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, false, "message size"},
    Column{"bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, false, "the same"},
    word_column("collective", "all_reduce, ...: where no curve is named"),
    word_column("op", "the same"),
    optional(size_column("num_gpus", "ranks", kMostRanks)),
    word_column("btd", "an uneven all-to-all in the place of a size: BATCH,TABLES-TABLES-...,DIM"),
    word_column("gpu", "a machine's id: refuses the published curves of another"),
};

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

struct Curves {
  std::vector<NamedCurve> curves = {};
  std::vector<std::string> warnings = {};
  SizeRule rule = nullptr;
  bool are_published = false;
};

double size_of(const Curves& curves, const Row& row) {
  if (row.has("size_bytes") || row.has("bytes"))
    return row.number(row.first_of({"size_bytes", "bytes"}));
  if (!row.has("btd")) throw NoAnswer{"", "neither size_bytes, bytes nor btd"};
  if (!row.has("num_gpus")) throw NoAnswer{"", "btd without num_gpus"};
  try {
    return collective::exchange_bytes(row.text("btd"), row.whole("num_gpus")).*curves.rule;
  } catch (const std::invalid_argument& error) {
    throw NoAnswer{"", fmt::format("btd: {}", error.what())};
  }
}

// Returns the curve that a row names, or the only one for its collective and ranks.
const NamedCurve& choose(const Curves& all, const Row& row) {
  const auto& curves = all.curves;
  if (row.has("curve")) {
    const auto it = std::ranges::find(curves, row.text("curve"), &NamedCurve::name);
    if (it != curves.end()) return *it;
    throw NoAnswer{"KeyError", fmt::format("no curve {}", row.text("curve"))};
  }
  const std::string& word = row.text(row.first_of({"collective", "op"}));
  if (word.empty() || !row.has("num_gpus"))
    throw NoAnswer{"", "neither curve, nor collective (or op) and num_gpus"};
  constexpr std::string_view published_gpu = "v100";
  if (all.are_published && row.has("gpu") && !row.text("gpu").starts_with(published_gpu)) {
    throw NoAnswer{
        "", fmt::format("the published curves are of a V100, not {}; a fit of yours: --params",
                        row.text("gpu"))};
  }
  const auto ranks = row.whole("num_gpus");
  const auto fits = [&](const NamedCurve& named) {
    return named.collective == word && named.ranks == ranks;
  };
  const auto first = std::ranges::find_if(curves, fits);
  if (first == curves.end())
    throw NoAnswer{"KeyError", fmt::format("no curve for {} on {} GPUs", word, ranks)};
  const auto second = std::find_if(std::next(first), curves.end(), fits);
  if (second != curves.end()) {
    throw NoAnswer{"", fmt::format("{} and {} are both {} on {} GPUs: name one in a column curve",
                                   first->name, second->name, word, ranks)};
  }
  return *first;
}

RowPrediction predict(const Curves& curves, const Row& row) {
  const double bytes = size_of(curves, row);
  const auto& [name, collective, ranks, curve] = choose(curves, row);
  if (ranks == 1 && collective != "memory") throw NoAnswer{"", "one rank sends nothing"};
  const double time = curve.time_us(bytes);
  if (!std::isfinite(time)) throw NoAnswer{"", fmt::format("curve {} gives no time", name)};
  const Section section = curve.section(bytes);
  return with_time(time, section == Section::kLatency ? "latency" : "bandwidth",
                   {curve.bus_gb_per_s(bytes),
                    std::string(kSections[static_cast<std::size_t>(section)]), name, bytes});
}

constexpr const char* kDefaultRule = "max_of_max";

Model make(const ModelOptions& options) {
  const auto all = std::make_shared<Curves>();
  all->rule = size_rule(setting(options, "exchange", kDefaultRule));
  all->are_published = options.params.empty();
  auto& curves = all->curves;
  if (!all->are_published) curves = collective::read_curves(options.params, all->warnings);
  // A file of collectives still has the published curves of device memory.
  for (const NamedCurve& named : collective::published_curves()) {
    if (all->are_published ||
        (named.collective == "memory" &&
         std::ranges::find(curves, named.name, &NamedCurve::name) == curves.end())) {
      curves.push_back(named);
    }
  }
  return {kInputs, kParts, [all](const Row& row) { return predict(*all, row); }, all->warnings};
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
