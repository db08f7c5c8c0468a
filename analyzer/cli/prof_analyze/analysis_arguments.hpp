// The options that say how files are analysed: the same for the report, for compare and for check.
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
  std::string peer;                  // a model's name; empty: none
  std::optional<std::size_t> phase;  // from 1; empty: the one that took most of the time
  // No options: what is done with the analysis decides.
  std::optional<read::Launched> like;  // the phase that launches this, where none is named
  bool keep_samples = false;
  bool leave_out_unreadable = false;  // not where something is judged
};

void declare_analysis(Command& command, AnalysisArguments& arguments);

struct AnalysisResult {
  join::Analysis analysis;
  read::Launched launched;              // in the phase that is shown
  std::vector<read::Machine> machines;  // those that the analysis can name
};

// Joins the files and folders as one run: of each the phase that launches what the first file's
// does.  Throws UsageError and read::InputError.
[[nodiscard]] AnalysisResult analyse(const std::vector<std::string>& files,
                                     const AnalysisArguments& arguments);

}  // namespace inline_prof::cli
