// The options that say how files are analysed, for the report and several subcommands.
#pragma once

#include "base/command_line.hpp"
#include "join/join.hpp"
#include "read/machine.hpp"
#include "read/phases.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

struct AnalysisArguments {
  std::string machine;   // empty: matched with the devices of each file
  std::string layers;    // empty: none
  std::string isolated;  // empty: none
  std::string event_bias = "auto";
  model::Models models = model::Models::kCalibrated;
  std::vector<std::string> params;    // FILE of families, or MODEL=FILE
  std::vector<std::string> settings;  // NAME=VALUE
  std::string vendors_model;          // to be asked beside all others; empty: none
  std::optional<std::size_t> phase;   // from 1; empty: the one that took most of the time
  // No options: the command sets these.
  std::optional<read::Launched> like;  // the phase that launches this, unless one is named
  bool keep_samples = false;
  bool leave_out_unreadable = false;  // not if something is judged
};

void declare_analysis(Command& command, AnalysisArguments& arguments);

struct AnalysisResult {
  join::Analysis analysis;
  read::Launched launched;              // in the phase that is shown
  std::vector<read::Machine> machines;  // those that the analysis can name
};

// Joins the files and folders as one run, each in the phase that launches the same as the first
// file's.  Throws UsageError and read::InputError.
[[nodiscard]] AnalysisResult analyse(const std::vector<std::string>& files,
                                     const AnalysisArguments& arguments);

}  // namespace inline_prof::cli
