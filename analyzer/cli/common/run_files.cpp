#include "cli/common/run_files.hpp"

#include "join/join.hpp"
#include "read/read_profile.hpp"

#include <utility>

namespace inline_prof::cli {

void declare_phase(Command& command, std::optional<std::size_t>& phase) {
  command
      .add_option("--phase", phase,
                  "Phase of a run that has several, by its number in the report; default: the one "
                  "that took most of the time")
      .check(between(std::size_t{1}, std::size_t{1000}));
}

RunFiles::RunFiles(std::vector<std::filesystem::path> paths, read::Wanted wanted,
                   read::PhaseChoice phase, bool leave_out_unreadable)
    : paths_(std::move(paths)), wanted_(wanted), phase_(std::move(phase)) {
  const auto read = [&] { return read::read_profile(paths_[first_], wanted_, phase_); };
  if (!leave_out_unreadable || paths_.size() == 1) {
    first_profile_ = read();
  } else {
    while (!first_profile_ && first_ < paths_.size()) {
      first_profile_ = join::or_complaint(read).value;
      if (!first_profile_) ++first_;
    }
  }
  if (!first_profile_) return;  // load() says what is wrong with each
  launched_ = read::launched_in(*first_profile_, first_profile_->phase);
  phase_ = {.like = launched_};
}

read::Profile RunFiles::load(std::size_t i) {
  if (first_profile_ && i == first_) return std::move(*first_profile_);
  return read::read_profile(paths_[i], wanted_, phase_);
}

}  // namespace inline_prof::cli
