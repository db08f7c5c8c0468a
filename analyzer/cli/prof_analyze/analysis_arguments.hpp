// The options that say how files are analysed, for the report and several subcommands.
#pragma once

#include "base/command_line.hpp"
#include "join/join.hpp"
#include "read/machine.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

// The files of one run.  Each is shown in the phase that launches the same as the first file's:
// ranks need not have met their phases in the same order, nor spent the same time in them.

// --phase N, from 1.
void declare_phase(Command& command, std::optional<std::size_t>& phase);

class RunFiles {
 public:
  // `phase` chooses in the first file.  A file that cannot be read throws read::InputError, or is
  // skipped if such files are left out.
  RunFiles(std::vector<std::filesystem::path> paths, read::Wanted wanted, read::PhaseChoice phase,
           bool leave_out_unreadable);

  [[nodiscard]] std::size_t count() const { return paths_.size(); }
  // Called once for each file, by two threads at once.  Throws read::InputError.
  [[nodiscard]] read::Profile load(std::size_t i);
  [[nodiscard]] const read::Launched& launched() const { return launched_; }

 private:
  std::vector<std::filesystem::path> paths_;
  read::Wanted wanted_;
  read::PhaseChoice phase_;
  read::Launched launched_;  // in the first one
  std::size_t first_ = 0;
  std::optional<read::Profile> first_profile_;
};

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

// Properties of the place where standard output goes.

// Returns COLUMNS if it is set to a number, else the terminal's columns, else 80; 40 to 1000.
[[nodiscard]] std::size_t terminal_width();

// True if `output` ("-": standard output) is a terminal that shows colours, and NO_COLOR
// (https://no-color.org) is not set.
[[nodiscard]] bool wants_colour(const std::string& output);

}  // namespace inline_prof::cli
