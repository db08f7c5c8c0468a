#include "read/seer_tables.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace inline_prof::read {
namespace {

// Sizes above this are no layer that anybody ran, but bytes or a table of another kind; below it
// their products of two fit into 64 bits.
constexpr double kMostSize = 1e9;

struct Range {
  double least;
  double most;
};

double number_in(const Table& table, std::size_t row, std::size_t column, Range range) {
  const double value = table.number(row, column);
  if (value < range.least || value > range.most) {
    table.fail(row, column,
               fmt::format("expected {:g} to {:g}, found {:g}", range.least, range.most, value));
  }
  return value;
}

std::int64_t integer_in(const Table& table, std::size_t row, std::size_t column, Range range) {
  const double value = number_in(table, row, column, range);
  if (value != std::floor(value)) {
    table.fail(row, column, fmt::format("expected an integer, found {:g}", value));
  }
  return static_cast<std::int64_t>(value);
}

double positive(const Table& table, std::size_t row, std::size_t column) {
  const double value = table.number(row, column);
  if (!(value > 0)) table.fail(row, column, fmt::format("expected more than 0, found {:g}", value));
  return value;
}

SeerLayer read_layer(const Table& table, std::size_t row) {
  const auto size = [&](std::size_t column) {
    return integer_in(table, row, column, {1, kMostSize});
  };
  return {.batch = size(0),
          .in_channels = size(1),
          .in_width = size(2),
          .out_channels = size(3),
          .out_width = size(4),
          .filter_width = size(5),
          .stride = size(6),
          .padding = integer_in(table, row, 7, {0, kMostSize})};
}

// A layer of a convolution, in which Wo follows from the rest.
SeerLayer read_convolution(const Table& table, std::size_t row) {
  const SeerLayer layer = read_layer(table, row);
  const std::int64_t expected = seer_out_width(layer);
  if (layer.out_width != expected) {
    table.fail(row, 4,
               fmt::format("expected {} from the input, filter, stride and padding, found {}",
                           expected, layer.out_width));
  }
  return layer;
}

void expect_columns(const Table& table, std::size_t least, std::size_t most) {
  const std::size_t count = table.columns().size();
  if (count >= least && count <= most) return;
  throw InputError(
      fmt::format("{}: line 1: {} columns, expected {}", table.label(), count,
                  least == most ? std::to_string(least) : fmt::format("{} to {}", least, most)));
}

constexpr Range kAlgorithms = {0, 7};
constexpr Range kCounts = {0, 1e18};
constexpr Range kLevels = {0, 10};  // nvprof's *_utilization

}  // namespace

std::int64_t seer_out_width(const SeerLayer& layer) {
  const std::int64_t room = layer.in_width + 2 * layer.padding - layer.filter_width;
  return room < 0 ? 0 : 1 + room / layer.stride;
}

std::vector<SeerSample> read_seer_samples(const Table& table) {
  expect_columns(table, 18, 19);
  std::vector<SeerSample> samples;
  samples.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    SeerSample sample{
        .layer = read_convolution(table, row),
        .algorithm = integer_in(table, row, 8, kAlgorithms),
        .time_ms = positive(table, row, 9),
        .fp32_instructions = number_in(table, row, 10, kCounts),
        .dram_reads = number_in(table, row, 11, kCounts),
        .dram_writes = number_in(table, row, 12, kCounts),
        .resident_blocks = integer_in(table, row, 13, {1, kMostSize}),
        .blocks = integer_in(table, row, 14, {1, 1e15}),
        .fp32_utilisation = number_in(table, row, 16, kLevels),
        .dram_utilisation = number_in(table, row, 17, kLevels),
    };
    samples.push_back(sample);
  }
  return samples;
}

