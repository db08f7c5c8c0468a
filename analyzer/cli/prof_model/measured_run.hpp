// Profiles and traces as measurements, for the subcommands that take tables.
#pragma once

#include "join/analysis.hpp"
#include "model/model.hpp"
#include "read/machine.hpp"
#include "read/table.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace inline_prof::cli {

// True for a prof.json and for a trace of torch.profiler; the second only for the first.
[[nodiscard]] bool is_run(const std::filesystem::path& file);
[[nodiscard]] bool is_prof_json(const std::filesystem::path& file);

// Joins one run, which keeps its events.  `products`: the published models' table; may be empty.
// Throws read::InputError.
[[nodiscard]] join::Analysis analyse_run(read::Profile profile,
                                         const std::optional<read::Machine>& machine,
                                         const std::string& layers, model::Models models,
                                         const std::string& products = "");

// Reads a table; or, of a run, the measured rows that the model covers, in the model's own columns,
// with `machine`, `time_us` and `kernel_name`.  Throws read::InputError, also where a run has no
// such row.
[[nodiscard]] read::Table read_measured(const std::filesystem::path& file,
                                        const model::ModelEntry* entry,
                                        const std::optional<read::Machine>& machine);

}  // namespace inline_prof::cli
