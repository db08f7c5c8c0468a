#include "read/param_log.hpp"

#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

namespace inline_prof::read {
namespace {

constexpr std::string_view kMark = "COMMS-RES";
constexpr double kLogBandwidthOffset = 4e-4;  // GB/s, as the original adds

// Longer words first: "all_to_allv" begins with "all_to_all".
constexpr std::array<std::string_view, 12> kCollectives{
    "all_gather_base", "all_to_allv", "all_to_all", "all_reduce", "all_gather", "reduce_scatter",
    "broadcast",       "gather",      "scatter",    "reduce",     "pt2pt",      "multicast"};

constexpr std::array<std::string_view, 12> kTypes{"float32", "float16", "float64", "bfloat16",
                                                  "int32",   "int64",   "int16",   "uint8",
                                                  "int8",    "double",  "half",    "float"};

struct MarkedLine {
  std::size_t number = 0;
  std::vector<std::string_view> words;
};

std::vector<MarkedLine> marked_lines(std::string_view text) {
  std::vector<MarkedLine> lines;
  for (const TextLine& line : text_lines(text)) {
    const std::size_t start = line.text.find(kMark);
    if (start != std::string_view::npos) {
      lines.push_back({.number = line.number, .words = words(line.text.substr(start))});
    }
  }
  return lines;
}

// The names of the columns, without the mark.  Some hold blanks: "size (B)", and in quantised runs
// "P95 Latency(us): Quant".
std::vector<std::string> column_names(const std::vector<std::string_view>& found) {
  std::vector<std::string> names;
  bool joins_next = false;
  for (std::size_t i = 1; i < found.size(); ++i) {
    const bool joins_last =
        joins_next || found[i].starts_with('(') || (!names.empty() && names.back() == "P95");
    if (joins_last && !names.empty()) {
      names.back() += fmt::format(" {}", found[i]);
    } else {
      names.emplace_back(found[i]);
    }
    joins_next = found[i].ends_with(':');
  }
  return names;
}

bool is_header(const MarkedLine& line) {
  return line.words.size() > 1 && !number_of(line.words[1]);
}

// "COMMS-RES-all_reduce-float32_tag" gives the collective and the type.
void take_mark(std::string_view word, ParamLog& log) {
  if (word.size() <= kMark.size() + 1) return;
  word.remove_prefix(kMark.size() + 1);
  const auto* const collective = std::ranges::find_if(
      kCollectives, [&](std::string_view name) { return word.starts_with(name); });
  if (collective == kCollectives.end()) return;
  log.collective = *collective == "pt2pt" ? "sendrecv" : *collective;
  word.remove_prefix(collective->size());
  if (!word.starts_with('-')) return;
  word.remove_prefix(1);
  const auto* const type =
      std::ranges::find_if(kTypes, [&](std::string_view name) { return word.starts_with(name); });
  if (type != kTypes.end()) log.type = *type;
}

// "general_all_to_allv_4.txt" gives all_to_allv on 4 ranks.
void take_file_name(const std::string& label, ParamLog& log) {
  std::string stem = std::filesystem::path(label).stem().string();
  const auto* const collective = std::ranges::find_if(
      kCollectives, [&](std::string_view name) { return stem.find(name) != std::string::npos; });
  if (collective == kCollectives.end()) return;
  if (log.collective.empty()) log.collective = *collective;
  std::string_view rest = std::string_view(stem).substr(stem.find(*collective));
  rest.remove_prefix(collective->size());
  if (!rest.starts_with('_')) return;
  std::int64_t ranks = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), ranks);
  if (error == std::errc{} && ranks > 0) log.ranks = ranks;
}

// The place of a number, for complaints.
struct Cell {
  std::string_view word;
  const std::string& label;
  std::size_t line;
  std::string_view column;
};

// The mean of "115.8983-192.2113-745.2365", a number for each rank; or one number.
double number_in(Cell cell, bool is_of_each_rank) {
  double sum = 0.0, count = 0.0;
  std::string_view rest = cell.word;
  while (true) {
    const std::size_t dash = is_of_each_rank ? rest.find('-') : rest.npos;
    const auto value = number_of(rest.substr(0, dash));
    if (!value || !(is_of_each_rank || *value >= 0)) {
      fail_at_cell(
          cell.label, cell.line, cell.column,
          is_of_each_rank
              ? fmt::format("expected numbers with dashes between them, found \"{}\"", rest)
              : fmt::format("expected a number >= 0, found \"{}\"", cell.word));
    }
    sum += *value;
    count += 1;
    if (dash == rest.npos) return sum / count;
    rest.remove_prefix(dash + 1);
  }
}

