#include "model/published/collective/curve.hpp"

#include "read/file_text.hpp"
#include "read/parameters.hpp"
#include "read/table.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace inline_prof::model::collective {
namespace {

constexpr double kBytesPerGbUs = 1000.0;  // GB/s * us in bytes

NamedCurve published(std::string name, const char* collective, int ranks, double linear_until,
                     double saturated_from, double max_gb_per_s, double overhead_us,
                     Sigmoid sigmoid) {
  return {std::move(name), collective, ranks,
          Curve{*bus_factor(collective, ranks), linear_until, saturated_from, max_gb_per_s,
                overhead_us, sigmoid}};
}

// The members of a curve beside its words, by the names of the original's table.
struct Member {
  const char* name;
  double& (*place)(Curve& curve);
  bool is_positive;  // else any finite number
};

constexpr std::array kMembers{
    Member{"mul_factor", [](Curve& curve) -> double& { return curve.bus_factor; }, true},
    Member{"ln_p", [](Curve& curve) -> double& { return curve.linear_until; }, false},
    Member{"sats_p", [](Curve& curve) -> double& { return curve.saturated_from; }, false},
    Member{"max_bw", [](Curve& curve) -> double& { return curve.max_bus_gb_per_s; }, true},
    Member{"overhead_us", [](Curve& curve) -> double& { return curve.overhead_us; }, true},
    Member{"L", [](Curve& curve) -> double& { return curve.sigmoid.height; }, false},
    Member{"x0", [](Curve& curve) -> double& { return curve.sigmoid.centre; }, false},
    Member{"k", [](Curve& curve) -> double& { return curve.sigmoid.slope; }, false},
    Member{"b", [](Curve& curve) -> double& { return curve.sigmoid.base; }, false},
};

std::vector<NamedCurve> curves_of_table(const read::Table& table,
                                        std::vector<std::string>& warnings) {
  const std::size_t name = table.require("curve");
  const auto collective = table.find("collective");
  const auto ranks = table.find("num_gpus");
  std::array<std::size_t, kMembers.size()> columns{};
  for (std::size_t i = 0; i < kMembers.size(); ++i)
    columns[i] = table.require(kMembers[i].name);

  std::vector<NamedCurve> curves;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    NamedCurve named{.name = table.cell(row, name), .collective = "", .ranks = 0, .curve = {}};
    if (named.name.empty()) table.fail(row, name, "expected a name, found an empty cell");
    if (collective) named.collective = table.cell(row, *collective);
    if (ranks)
      named.ranks = static_cast<std::int64_t>(table.optional_number(row, *ranks).value_or(0));
    bool is_complete = true;
    for (std::size_t i = 0; i < kMembers.size(); ++i) {
      const auto value = table.optional_number(row, columns[i]);
      is_complete = is_complete && value.has_value();
      if (value && kMembers[i].is_positive && !(*value > 0)) {
        table.fail(row, columns[i],
                   fmt::format("expected a number > 0, found {}", table.cell(row, columns[i])));
      }
      kMembers[i].place(named.curve) = value.value_or(0.0);
    }
    if (is_complete) {
      curves.push_back(std::move(named));
    } else {
      warnings.push_back(fmt::format("{}: line {}: curve {} has no fit", table.label(),
                                     table.line(row), named.name));
    }
  }
  return curves;
}

std::vector<NamedCurve> curves_of_parameters(const std::string& text, const std::string& label) {
  const read::Parameters parameters = read::parse_parameters(text, label, "collective");
  const base::JsonValue root = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode list = read::TreeNode(root, label).member("parameters").member("curves");
  std::vector<NamedCurve> curves;
  list.each_element([&](const read::TreeNode& node) {
    NamedCurve named{.name = node.member("curve").text(),
                     .collective = node.member("collective").text(),
                     .ranks = node.member("num_gpus").count(),
                     .curve = {}};
    for (const Member& member : kMembers) {
      const read::TreeNode value = node.member(member.name);
      const double number = value.number();
      if (!std::isfinite(number)) value.fail("expected a finite number");
      if (member.is_positive && !(number > 0)) value.fail("expected a number > 0");
      member.place(named.curve) = number;
    }
    curves.push_back(std::move(named));
  });
  return curves;
}

std::int64_t parse_count(std::string_view text, std::string_view whole, std::int64_t least) {
  constexpr std::int64_t most = 1'000'000'000;
  const auto value = read::number_of<std::int64_t>(text);
  if (!value || *value < least || *value > most) {
    throw std::invalid_argument(fmt::format(
        "expected BATCH,TABLES-TABLES-...,DIM with integers from {} to {}, found \"{}\"", least,
        most, whole));
  }
  return *value;
}

}  // namespace

std::optional<double> bus_factor(std::string_view collective, double ranks) {
  if (collective == "all_reduce") return 2 * (ranks - 1) / ranks;
  if (collective == "all_to_all" || collective == "all_to_allv" || collective == "all_gather" ||
      collective == "all_gather_base" || collective == "reduce_scatter") {
    return (ranks - 1) / ranks;  // each rank keeps its own part
  }
  if (collective == "reduce" || collective == "memory") return 1.0;
  return std::nullopt;
}

double Sigmoid::at(double x) const {
  return height / (1 + std::exp(-slope * (x - centre))) + base;
}

Section Curve::section(double bytes) const {
  const double x = std::log2(bytes);  // -inf for no bytes: the first section
  if (x <= linear_until) return Section::kLatency;
  return x <= saturated_from ? Section::kSigmoid : Section::kSaturated;
}

