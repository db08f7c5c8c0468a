#include "read/measurements/measurements.hpp"

#include "base/text.hpp"
#include "read/file_text.hpp"
#include "read/measurements/source.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace inline_prof::read {
namespace {

const std::vector<KindSources>& all_sources() {
  static const std::vector<KindSources> sources{gemm_sources(), memory_sources(), conv_sources(),
                                                collective_sources(), collective_curve_sources()};
  return sources;
}

std::string list(const std::vector<std::string_view>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string expected(const KindSources& sources) {
  std::vector<std::string> names;
  for (const LogSource& log : sources.logs)
    names.emplace_back(log.name);
  for (const TableSource& table : sources.tables) {
    names.push_back(fmt::format("{} ({})", table.name, list(table.columns)));
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

const std::vector<std::string>& table_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const KindSources& sources : all_sources())
      names.emplace_back(sources.kind);
    return names;
  }();
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
    std::vector<std::size_t> places;
    for (const std::string& column : part.columns) {
      places.push_back(
          static_cast<std::size_t>(std::ranges::find(all.columns, column) - all.columns.begin()));
    }
    for (auto& row : part.rows) {
      std::vector<std::string> cells(all.columns.size());
      for (std::size_t i = 0; i < places.size(); ++i)
        cells[places[i]] = std::move(row[i]);
      all.rows.push_back(std::move(cells));
    }
    all.notes.insert(all.notes.end(), part.notes.begin(), part.notes.end());
  }
  return all;
}

std::string csv_text(const Measurements& measurements) {
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += ',';
      text += base::csv_cell(cells[i]);
    }
    text += '\n';
  };
  add_line(measurements.columns);
  for (const auto& row : measurements.rows)
    add_line(row);
  return text;
}

std::string number_type_word(std::string_view name) {
  struct LibraryCall {
    std::string_view theirs;
    std::string_view ours;
  };
  constexpr std::array known{LibraryCall{"float", "f32"},
                             LibraryCall{"float32", "f32"},
                             LibraryCall{"fp32", "f32"},
                             LibraryCall{"F32", "f32"},
                             LibraryCall{"half", "f16"},
                             LibraryCall{"float16", "f16"},
                             LibraryCall{"fp16", "f16"},
                             LibraryCall{"F16", "f16"},
                             LibraryCall{"FP16 ip, Mixed math", "f16"},
                             LibraryCall{"double", "f64"},
                             LibraryCall{"float64", "f64"},
                             LibraryCall{"F64", "f64"},
                             LibraryCall{"bfloat16", "bf16"},
                             LibraryCall{"BF16", "bf16"},
                             LibraryCall{"int8", "i8"},
                             LibraryCall{"int32", "i32"},
                             LibraryCall{"int64", "i64"}};
  const auto* const word = std::ranges::find(known, name, &LibraryCall::theirs);
  return std::string(word == known.end() ? name : word->ours);
}

std::string number_text(double value) {
  return fmt::format("{}", value);
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
