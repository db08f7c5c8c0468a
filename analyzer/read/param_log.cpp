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

// Mean of "115.8983-192.2113-745.2365", a number for each rank.
double mean_over_ranks(std::string_view word, const std::string& label, std::size_t line,
                       std::string_view column) {
  double sum = 0.0;
  double count = 0.0;
  while (true) {
    const std::size_t dash = word.find('-');
    const auto value = number_of(word.substr(0, dash));
    if (!value) {
      fail_at_cell(label, line, column,
                   fmt::format("expected numbers with dashes between them, found \"{}\"", word));
    }
    sum += *value;
    count += 1;
    if (dash == std::string_view::npos) return sum / count;
    word.remove_prefix(dash + 1);
  }
}

double positive(std::string_view word, const std::string& label, std::size_t line,
                std::string_view column) {
  const auto value = number_of(word);
  if (!value || !(*value >= 0)) {
    fail_at_cell(label, line, column, fmt::format("expected a number >= 0, found \"{}\"", word));
  }
  return *value;
}

// The places of a row's numbers, counted from the first word behind the mark.
class Columns {
 public:
  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {}

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // The first column that ends with one of these, in this order.
  [[nodiscard]] std::optional<std::size_t> find(
      std::initializer_list<std::string_view> endings) const {
    for (const std::string_view ending : endings) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i].ends_with(ending) && !names_[i].starts_with("TotalTime")) return i;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> names_;
};

class RowParser {
 public:
  RowParser(const std::string& label, const MarkedLine& header)
      : label_(label),
        columns_(column_names(header.words)),
        is_exchange_(columns_.find({"B-T-D"}).has_value()) {
    bytes_ = columns_.find({"size (B)", "size(B)", "size"});
    // Quantised runs name no median: their last column is the whole time.
    time_ = columns_.find({"ency(us):p50", ":p50", "Overall", "overall"});
    algorithm_ = columns_.find({"avgUniBW(GB/s)", "AlgBW(GB/s)", "algBW(GB/s)"});
    bus_ = columns_.find({"BusBW(GB/s)", "busBW(GB/s)"});
    if (!bytes_ || !time_) {
      fail_at_line(label, header.number, "expected columns for a size and a median time (p50)");
    }
    is_point_to_point_ = columns_.find({"avgUniBW(GB/s)"}).has_value();
  }

  [[nodiscard]] bool is_point_to_point() const { return is_point_to_point_; }

  [[nodiscard]] ParamRow parse(const MarkedLine& line) const {
    const auto& names = columns_.names();
    if (line.words.size() - 1 != names.size()) {
      fail_at_line(label_, line.number,
                   fmt::format("expected {} values behind {}, found {}", names.size(),
                               line.words[0], line.words.size() - 1));
    }
    ParamRow row;
    row.bytes = positive(line.words[*bytes_ + 1], label_, line.number, names[*bytes_]);
    row.time_us = value(line, *time_);
    if (algorithm_) row.algorithm_gb_per_s = value(line, *algorithm_);
    if (bus_) row.bus_gb_per_s = value(line, *bus_);
    return row;
  }

 private:
  [[nodiscard]] double value(const MarkedLine& line, std::size_t column) const {
    const std::string_view word = line.words[column + 1];
    const std::string& name = columns_.names()[column];
    return is_exchange_ ? mean_over_ranks(word, label_, line.number, name)
                        : positive(word, label_, line.number, name);
  }

  const std::string& label_;
  Columns columns_;
  bool is_exchange_;
  std::optional<std::size_t> bytes_;
  std::optional<std::size_t> time_;
  std::optional<std::size_t> algorithm_;
  std::optional<std::size_t> bus_;
  bool is_point_to_point_ = false;
};

}  // namespace

ParamLog parse_param_log(const std::string& text, const std::string& label) {
  ParamLog log;
  std::optional<RowParser> parser;
  for (const MarkedLine& line : marked_lines(text)) {
    if (is_header(line)) {
      parser.emplace(label, line);
      if (parser->is_point_to_point()) log.collective = "sendrecv";
      continue;
    }
    if (!parser) fail_at_line(label, line.number, "a row before the line that names the columns");
    take_mark(line.words[0], log);
    log.rows.push_back(parser->parse(line));
  }
  if (!parser) {
    throw InputError(fmt::format("{}: no line with {}: not a log of PARAM", label, kMark));
  }
  take_file_name(label, log);
  return log;
}

std::vector<OriginalParamRow> original_param_rows(const std::string& text,
                                                  const std::string& label) {
  const std::vector<MarkedLine> lines = marked_lines(text);
  if (lines.empty()) {
    throw InputError(fmt::format("{}: no line with {}: not a log of PARAM", label, kMark));
  }
  const bool is_exchange = std::ranges::find(lines[0].words, "B-T-D") != lines[0].words.end();
  constexpr std::size_t least_words = 5;
  std::vector<OriginalParamRow> rows;
  for (std::size_t i = is_exchange ? 1 : 3; i < lines.size(); ++i) {
    const std::size_t number = lines[i].number;
    const std::vector<std::string_view>& found = lines[i].words;
    if (found.size() < least_words) {
      fail_at_line(label, number,
                   fmt::format("expected at least {} words, found {}", least_words, found.size()));
    }
    const auto value = [&](std::size_t place, std::string_view column) {
      return is_exchange ? mean_over_ranks(found[place], label, number, column)
                         : positive(found[place], label, number, column);
    };
    OriginalParamRow row;
    if (is_exchange) row.exchange = found[2];
    row.bytes = positive(found[1], label, number, "size");
    row.latency_us = value(3, "latency");
    row.algorithm_gb_per_s = value(found.size() - 2, "algBW") + kLogBandwidthOffset;
    row.bus_gb_per_s = value(found.size() - 1, "busBW") + kLogBandwidthOffset;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace inline_prof::read
