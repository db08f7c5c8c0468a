#include "read/seer_tables.hpp"

#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>

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

// Returns what `read` makes of each row of a table with so many columns.
template <typename Read>
auto read_rows(const Table& table, std::size_t least, std::size_t most, Read&& read) {
  expect_columns(table, least, most);
  std::vector<decltype(read(std::size_t{}))> rows;
  rows.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row)
    rows.push_back(read(row));
  return rows;
}

}  // namespace

std::int64_t seer_out_width(const SeerLayer& layer) {
  const std::int64_t room = layer.in_width + 2 * layer.padding - layer.filter_width;
  return room < 0 ? 0 : 1 + room / layer.stride;
}

std::vector<SeerSample> read_seer_samples(const Table& table) {
  return read_rows(table, 18, 19, [&](std::size_t row) {
    return SeerSample{
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
  });
}

std::vector<SeerTimedLayer> read_seer_timed_layers(const Table& table) {
  return read_rows(table, 10, 10, [&](std::size_t row) {
    return SeerTimedLayer{.layer = read_convolution(table, row),
                          .algorithm = integer_in(table, row, 8, kAlgorithms),
                          .value = number_in(table, row, 9, {0, 1e12})};
  });
}

std::vector<SeerPickRow> read_seer_picks(const Table& table) {
  return read_rows(table, 18, 18, [&](std::size_t row) {
    SeerPickRow pick;
    pick.layer = read_convolution(table, row);
    for (std::size_t i = 0; i < pick.time_ms.size(); ++i)
      pick.time_ms[i] = table.number(row, 8 + i);
    pick.best = integer_in(table, row, 16, kAlgorithms);
    pick.cudnn_pick = integer_in(table, row, 17, kAlgorithms);
    if (!(pick.time_ms[static_cast<std::size_t>(pick.best)] > 0)) {
      table.fail(row, 16, fmt::format("algorithm {} has no time in this row", pick.best));
    }
    return pick;
  });
}

std::vector<SeerOperatorRow> read_seer_operator(const Table& table, std::size_t value_count) {
  constexpr std::size_t layer_columns = 8;
  const std::size_t columns = layer_columns + value_count;
  return read_rows(table, columns, columns, [&](std::size_t row) {
    SeerOperatorRow read{.layer = read_layer(table, row), .values = {}};
    for (std::size_t i = layer_columns; i < columns; ++i)
      read.values.push_back(table.number(row, i));
    return read;
  });
}

std::vector<SeerLayer> read_seer_layers(const Table& table) {
  return read_rows(table, 8, 1000, [&](std::size_t row) { return read_convolution(table, row); });
}

std::vector<SeerLayer> read_seer_layer_list(std::string_view text, const std::string& label) {
  const auto numbers_of = [&](const TextLine& line) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view word : words(line.text)) {
      const auto value = number_of<std::int64_t>(word);
      if (!value) {
        fail_at_line(label, line.number,
                     fmt::format("number {}: expected an integer, found \"{}\"", numbers.size() + 1,
                                 word.substr(0, 40)));
      }
      numbers.push_back(*value);
    }
    return numbers;
  };
  std::vector<TextLine> lines = text_lines(text);
  while (!lines.empty() && words(lines.back().text).empty())
    lines.pop_back();
  const std::vector<std::int64_t> head =
      lines.empty() ? std::vector<std::int64_t>{} : numbers_of(lines.front());
  if (head.size() != 1 || head[0] < 0) fail_at_line(label, 1, "expected the number of layers");
  std::vector<SeerLayer> layers;
  for (const TextLine& line : std::span(lines).subspan(1)) {
    const std::vector<std::int64_t> n = numbers_of(line);
    const auto fail = [&](const std::string& what) { fail_at_line(label, line.number, what); };
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
    fail_at_line(label, 1, fmt::format("says {} layers, the file has {}", head[0], layers.size()));
  }
  return layers;
}

}  // namespace inline_prof::read
