// Tables of collectives: samples for fits over all sizes and ranks ("collective"), and curves as
// the published model wants them ("collective_curve").
#include "read/measurements/source.hpp"
#include "read/nccl_tests_log.hpp"
#include "read/param_log.hpp"
#include "read/text_lines.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace inline_prof::read {
namespace {

constexpr double kBandwidthOffset = 4e-4;  // GB/s; the published curves add so much to each

struct Sample {
  std::string op;
  std::int64_t ranks = 0;
  double bytes = 0.0;
  std::string type;
  double time_us = 0.0;
  double algorithm_gb_per_s = 0.0;  // as the source has it
  double bus_gb_per_s = 0.0;
};

// Rows of one file, in the place of a table's; `table` has the notes.
struct Samples {
  std::string label;
  std::vector<Sample> samples = {};
  Measurements table = {};
};

std::string operation_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name == "alltoall" ? "all_to_all" : name == "alltoallv" ? "all_to_allv" : name;
}

// The ranks that --set says, else those that the file does.
std::int64_t ranks_or(const ConvertSettings& settings, std::int64_t found,
                      const std::string& label) {
  const std::string text = setting_or(settings, "num_gpus", "");
  if (text.empty()) {
    if (found > 0) return found;
    throw InputError(
        fmt::format("{}: does not say how many GPUs took part: --set num_gpus=8", label));
  }
  const auto ranks = number_of<std::int64_t>(text);
  if (!ranks || *ranks < 1)
    throw std::invalid_argument(fmt::format("num_gpus: expected an integer >= 1, found {}", text));
  return *ranks;
}

std::string op_or(const ConvertSettings& settings, const std::string& found,
                  const std::string& label) {
  std::string op = operation_name(setting_or(settings, "op", found));
  if (op.empty()) {
    throw InputError(
        fmt::format("{}: does not say which collective this is: --set op=all_reduce", label));
  }
  return op;
}

// --- nccl-tests ---

bool is_nccl_tests(std::string_view text) {
  return text.find("# nccl-tests version") != std::string_view::npos ||
         text.find("# nThread") != std::string_view::npos ||
         (text.starts_with('{') && text.find("\"out_of_place\"") != std::string_view::npos);
}

// Returns the collective that "all_reduce_perf" in a file's name or a command stands for, for logs
// that do not say it.
std::string name_in(std::string_view text) {
  const std::size_t end = text.find("_perf");
  if (end == std::string_view::npos) return "";
  const std::size_t before = text.find_last_not_of("abcdefghijklmnopqrstuvwxyz_", end - 1);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return std::string(text.substr(start, end - start));
}

Samples nccl_samples(const std::string& text, const std::string& label,
                     const ConvertSettings& settings) {
  const bool is_in_place = setting_or(settings, "place", "out") == "in";
  Samples result{label};
  std::size_t wrong = 0, absent = 0;
  for (const NcclTest& test : parse_nccl_tests(text, label)) {
    std::string name = test.name;
    if (name.empty()) name = name_in(text);
    if (name.empty()) name = name_in(label);
    const std::string op = op_or(settings, name, label);
    const std::int64_t ranks = ranks_or(settings, test.ranks, label);
    for (const NcclRow& row : test.rows) {
      const NcclTiming* timing = &row.out_of_place;
      if (is_in_place) timing = row.in_place ? &*row.in_place : nullptr;
      if (timing == nullptr || !(timing->time_us > 0)) {
        ++absent;
      } else if (timing->wrong.value_or(0) >= 1) {  // below 1: the largest deviation, not a count
        ++wrong;
      } else {
        result.samples.push_back({.op = op,
                                  .ranks = ranks,
                                  .bytes = row.bytes,
                                  .type = number_type_word(row.type),
                                  .time_us = timing->time_us,
                                  .algorithm_gb_per_s = timing->algorithm_gb_per_s,
                                  .bus_gb_per_s = timing->bus_gb_per_s});
      }
    }
  }
  note_count(result.table, label, wrong, "rows with wrong results left out");
  note_count(result.table, label, absent, "rows without a time left out");
  return result;
}

// --- PARAM ---

bool is_param(std::string_view text) {
  return text.find("COMMS-RES") != std::string_view::npos;
}

Samples param_samples(const std::string& text, const std::string& label,
                      const ConvertSettings& settings) {
  const ParamLog log = parse_param_log(text, label);
  const std::string op = op_or(settings, log.collective, label);
  const std::int64_t ranks = ranks_or(settings, log.ranks, label);
  Samples result{label};
  for (const ParamRow& row : log.rows) {
    result.samples.push_back({.op = op,
                              .ranks = ranks,
                              .bytes = row.bytes,
                              .type = number_type_word(log.type),
                              .time_us = row.time_us,
                              .algorithm_gb_per_s = row.algorithm_gb_per_s.value_or(0.0),
                              .bus_gb_per_s = row.bus_gb_per_s.value_or(0.0)});
  }
  return result;
}

// --- tables ---

std::int64_t rank_count(const Table& table, std::size_t row, std::size_t column) {
  constexpr double most = 1e9;
  const double count = positive_number(table, row, column);
  if (count != std::floor(count) || count > most) {
    table.fail(row, column,
               fmt::format("expected an integer from 1 to {:g}, found {:g}", most, count));
  }
  return static_cast<std::int64_t>(count);
}

