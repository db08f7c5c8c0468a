// prof-model fit --model families: kernel families fitted to a user's own traces and profiles.
#pragma once

#include "fit/fits.hpp"
#include "read/machine.hpp"

#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

// `files` are traces, profiles and folders of them.  Families with few different launches keep what
// is shipped for the GPU, which is the one that the files name if none is given.  `prior` names the
// parameters to start from instead, a file, a shipped set or "usual".  The same files always give
// the same parameters.  Throws read::InputError and UsageError.
[[nodiscard]] fit::FitResult fit_families_to(const std::vector<std::string>& files,
                                             const std::optional<read::Machine>& machine,
                                             const std::string& prior);

}  // namespace inline_prof::cli
