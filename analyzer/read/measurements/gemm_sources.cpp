// Tables of matrix products, C[m,n] = A[m,k] * B[k,n].
#include "read/measurements/source.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace inline_prof::read {
namespace {

// xla/service/gpu/model/matmul_interpolator_data.h: "bf16xbf16->bf16".
struct XlaTypes {
  std::string a;
  std::string b;
  std::string c;
};

XlaTypes xla_types(const Table& table, std::size_t row, std::size_t column) {
  const std::string text = table.cell(row, column);
  const std::size_t times = text.find('x');
  const std::size_t arrow = text.find("->");
  if (times == std::string::npos || arrow == std::string::npos || times > arrow) {
    table.fail(row, column, fmt::format("expected TYPExTYPE->TYPE, found \"{}\"", text));
  }
  return {.a = number_type_word(text.substr(0, times)),
          .b = number_type_word(text.substr(times + 1, arrow - times - 1)),
          .c = number_type_word(text.substr(arrow + 2))};
}

Measurements from_xla(const Table& table, const ConvertSettings&) {
  const std::size_t m = table.require("m"), n = table.require("n"), k = table.require("k");
  const std::size_t batch = table.require("b"), type = table.require("dtype");
  const std::size_t time = table.require("time_us");
  Measurements result{.columns = {"m", "n", "k", "batch", "a_type", "b_type", "c_type", "time_us"},
                      .rows = {},
                      .notes = {}};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const XlaTypes types = xla_types(table, row, type);
    result.rows.push_back({table.cell(row, m), table.cell(row, n), table.cell(row, k),
                           table.cell(row, batch), types.a, types.b, types.c,
                           number_text(positive_number(table, row, time))});
  }
  return result;
}

// DeepBench's sheets: 'precision' stands for all three matrices; 'T' says which are transposed.
Measurements from_deepbench(const Table& table, const ConvertSettings&) {
  const std::size_t m = table.require("m"), n = table.require("n"), k = table.require("k");
  const std::size_t type = table.require("precision");
  const std::size_t a_trans = table.require("a_trans"), b_trans = table.require("b_trans");
  const std::size_t time = table.require("time_ms");
  Measurements result{
      .columns = {"m", "n", "k", "a_type", "b_type", "c_type", "trans_a", "trans_b", "time_us"},
      .rows = {},
      .notes = {}};
  const auto flag = [&](std::size_t row, std::size_t column) -> std::string {
    const std::string text = table.cell(row, column);
    if (text != "N" && text != "T") {
      table.fail(row, column, fmt::format("expected N or T, found \"{}\"", text));
    }
    return text == "T" ? "1" : "0";
  };
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string word = number_type_word(table.cell(row, type));
    result.rows.push_back({table.cell(row, m), table.cell(row, n), table.cell(row, k), word, word,
                           word, flag(row, a_trans), flag(row, b_trans),
                           number_text(positive_number(table, row, time) * 1e3)});
  }
  return result;
}

// NeuSight's linear layers: [B, M, N] times [N, K]; its N is the reduction.
Measurements from_neusight(const Table& table, const ConvertSettings&) {
  const std::size_t batch = table.require("B"), rows = table.require("M");
  const std::size_t depth = table.require("N"), width = table.require("K");
  const std::size_t kernel = table.require("Kernel Name"), time = table.require("Latency");
  const std::array grid{table.require("Grid x"), table.require("Grid y"), table.require("Grid z")};
  Measurements result{
      .columns = {"m", "n", "k", "a_type", "b_type", "c_type", "kernel_name", "blocks", "time_us"},
      .rows = {},
      .notes = {fmt::format("{}: event pairs around a launch: times hold its 26 to 57 us, too",
                            table.label())}};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const double m = positive_number(table, row, batch) * positive_number(table, row, rows);
    double blocks = 1;
    for (const std::size_t side : grid)
      blocks *= positive_number(table, row, side);
    result.rows.push_back({number_text(m), table.cell(row, width), table.cell(row, depth), "f32",
                           "f32", "f32", table.cell(row, kernel), number_text(blocks),
                           number_text(positive_number(table, row, time) * 1e3)});
  }
  return result;
}

Measurements from_deepgemm(const Table& table, const ConvertSettings&) {
  const std::size_t m = table.require("m"), n = table.require("n"), k = table.require("k");
  const std::size_t time = table.require("time_us_derived");
  Measurements result{
      .columns = {"m", "n", "k", "a_type", "b_type", "c_type", "time_us"}, .rows = {}, .notes = {}};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    result.rows.push_back({table.cell(row, m), table.cell(row, n), table.cell(row, k), "f8e4m3",
                           "f8e4m3", "bf16", number_text(positive_number(table, row, time))});
  }
  return result;
}

// aiconfigurator's tables have one number type each, which only the file's name says.
Measurements from_aiconfigurator(const Table& table, const ConvertSettings& settings) {
  const std::size_t m = table.require("m"), n = table.require("n"), k = table.require("k");
  const std::size_t time = table.require("time_us");
  const std::string type = setting_or(settings, "type", "");
  Measurements result{.columns = {"m", "n", "k", "time_us"}, .rows = {}, .notes = {}};
  if (type.empty()) {
    result.notes.push_back(
        fmt::format("{}: no number types: --set type=bf16 adds them", table.label()));
  } else {
    result.columns.insert(result.columns.end() - 1, {"a_type", "b_type"});
  }
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    std::vector<std::string> cells{table.cell(row, m), table.cell(row, n), table.cell(row, k)};
    if (!type.empty()) cells.insert(cells.end(), {type, type});
    cells.push_back(number_text(positive_number(table, row, time)));
    result.rows.push_back(std::move(cells));
  }
  return result;
}

}  // namespace

KindSources gemm_sources() {
  return {
      .kind = "gemm",
      .logs = {},
      .tables = {{"XLA matmul", {"b", "m", "n", "k", "dtype", "time_us"}, from_xla},
                 {"DeepBench gemm",
                  {"precision", "m", "n", "k", "a_trans", "b_trans", "time_ms"},
                  from_deepbench},
                 {"NeuSight linear",
                  {"Latency", "Kernel Name", "Grid x", "Grid y", "Grid z", "B", "M", "N", "K"},
                  from_neusight},
                 {"DeepGEMM", {"m", "n", "k", "time_us_derived"}, from_deepgemm},
                 {"aiconfigurator gemm_perf", {"m", "n", "k", "time_us"}, from_aiconfigurator}}};
}

}  // namespace inline_prof::read
