// One file a kind of table; each lists the sources it can be made from.
#pragma once

#include "read/measurements/measurements.hpp"
#include "read/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// A CSV file of one origin.
struct TableSource {
  std::string_view name;                  // "aiconfigurator nccl_perf"
  std::vector<std::string_view> columns;  // that tell it: all have to be there
  Measurements (*convert)(const Table& table, const ConvertSettings& settings);
};

// A log, recognised by a piece of its text.
struct LogSource {
  std::string_view name;
  bool (*is_it)(std::string_view text);
  Measurements (*convert)(const std::string& text, const std::string& label,
                          const ConvertSettings& settings);
};

struct KindSources {
  std::string_view kind;
  std::vector<LogSource> logs;      // asked first
  std::vector<TableSource> tables;  // the first that fits is taken
};

[[nodiscard]] KindSources gemm_sources();
[[nodiscard]] KindSources memory_sources();
[[nodiscard]] KindSources conv_sources();
[[nodiscard]] KindSources collective_sources();
[[nodiscard]] KindSources collective_curve_sources();

// Our word for a number type that others call "half", "fp16", "F16"; as it is if we know none.
[[nodiscard]] std::string number_type_word(std::string_view name);

// A number in the shortest form that reads back the same.
[[nodiscard]] std::string number_text(double value);

// The number of a cell, which has to be > 0.
[[nodiscard]] double positive_number(const Table& table, std::size_t row, std::size_t column);

// Adds "LABEL: COUNT WHAT" where something was left out.
void note_count(Measurements& measurements, const std::string& label, std::size_t count,
                std::string_view what);

// A setting, or nothing.
[[nodiscard]] std::string setting_or(const ConvertSettings& settings, const std::string& name,
                                     const std::string& otherwise);

}  // namespace inline_prof::read
