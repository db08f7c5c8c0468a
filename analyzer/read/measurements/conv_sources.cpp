// Tables of convolutions.
#include "read/measurements/source.hpp"
#include "read/seer_tables.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace inline_prof::read {
namespace {

const std::vector<std::string> kShapeColumns{"n", "c", "h", "w", "k", "r", "s", "stride", "pad"};

// DeepBench times three directions of each layer; an empty cell was not measured.
Measurements from_deepbench(const Table& table, const ConvertSettings&) {
  struct Direction {
    const char* column;
    const char* word;
  };
  constexpr std::array directions{Direction{"fwd_ms", "forward"},
                                  Direction{"bwd_inputs_ms", "backward_data"},
                                  Direction{"bwd_weights_ms", "backward_filter"}};
  Measurements result{.columns = kShapeColumns, .rows = {}, .notes = {}};
  result.columns.insert(result.columns.end(), {"direction", "type", "time_us"});
  const auto place = [&](const char* name) { return table.require(name); };
  const std::size_t type = place("precision");
  const std::array shape{place("n"),          place("c"),        place("h"),
                         place("w"),          place("k"),        place("r_filter_h"),
                         place("s_filter_w"), place("stride_w"), place("pad_w")};
  const std::size_t stride_h = place("stride_h"), pad_h = place("pad_h");
  std::size_t uneven = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const bool is_even = table.cell(row, shape[7]) == table.cell(row, stride_h) &&
                         table.cell(row, shape[8]) == table.cell(row, pad_h);
    if (!is_even) {
      ++uneven;
      continue;
    }
    for (const Direction& direction : directions) {
      const std::size_t column = table.require(direction.column);
      if (table.cell(row, column).empty()) continue;
      std::vector<std::string> cells;
      cells.reserve(result.columns.size());
      for (const std::size_t part : shape)
        cells.push_back(table.cell(row, part));
      cells.insert(cells.end(), {direction.word, number_type_word(table.cell(row, type)),
                                 number_text(positive_number(table, row, column) * 1e3)});
      result.rows.push_back(std::move(cells));
    }
  }
  note_count(result, table.label(), uneven, "rows with two strides or paddings left out");
  return result;
}

// Its rows stand in the order in which they were timed, and its host took ever longer to launch.
Measurements from_neusight(const Table& table, const ConvertSettings&) {
  Measurements result{.columns = kShapeColumns, .rows = {}, .notes = {}};
  result.columns.insert(result.columns.end(),
                        {"direction", "type", "kernel_name", "progress", "time_us"});
  const std::size_t width = table.require("Input_Size");
  const std::size_t filter = table.require("Kernel_Szie");  // as its header has it
  const std::array shape{table.require("B"),
                         table.require("Input_Channel"),
                         width,
                         width,
                         table.require("Output_Channel"),
                         filter,
                         filter,
                         table.require("Stride"),
                         table.require("Padding")};
  const std::size_t kernel = table.require("Kernel Name"), time = table.require("Latency");
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    std::vector<std::string> cells;
    cells.reserve(result.columns.size());
    for (const std::size_t part : shape)
      cells.push_back(table.cell(row, part));
    const double progress = static_cast<double>(row) / static_cast<double>(table.row_count());
    cells.insert(cells.end(),
                 {"forward", "f32", table.cell(row, kernel), fmt::format("{:.4g}", progress),
                  number_text(positive_number(table, row, time) * 1e3)});
    result.rows.push_back(std::move(cells));
  }
  return result;
}

// Adds a layer of SEER's, `more` behind it.
void add_layer(Measurements& result, const SeerLayer& layer, std::vector<std::string> more) {
  std::vector<std::string>& cells = result.rows.emplace_back();
  for (const std::int64_t value :
       {layer.batch, layer.in_channels, layer.in_width, layer.in_width, layer.out_channels,
        layer.filter_width, layer.filter_width, layer.stride, layer.padding}) {
    cells.push_back(fmt::format("{}", value));
  }
  cells.insert(cells.end(), {"forward", "f32"});
  std::ranges::move(more, std::back_inserter(cells));
}

Measurements seer_measurements(std::initializer_list<const char*> more) {
  Measurements result{.columns = kShapeColumns, .rows = {}, .notes = {}};
  result.columns.insert(result.columns.end(), {"direction", "type"});
  result.columns.insert(result.columns.end(), more.begin(), more.end());
  return result;
}

// SEER's 18 columns for one kernel variant, or its 10 columns of whole calls.
Measurements from_seer(const Table& table, const ConvertSettings&) {
  Measurements result = seer_measurements({"algo", "time_us"});
  const auto add = [&](const SeerLayer& layer, std::int64_t algorithm, double time_ms) {
    add_layer(result, layer, {fmt::format("{}", algorithm), number_text(time_ms * 1e3)});
  };
  if (table.find("inst_fp_32") && table.find("block_max")) {
    for (const SeerSample& sample : read_seer_samples(table))
      add(sample.layer, sample.algorithm, sample.time_ms);
  } else {
    for (const SeerTimedLayer& timed : read_seer_timed_layers(table))
      add(timed.layer, timed.algorithm, timed.value);
  }
  return result;
}

// Test-set-II.txt has nothing but digits, signs and blanks, and a count in its first line.
bool is_layer_list(std::string_view text) {
  const auto lines = text_lines(text);
  return !lines.empty() && words(lines[0].text).size() == 1 && number_of(words(lines[0].text)[0]);
}

Measurements from_layer_list(const std::string& text, const std::string& label,
                             const ConvertSettings&) {
  Measurements result = seer_measurements({});
  for (const SeerLayer& layer : read_seer_layer_list(text, label))
    add_layer(result, layer, {});
  result.notes.push_back(fmt::format("{}: layers without times", label));
  return result;
}

}  // namespace

KindSources conv_sources() {
  return {.kind = "conv",
          .logs = {{"SEER Test-set-II.txt", is_layer_list, from_layer_list}},
          .tables = {{"DeepBench conv",
                      {"precision", "r_filter_h", "s_filter_w", "fwd_ms", "bwd_inputs_ms"},
                      from_deepbench},
                     {"NeuSight conv",
                      {"Latency", "Kernel Name", "Input_Channel", "Kernel_Szie", "Padding"},
                      from_neusight},
                     {"SEER",
                      {"batch_size", "in_chan", "in_wid", "out_chan", "algo", "time_ms",
                       "inst_fp_32", "block_max"},
                      from_seer},
                     {"SEER calls",
                      {"batch_size", "in_chan", "in_wid", "out_chan", "algo", "time_ms"},
                      from_seer}}};
}

}  // namespace inline_prof::read