double Curve::bus_gb_per_s(double bytes) const {
  const Section own = section(bytes);
  return own == Section::kLatency   ? bytes / overhead_us * bus_factor / kBytesPerGbUs
         : own == Section::kSigmoid ? std::pow(10, sigmoid.at(std::log2(bytes)))
                                    : max_bus_gb_per_s;
}

double Curve::time_us(double bytes) const {
  const Section own = section(bytes);
  if (own == Section::kLatency) return overhead_us;
  const double move_us = bytes / bus_gb_per_s(bytes) * bus_factor / kBytesPerGbUs;
  return own == Section::kSigmoid ? move_us : move_us + overhead_us;
}

std::span<const NamedCurve> published_curves() {
  // Device memory: ml_perf_model at 5b2522a, measured there; Xp and P100 hold the V100's numbers.
  // Collectives: the same repository's notebook comm_bench before 2023, V100s with NVLink.
  static const std::array curves{
      published("dram_A100", "memory", 1, 14, 29, 1391.103638, 6.450239,
                {2.20955621, 20.35203082, 0.62528837, 0.93242722}),
      published("dram_V100", "memory", 1, 16, 30, 816.953003, 4.83328223,
                {1.9472268, 19.81699009, 0.55556443, 0.95523816}),
      published("dram_GV100", "memory", 1, 15, 28, 601.045715, 6.963206,
                {2.56635526, 18.54562595, 0.4196576, 0.27275451}),
      published("dram_Xp", "memory", 1, 16, 27, 816.953003, 4.83328223,
                {6.53478964, 11.78536754, 0.19557855, -3.4045424}),
      published("dram_P100", "memory", 1, 16, 27, 816.953003, 4.83328223,
                {6.53478964, 11.78536754, 0.19557855, -3.4045424}),
      published("v100_all_to_allv_4", "all_to_allv", 4, 19, 29, 56.7134, 85.6,
                {2.04954779, 19.37088144, 0.50613566, -0.2803368}),
      published("v100_all_to_allv_8", "all_to_allv", 8, 12, 24, 45.8154, 68.0,
                {5.88387459, 12.51962025, 0.23138583, -4.02494046}),
      published("v100_all_reduce_4", "all_reduce", 4, 12, 26, 75.6704, 84.2,
                {6.04564109, 12.70417428, 0.2242347, -3.94164857}),
      published("v100_all_reduce_8", "all_reduce", 8, 12, 25, 130.3734, 43.4,
                {6.67770176, 11.62004605, 0.19322959, -4.28862824}),
  };
  return curves;
}

const Curve& memory_curve(std::string_view gpu) {
  constexpr std::string_view prefix = "dram_";
  return std::ranges::find_if(published_curves(),
                              [&](const NamedCurve& named) {
                                return named.name.starts_with(prefix) &&
                                       named.name.substr(prefix.size()) == gpu;
                              })
      ->curve;
}

std::vector<NamedCurve> read_curves(const std::filesystem::path& file,
                                    std::vector<std::string>& warnings) {
  std::string text = read::read_text(file);
  if (text.starts_with('{')) return curves_of_parameters(text, file.string());
  return curves_of_table(read::Table(std::move(text), file.string()), warnings);
}

std::string curves_text(std::span<const NamedCurve> curves, std::string_view machine,
                        std::int64_t rows) {
  read::Parameters parameters;
  parameters.model = "collective";
  parameters.machine = machine;
  parameters.key = {{"form", "sigmoid"}};
  parameters.trained_rows = rows;
  auto& list = parameters.parameters["curves"] = nlohmann::json::array();
  for (NamedCurve named : curves) {
    nlohmann::json entry{
        {"curve", named.name}, {"collective", named.collective}, {"num_gpus", named.ranks}};
    for (const Member& member : kMembers)
      entry[member.name] = member.place(named.curve);
    list.push_back(std::move(entry));
  }
  return read::parameters_text(parameters);
}

ExchangeBytes exchange_bytes(std::string_view text, std::int64_t ranks) {
  if (ranks < 1) throw std::invalid_argument(fmt::format("expected ranks >= 1, found {}", ranks));
  const std::size_t first = text.find(',');
  const std::size_t last = text.rfind(',');
  if (first == last) {
    throw std::invalid_argument(
        fmt::format("expected BATCH,TABLES-TABLES-...,DIM, found \"{}\"", text));
  }
  const std::int64_t batch = parse_count(text.substr(0, first), text, 1);
  const std::int64_t dim = parse_count(text.substr(last + 1), text, 1);
  std::vector<std::int64_t> tables;
  std::string_view rest = text.substr(first + 1, last - first - 1);
  while (true) {
    const std::size_t dash = rest.find('-');
    tables.push_back(parse_count(rest.substr(0, dash), text, 0));
    if (dash == std::string_view::npos) break;
    rest.remove_prefix(dash + 1);
  }
  const std::int64_t all = std::accumulate(tables.begin(), tables.end(), std::int64_t{0});
  std::int64_t larger = 0, both = 0;
  for (const std::int64_t own : tables) {
    const std::int64_t received = all - own, sent = own * (ranks - 1);
    larger = std::max({larger, received, sent});
    both = std::max(both, received + sent);
  }
  const std::int64_t samples = batch / ranks;  // of a rank; what is left over is dropped
  const double bytes_per_table = static_cast<double>(samples) * static_cast<double>(dim) * 4;
  return {.sum = bytes_per_table * static_cast<double>(all),
          .max_of_max = bytes_per_table * static_cast<double>(larger),
          .max_of_sum = bytes_per_table * static_cast<double>(both)};
}

}  // namespace inline_prof::model::collective