std::vector<SeerTimedLayer> read_seer_timed_layers(const Table& table) {
  expect_columns(table, 10, 10);
  std::vector<SeerTimedLayer> rows;
  rows.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    rows.push_back({.layer = read_convolution(table, row),
                    .algorithm = integer_in(table, row, 8, kAlgorithms),
                    .value = number_in(table, row, 9, {0, 1e12})});
  }
  return rows;
}

std::vector<SeerPickRow> read_seer_picks(const Table& table) {
  expect_columns(table, 18, 18);
  std::vector<SeerPickRow> rows;
  rows.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    SeerPickRow pick;
    pick.layer = read_convolution(table, row);
    for (std::size_t i = 0; i < pick.time_ms.size(); ++i) {
      pick.time_ms[i] = table.number(row, 8 + i);
    }
    pick.best = integer_in(table, row, 16, kAlgorithms);
    pick.cudnn_pick = integer_in(table, row, 17, kAlgorithms);
    if (!(pick.time_ms[static_cast<std::size_t>(pick.best)] > 0)) {
      table.fail(row, 16, fmt::format("algorithm {} has no time in this row", pick.best));
    }
    rows.push_back(pick);
  }
  return rows;
}

std::vector<SeerOperatorRow> read_seer_operator(const Table& table, std::size_t value_count) {
  constexpr std::size_t layer_columns = 8;
  expect_columns(table, layer_columns + value_count, layer_columns + value_count);
  std::vector<SeerOperatorRow> rows;
  rows.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    SeerOperatorRow read{.layer = read_layer(table, row), .values = {}};
    for (std::size_t i = 0; i < value_count; ++i) {
      read.values.push_back(table.number(row, layer_columns + i));
    }
    rows.push_back(std::move(read));
  }
  return rows;
}

std::vector<SeerLayer> read_seer_layers(const Table& table) {
  expect_columns(table, 8, 1000);
  std::vector<SeerLayer> layers;
  layers.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    layers.push_back(read_convolution(table, row));
  }
  return layers;
}

std::vector<SeerLayer> read_seer_layer_list(std::string_view text, const std::string& label) {
  std::size_t line = 0;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: line {}: {}", label, line, what));
  };
  // The integers of the next line.
  const auto next_line = [&]() {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::vector<std::int64_t> numbers;
    while (true) {
      const std::size_t start = rest.find_first_not_of(" \t\r");
      if (start == std::string_view::npos) return numbers;
      rest.remove_prefix(start);
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
      std::int64_t value = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc{} || stop != word.data() + word.size()) {
        fail(fmt::format("number {}: expected an integer, found \"{}\"", numbers.size() + 1,
                         word.substr(0, 40)));
      }
      numbers.push_back(value);
      rest.remove_prefix(word.size());
    }
  };

  const std::vector<std::int64_t> head = next_line();
  if (head.size() != 1 || head[0] < 0) fail("expected the number of layers");
  std::vector<SeerLayer> layers;
  while (!text.empty()) {
    const std::vector<std::int64_t> n = next_line();
    if (n.empty() && text.find_first_not_of(" \t\r\n") == std::string_view::npos) break;
    if (n.size() != 8) fail(fmt::format("expected 8 integers, found {}", n.size()));
    for (std::size_t i = 0; i < n.size(); ++i) {
      const std::int64_t least = i == 7 ? 0 : 1;
      if (n[i] < least || n[i] > static_cast<std::int64_t>(kMostSize)) {
        fail(
            fmt::format("number {}: expected {} to {:g}, found {}", i + 1, least, kMostSize, n[i]));
      }
    }
    layers.push_back({n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]});
    if (layers.back().out_width != seer_out_width(layers.back())) {
      fail(fmt::format("number 5: expected {} from the input, filter, stride and padding, found {}",
                       seer_out_width(layers.back()), n[4]));
    }
  }
  if (layers.size() != static_cast<std::size_t>(head[0])) {
    line = 1;
    fail(fmt::format("says {} layers, the file has {}", head[0], layers.size()));
  }
  return layers;
}

}  // namespace inline_prof::read