Samples xla_samples(const Table& table, const ConvertSettings&) {
  const std::size_t op = table.require("opcode"), type = table.require("element_type");
  const std::size_t bytes = table.require("tensor_bytes"), time = table.require("time_us");
  const std::size_t ranks = table.require("devices_per_group");
  const std::size_t algorithm = table.require("algbw_gbps"), bus = table.require("busbw_gbps");
  Samples result{table.label()};
  std::size_t permutes = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.cell(row, ranks).empty()) {  // collective-permute: pairs, no group
      ++permutes;
      continue;
    }
    result.samples.push_back({.op = operation_name(table.cell(row, op)),
                              .ranks = rank_count(table, row, ranks),
                              .bytes = positive_number(table, row, bytes),
                              .type = number_type_word(table.cell(row, type)),
                              .time_us = positive_number(table, row, time),
                              .algorithm_gb_per_s = table.number(row, algorithm),
                              .bus_gb_per_s = table.number(row, bus)});
  }
  note_count(result.table, table.label(), permutes, "rows of collective-permute left out");
  return result;
}

// aiconfigurator's nccl_perf counts elements and has milliseconds.
Samples aiconfigurator_samples(const Table& table, const ConvertSettings&) {
  const std::size_t op = table.require("op_name"), type = table.require("nccl_dtype");
  const std::size_t ranks = table.require("num_gpus"), elements = table.require("message_size");
  const std::size_t time = table.require("latency");
  Samples result{table.label()};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string word = number_type_word(table.cell(row, type));
    const auto width = number_type_bytes(word);
    if (!width) table.fail(row, type, fmt::format("unknown number type {}", word));
    result.samples.push_back({.op = operation_name(table.cell(row, op)),
                              .ranks = rank_count(table, row, ranks),
                              .bytes = positive_number(table, row, elements) * *width,
                              .type = word,
                              .time_us = positive_number(table, row, time) * 1e3,
                              .algorithm_gb_per_s = 0.0,
                              .bus_gb_per_s = 0.0});
  }
  return result;
}

// --- the two kinds ---

Measurements as_samples(Samples samples) {
  Measurements result = std::move(samples.table);
  result.columns = {"op", "num_gpus", "bytes", "type", "time_us"};
  std::size_t empty = 0;
  for (const Sample& sample : samples.samples) {
    if (!(sample.bytes > 0)) {
      ++empty;
      continue;
    }
    result.rows.push_back({sample.op, fmt::format("{}", sample.ranks), number_text(sample.bytes),
                           sample.type, number_text(sample.time_us)});
  }
  note_count(result, samples.label, empty,
             "rows of 0 bytes left out: counts are rounded down to 16 bytes a rank");
  return result;
}

const std::vector<std::string> kCurveColumns{"curve",         "collective", "num_gpus",
                                             "size_bytes",    "latency_us", "algbw_gbps_eps",
                                             "busbw_gbps_eps"};

// Rows of 0 bytes stay: the turning points of a curve are counted in rows.
Measurements as_curves(Samples samples) {
  Measurements result = std::move(samples.table);
  result.columns = kCurveColumns;
  for (const Sample& sample : samples.samples) {
    result.rows.push_back({fmt::format("{}_{}", sample.op, sample.ranks), sample.op,
                           fmt::format("{}", sample.ranks), number_text(sample.bytes),
                           number_text(sample.time_us),
                           number_text(sample.algorithm_gb_per_s + kBandwidthOffset),
                           number_text(sample.bus_gb_per_s + kBandwidthOffset)});
  }
  return result;
}

// A source's rows as one of the two kinds.
template <auto kRead, auto kMake, typename... Source>
Measurements converted(const Source&... source) {
  return kMake(kRead(source...));
}

// The rows that the published model's own reader keeps, with what it makes of them.
Measurements curves_of_param(const std::string& text, const std::string& label,
                             const ConvertSettings& settings) {
  const ParamLog log = parse_param_log(text, label);
  const std::string op = op_or(settings, log.collective, label);
  const std::string ranks = fmt::format("{}", ranks_or(settings, log.ranks, label));
  Measurements result{.columns = kCurveColumns, .rows = {}, .notes = {}};
  const auto rows = original_param_rows(text, label);
  const bool is_exchange = !rows.empty() && !rows[0].exchange.empty();
  if (is_exchange) result.columns.emplace_back("btd");
  for (const OriginalParamRow& row : rows) {
    result.rows.push_back({fmt::format("{}_{}", op, ranks), op, ranks, number_text(row.bytes),
                           number_text(row.latency_us), number_text(row.algorithm_gb_per_s),
                           number_text(row.bus_gb_per_s)});
    if (is_exchange) result.rows.back().push_back(row.exchange);
  }
  return result;
}

const std::vector<std::string_view> kXlaColumns{"opcode", "tensor_bytes", "devices_per_group",
                                                "busbw_gbps", "time_us"};

}  // namespace

KindSources collective_sources() {
  return {.kind = "collective",
          .logs = {{"logs of nccl-tests", is_nccl_tests, converted<nccl_samples, as_samples>},
                   {"logs of PARAM", is_param, converted<param_samples, as_samples>}},
          .tables = {{"XLA collectives", kXlaColumns, converted<xla_samples, as_samples>},
                     {"aiconfigurator nccl_perf",
                      {"op_name", "nccl_dtype", "num_gpus", "message_size", "latency"},
                      converted<aiconfigurator_samples, as_samples>}}};
}

KindSources collective_curve_sources() {
  return {.kind = "collective_curve",
          .logs = {{"logs of nccl-tests", is_nccl_tests, converted<nccl_samples, as_curves>},
                   {"logs of PARAM", is_param, curves_of_param}},
          .tables = {{"XLA collectives", kXlaColumns, converted<xla_samples, as_curves>}}};
}

}  // namespace inline_prof::read
