// Tables of kernels that move memory.
#include "read/measurements/source.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace inline_prof::read {
namespace {

constexpr double kFloatBytes = 4.0;

// --- NeuSight ---

// add reads two tensors, relu one; both write one.  The kernel's name is cut off in some files.
Measurements from_neusight(const Table& table, const ConvertSettings& settings) {
  const std::size_t rows = table.require("B"), columns = table.require("H");
  const std::size_t kernel = table.require("Kernel Name"), time = table.require("Latency");
  const std::string stem = std::filesystem::path(table.label()).stem().string();
  const std::string op = setting_or(settings, "op", stem.substr(0, stem.find('_')));
  if (op != "add" && op != "relu") {
    throw InputError(
        fmt::format("{}: the file's name does not say which operation this is: --set "
                    "op=add or --set op=relu",
                    table.label()));
  }
  const double tensors_read = op == "add" ? 2.0 : 1.0;
  Measurements result{
      .columns = {"read_bytes", "write_bytes", "kernel_name", "time_us"},
      .rows = {},
      .notes = {fmt::format("{}: event pairs around a launch: times hold its 26 to 57 us, too",
                            table.label())}};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const double bytes =
        positive_number(table, row, rows) * positive_number(table, row, columns) * kFloatBytes;
    result.rows.push_back({number_text(tensors_read * bytes), number_text(bytes),
                           table.cell(row, kernel),
                           number_text(positive_number(table, row, time) * 1e3)});
  }
  return result;
}

// --- ncu --csv ---

constexpr std::string_view kReadMetric = "dram__bytes_read.sum";
constexpr std::string_view kWriteMetric = "dram__bytes_write.sum";
constexpr std::string_view kTimeMetric = "gpu__time_duration.sum";

// "1,234,567.5" as ncu prints it; empty for something else.
std::optional<double> grouped_number(std::string text) {
  std::erase(text, ',');
  return number_of(text);
}

// How many bytes, or microseconds, one of ncu's units is.
std::optional<double> unit_factor(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array units{Unit{"byte", 1},      Unit{"Kbyte", 1e3},    Unit{"Mbyte", 1e6},
                             Unit{"Gbyte", 1e9},   Unit{"nsecond", 1e-3}, Unit{"usecond", 1},
                             Unit{"msecond", 1e3}, Unit{"second", 1e6},   Unit{"ns", 1e-3},
                             Unit{"us", 1},        Unit{"ms", 1e3},       Unit{"s", 1e6}};
  const auto* const found = std::ranges::find(units, unit, &Unit::name);
  return found == units.end() ? std::nullopt : std::optional(found->factor);
}

double metric_value(const Table& table, std::size_t row, std::size_t column,
                    const std::string& unit) {
  const auto value = grouped_number(table.cell(row, column));
  if (!value || *value < 0) {
    table.fail(row, column,
               fmt::format("expected a number >= 0, found \"{}\"", table.cell(row, column)));
  }
  const auto factor = unit_factor(unit);
  if (!factor) table.fail(row, column, fmt::format("unknown unit \"{}\"", unit));
  return *value * *factor;
}

struct NcuKernel {
  std::string id;
  std::string name;
  std::map<std::string, double, std::less<>> metrics;  // in bytes and microseconds
};

// A row for each metric of each kernel.
std::vector<NcuKernel> kernels_of_details(const Table& table) {
  const std::size_t id = table.require("ID"), name = table.require("Kernel Name");
  const std::size_t metric = table.require("Metric Name"), unit = table.require("Metric Unit");
  const std::size_t value = table.require("Metric Value");
  std::vector<NcuKernel> kernels;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string kernel_id = table.cell(row, id);
    if (kernels.empty() || kernels.back().id != kernel_id) {
      kernels.push_back({.id = kernel_id, .name = table.cell(row, name), .metrics = {}});
    }
    const std::string which = table.cell(row, metric);
    if (which == kReadMetric || which == kWriteMetric || which == kTimeMetric) {
      kernels.back().metrics[which] = metric_value(table, row, value, table.cell(row, unit));
    }
  }
  return kernels;
}

// --page raw: a row for each kernel; the first row holds the units.
std::vector<NcuKernel> kernels_of_raw_page(const Table& table) {
  const std::size_t id = table.require("ID"), name = table.require("Kernel Name");
  std::vector<NcuKernel> kernels;
  for (std::size_t row = 1; row < table.row_count(); ++row) {
    kernels.push_back({.id = table.cell(row, id), .name = table.cell(row, name), .metrics = {}});
    for (const std::string_view metric : {kReadMetric, kWriteMetric, kTimeMetric}) {
      if (const auto column = table.find(metric)) {
        kernels.back().metrics[std::string(metric)] =
            metric_value(table, row, *column, table.cell(0, *column));
      }
    }
  }
  return kernels;
}

// ncu prints its own messages ("==PROF== ...") and the program's output before the table.
std::size_t start_of_ncu_table(std::string_view text) {
  if (text.starts_with("\"ID\",")) return 0;
  const std::size_t found = text.find("\n\"ID\",");
  return found == std::string_view::npos ? found : found + 1;
}

bool is_ncu(std::string_view text) {
  return start_of_ncu_table(text) != std::string_view::npos;
}

Measurements from_ncu(const std::string& text, const std::string& label, const ConvertSettings&) {
  const std::size_t start = start_of_ncu_table(text);
  const auto skipped =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n');
  const Table table(text.substr(start),
                    skipped == 0 ? label : fmt::format("{} (from line {})", label, skipped + 1));
  const std::vector<NcuKernel> kernels =
      table.find("Metric Name") ? kernels_of_details(table) : kernels_of_raw_page(table);
  Measurements result{
      .columns = {"read_bytes", "write_bytes", "kernel_name", "time_us"}, .rows = {}, .notes = {}};
  std::size_t incomplete = 0;
  for (const NcuKernel& kernel : kernels) {
    const auto read = kernel.metrics.find(kReadMetric);
    const auto write = kernel.metrics.find(kWriteMetric);
    const auto time = kernel.metrics.find(kTimeMetric);
    const auto end = kernel.metrics.end();
    if (read == end || write == end || time == end || !(time->second > 0)) {
      ++incomplete;
      continue;
    }
    result.rows.push_back({number_text(read->second), number_text(write->second), kernel.name,
                           number_text(time->second)});
  }
  if (incomplete > 0) {
    result.notes.push_back(fmt::format("{}: {} kernels without {}, {} and {} left out", label,
                                       incomplete, kReadMetric, kWriteMetric, kTimeMetric));
  }
  if (result.rows.empty()) {
    throw InputError(fmt::format("{}: no kernel with {}, {} and {}", label, kReadMetric,
                                 kWriteMetric, kTimeMetric));
  }
  result.notes.push_back(
      fmt::format("{}: ncu locks the clocks and flushes the caches unless told "
                  "otherwise: times are not those of a training run",
                  label));
  return result;
}

}  // namespace

KindSources memory_sources() {
  return {.kind = "memory",
          .logs = {{"ncu --csv", is_ncu, from_ncu}},
          .tables = {{"NeuSight add, relu", {"Latency", "Kernel Name", "B", "H"}, from_neusight}}};
}

}  // namespace inline_prof::read
