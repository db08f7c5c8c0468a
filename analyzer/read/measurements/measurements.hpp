// Measurements that others have published or logged, as the tables that models are fitted to.
#pragma once

#include "read/input_error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// Columns and rows of text; a cell may be empty.
struct Measurements {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;  // what was left out and what was assumed, a sentence each
};

// The settings that a conversion may be given: values of "op", "num_gpus", "type", "gpu" that the
// files do not say, and "place": out or in, which half of an nccl-tests row counts.
using ConvertSettings = std::map<std::string, std::string>;

// The kinds of tables that there are: "gemm", "memory", "conv", "collective", "collective_curve".
[[nodiscard]] std::vector<std::string> table_kinds();

// Returns the sources that a kind can be made from, for --help: a line each.
[[nodiscard]] std::string sources_text();

// Reads a file of any source that knows this kind: it is recognised by its columns or its first
// words.  Throws InputError with file, line and column, also if no source of the kind fits;
// std::invalid_argument for a kind or a setting that does not exist.
[[nodiscard]] Measurements convert_measurements(const std::filesystem::path& file,
                                                std::string_view kind,
                                                const ConvertSettings& settings);
// The same of a text that was read from `label`.
[[nodiscard]] Measurements measurements_from(std::string text, const std::string& label,
                                             std::string_view kind,
                                             const ConvertSettings& settings);

// All rows in one table: columns of any of them, empty where a part does not have one.
[[nodiscard]] Measurements joined(std::vector<Measurements> parts);

// The table as CSV, header first.
[[nodiscard]] std::string csv_text(const Measurements& measurements);

}  // namespace inline_prof::read