// The names of a row's numbers, and their places, counted from the first word behind the mark.
struct Layout {
  std::vector<std::string> names;
  std::optional<std::size_t> bytes, time, algorithm, bus;
  bool is_exchange = false, is_point_to_point = false;

  // The first column that ends with one of these, in this order.
  [[nodiscard]] std::optional<std::size_t> find(
      std::initializer_list<std::string_view> endings) const {
    for (const std::string_view ending : endings) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].ends_with(ending) && !names[i].starts_with("TotalTime")) return i;
      }
    }
    return std::nullopt;
  }
};

Layout layout_of(const MarkedLine& header, const std::string& label) {
  Layout layout;
  layout.names = column_names(header.words);
  layout.is_exchange = layout.find({"B-T-D"}).has_value();
  layout.is_point_to_point = layout.find({"avgUniBW(GB/s)"}).has_value();
  layout.bytes = layout.find({"size (B)", "size(B)", "size"});
  // Quantised runs name no median: their last column is the whole time.
  layout.time = layout.find({"ency(us):p50", ":p50", "Overall", "overall"});
  layout.algorithm = layout.find({"avgUniBW(GB/s)", "AlgBW(GB/s)", "algBW(GB/s)"});
  layout.bus = layout.find({"BusBW(GB/s)", "busBW(GB/s)"});
  if (!layout.bytes || !layout.time) {
    fail_at_line(label, header.number, "expected columns for a size and a median time (p50)");
  }
  return layout;
}

ParamRow row_of(const Layout& layout, const MarkedLine& line, const std::string& label) {
  if (line.words.size() - 1 != layout.names.size()) {
    fail_at_line(label, line.number,
                 fmt::format("expected {} values behind {}, found {}", layout.names.size(),
                             line.words[0], line.words.size() - 1));
  }
  const auto number = [&](std::size_t column, bool is_of_each_rank) {
    return number_in({line.words[column + 1], label, line.number, layout.names[column]},
                     is_of_each_rank);
  };
  ParamRow row;
  row.bytes = number(*layout.bytes, false);
  row.time_us = number(*layout.time, layout.is_exchange);
  if (layout.algorithm) row.algorithm_gb_per_s = number(*layout.algorithm, layout.is_exchange);
  if (layout.bus) row.bus_gb_per_s = number(*layout.bus, layout.is_exchange);
  return row;
}

// Throws InputError where there are none.
std::vector<MarkedLine> lines_of_param(const std::string& text, const std::string& label) {
  std::vector<MarkedLine> lines = marked_lines(text);
  if (lines.empty()) {
    throw InputError(fmt::format("{}: no line with {}: not a log of PARAM", label, kMark));
  }
  return lines;
}

}  // namespace

ParamLog parse_param_log(const std::string& text, const std::string& label) {
  ParamLog log;
  std::optional<Layout> layout;
  for (const MarkedLine& line : lines_of_param(text, label)) {
    if (is_header(line)) {
      layout = layout_of(line, label);
      if (layout->is_point_to_point) log.collective = "sendrecv";
      continue;
    }
    if (!layout) fail_at_line(label, line.number, "a row before the line that names the columns");
    take_mark(line.words[0], log);
    log.rows.push_back(row_of(*layout, line, label));
  }
  take_file_name(label, log);
  return log;
}

std::vector<OriginalParamRow> original_param_rows(const std::string& text,
                                                  const std::string& label) {
  const std::vector<MarkedLine> lines = lines_of_param(text, label);
  const bool is_exchange = std::ranges::find(lines[0].words, "B-T-D") != lines[0].words.end();
  constexpr std::size_t least_words = 5;
  std::vector<OriginalParamRow> rows;
  for (std::size_t i = is_exchange ? 1 : 3; i < lines.size(); ++i) {
    const std::vector<std::string_view>& found = lines[i].words;
    if (found.size() < least_words) {
      fail_at_line(label, lines[i].number,
                   fmt::format("expected at least {} words, found {}", least_words, found.size()));
    }
    const auto value = [&](std::size_t place, std::string_view column) {
      return number_in({found[place], label, lines[i].number, column},
                       is_exchange && column != "size");
    };
    rows.push_back({.exchange = is_exchange ? std::string(found[2]) : "",
                    .bytes = value(1, "size"),
                    .latency_us = value(3, "latency"),
                    .algorithm_gb_per_s = value(found.size() - 2, "algBW") + kLogBandwidthOffset,
                    .bus_gb_per_s = value(found.size() - 1, "busBW") + kLogBandwidthOffset});
  }
  return rows;
}

}  // namespace inline_prof::read
