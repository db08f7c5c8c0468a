// The files of one run.  Each is shown in the phase that launches the same as the first file's:
// ranks need not have met their phases in the same order, nor spent the same time in them.
#pragma once

#include "base/command_line.hpp"
#include "read/phases.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace inline_prof::cli {

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

}  // namespace inline_prof::cli
