#include "read/measurements/measurements.hpp"

#include "base/text.hpp"
#include "read/file_text.hpp"
#include "read/measurements/source.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace inline_prof::read {
namespace {

const std::vector<KindSources>& all_sources() {
  static const std::vector<KindSources> sources{gemm_sources(), memory_sources(), conv_sources(),
                                                collective_sources(), collective_curve_sources()};
  return sources;
}

std::string expected(const KindSources& sources) {
  std::vector<std::string> names;
  for (const LogSource& log : sources.logs)
    names.emplace_back(log.name);
  for (const TableSource& table : sources.tables) {
    names.push_back(fmt::format("{} ({})", table.name, fmt::join(table.columns, ", ")));
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

void check_settings(const ConvertSettings& settings) {
  constexpr std::array known{"op", "num_gpus", "type", "gpu", "place"};
  for (const auto& [name, value] : settings) {
    if (std::ranges::find(known, name) == known.end()) {
      throw std::invalid_argument(
          fmt::format("nothing is called {}: choose from {}", name, fmt::join(known, ", ")));
    }
    if (name == "place" && value != "in" && value != "out") {
      throw std::invalid_argument(fmt::format("place: expected in or out, found {}", value));
    }
  }
}

}  // namespace

std::vector<std::string> table_kinds() {
  std::vector<std::string> kinds;
  for (const KindSources& sources : all_sources())
    kinds.emplace_back(sources.kind);
  return kinds;
}

std::string sources_text() {
  std::string text;
  for (const KindSources& sources : all_sources()) {
    text += fmt::format("  {:<17} {}\n", sources.kind, expected(sources));
  }
  return text;
}

Measurements convert_measurements(const std::filesystem::path& file, std::string_view kind,
                                  const ConvertSettings& settings) {
  return measurements_from(read_text(file), file.string(), kind, settings);
}

Measurements measurements_from(std::string text, const std::string& label, std::string_view kind,
                               const ConvertSettings& settings) {
  check_settings(settings);
  const auto sources = std::ranges::find(all_sources(), kind, &KindSources::kind);
  if (sources == all_sources().end()) {
    throw std::invalid_argument(fmt::format("no kind of table is called {}: choose from {}", kind,
                                            fmt::join(table_kinds(), ", ")));
  }
  for (const LogSource& log : sources->logs) {
    if (log.is_it(text)) return log.convert(text, label, settings);
  }
  const Table table(std::move(text), label);
  const auto has = [&](std::string_view column) { return table.find(column).has_value(); };
  for (const TableSource& source : sources->tables) {
    if (std::ranges::all_of(source.columns, has)) return source.convert(table, settings);
  }
  throw InputError(
      fmt::format("{}: line 1: no source of {} tables has these columns; known are: {}", label,
                  kind, expected(*sources)));
}

Measurements joined(std::vector<Measurements> parts) {
  Measurements all;
  for (const Measurements& part : parts) {
    for (const std::string& column : part.columns) {
      if (std::ranges::find(all.columns, column) == all.columns.end())
        all.columns.push_back(column);
    }
  }
  // The measured column stands last.
  std::stable_partition(all.columns.begin(), all.columns.end(),
                        [](const std::string& column) { return column != "time_us"; });
  for (Measurements& part : parts) {
    for (auto& row : part.rows) {
      std::vector<std::string>& cells = all.rows.emplace_back();
      for (const std::string& column : all.columns) {
        const auto place = std::ranges::find(part.columns, column) - part.columns.begin();
        const auto i = static_cast<std::size_t>(place);
        cells.push_back(i < row.size() ? std::move(row[i]) : std::string());
      }
    }
    all.notes.insert(all.notes.end(), part.notes.begin(), part.notes.end());
  }
  return all;
}

std::string csv_text(const Measurements& measurements) {
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> quoted;
    std::ranges::transform(cells, std::back_inserter(quoted), base::csv_cell);
    text += fmt::format("{}\n", fmt::join(quoted, ","));
  };
  add_line(measurements.columns);
  std::ranges::for_each(measurements.rows, add_line);
  return text;
}

std::string number_type_word(std::string_view name) {
  using Word = std::pair<std::string_view, std::string_view>;
  constexpr std::array known{Word{"float", "f32"},
                             Word{"float32", "f32"},
                             Word{"fp32", "f32"},
                             Word{"F32", "f32"},
                             Word{"half", "f16"},
                             Word{"float16", "f16"},
                             Word{"fp16", "f16"},
                             Word{"F16", "f16"},
                             Word{"double", "f64"},
                             Word{"float64", "f64"},
                             Word{"F64", "f64"},
                             Word{"bfloat16", "bf16"},
                             Word{"BF16", "bf16"},
                             Word{"int8", "i8"},
                             Word{"int32", "i32"},
                             Word{"int64", "i64"},
                             Word{"FP16 ip, Mixed math", "f16"}};
  const auto* const word = std::ranges::find(known, name, &Word::first);
  return std::string(word == known.end() ? name : word->second);
}

std::string number_text(double value) {
  return fmt::format("{}", value);
}

void note_count(Measurements& measurements, const std::string& label, std::size_t count,
                std::string_view what) {
  if (count > 0) measurements.notes.push_back(fmt::format("{}: {} {}", label, count, what));
}

double positive_number(const Table& table, std::size_t row, std::size_t column) {
  const double value = table.number(row, column);
  if (!(value > 0)) {
    table.fail(row, column,
               fmt::format("expected a number > 0, found {}", table.cell(row, column)));
  }
  return value;
}

std::string setting_or(const ConvertSettings& settings, const std::string& name,
                       const std::string& otherwise) {
  const auto it = settings.find(name);
  return it == settings.end() ? otherwise : it->second;
}

}  // namespace inline_prof::read
