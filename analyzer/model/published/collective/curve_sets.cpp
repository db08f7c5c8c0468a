#include "model/published/collective/curve_sets.hpp"

#include "read/file_text.hpp"
#include "read/parameters.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

namespace inline_prof::model::collective {
namespace {

NamedCurve memory_curve(const char* name, double linear_until, double saturated_from,
                        double max_gb_per_s, double overhead_us, Sigmoid sigmoid) {
  return {.name = name,
          .collective = "memory",
          .ranks = 1,
          .curve = {.bus_factor = 1.0,
                    .linear_until = linear_until,
                    .saturated_from = saturated_from,
                    .max_bus_gb_per_s = max_gb_per_s,
                    .overhead_us = overhead_us,
                    .sigmoid = sigmoid}};
}

NamedCurve v100_curve(const char* collective, int ranks, double linear_until, double saturated_from,
                      double max_gb_per_s, double overhead_us, Sigmoid sigmoid) {
  return {.name = fmt::format("v100_{}_{}", collective, ranks),
          .collective = collective,
          .ranks = ranks,
          .curve = {.bus_factor = *original_bus_factor(collective, ranks),
                    .linear_until = linear_until,
                    .saturated_from = saturated_from,
                    .max_bus_gb_per_s = max_gb_per_s,
                    .overhead_us = overhead_us,
                    .sigmoid = sigmoid}};
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

}  // namespace

std::span<const NamedCurve> published_curves() {
  // Device memory: ml_perf_model at 5b2522a, measured there; Xp and P100 hold the V100's numbers.
  // Collectives: the same repository's notebook comm_bench before 2023, V100s with NVLink.
  static const std::array curves{
      memory_curve("dram_A100", 14, 29, 1391.103638, 6.450239,
                   {2.20955621, 20.35203082, 0.62528837, 0.93242722}),
      memory_curve("dram_V100", 16, 30, 816.953003, 4.83328223,
                   {1.9472268, 19.81699009, 0.55556443, 0.95523816}),
      memory_curve("dram_GV100", 15, 28, 601.045715, 6.963206,
                   {2.56635526, 18.54562595, 0.4196576, 0.27275451}),
      memory_curve("dram_Xp", 16, 27, 816.953003, 4.83328223,
                   {6.53478964, 11.78536754, 0.19557855, -3.4045424}),
      memory_curve("dram_P100", 16, 27, 816.953003, 4.83328223,
                   {6.53478964, 11.78536754, 0.19557855, -3.4045424}),
      v100_curve("all_to_allv", 4, 19, 29, 56.7134, 85.6,
                 {2.04954779, 19.37088144, 0.50613566, -0.2803368}),
      v100_curve("all_to_allv", 8, 12, 24, 45.8154, 68.0,
                 {5.88387459, 12.51962025, 0.23138583, -4.02494046}),
      v100_curve("all_reduce", 4, 12, 26, 75.6704, 84.2,
                 {6.04564109, 12.70417428, 0.2242347, -3.94164857}),
      v100_curve("all_reduce", 8, 12, 25, 130.3734, 43.4,
                 {6.67770176, 11.62004605, 0.19322959, -4.28862824}),
  };
  return curves;
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

}  // namespace inline_prof::model::collective
