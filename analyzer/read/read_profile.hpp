// Files of all formats into values.
#pragma once

#include "read/input_error.hpp"
#include "read/phases.hpp"
#include "read/profile.hpp"
#include "read/profile_format.hpp"

#include <filesystem>
#include <string>

namespace inline_prof::read {

// `label` is what messages call the file; `text` is the whole of it.
// Throws InputError.
[[nodiscard]] Profile read_profile(std::string text, const std::string& label,
                                   Wanted wanted = Wanted::kAll, const PhaseChoice& phase = {});

[[nodiscard]] Profile read_profile(const std::filesystem::path& file, Wanted wanted = Wanted::kAll,
                                   const PhaseChoice& phase = {});

}  // namespace inline_prof::read
