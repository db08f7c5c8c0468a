// Files of all formats into values.
#pragma once

#include "read/input_error.hpp"
#include "read/profile.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// `label` is what messages call the file; `text` is the whole of it.
// Throws InputError.
[[nodiscard]] Profile read_profile(std::string text, const std::string& label,
                                   Wanted wanted = Wanted::kAll, const PhaseChoice& phase = {});

[[nodiscard]] Profile read_profile(const std::filesystem::path& file, Wanted wanted = Wanted::kAll,
                                   const PhaseChoice& phase = {});

// Returns true if files of this name, without their folder, are profiles of some format.
[[nodiscard]] bool is_profile_name(std::string_view name);

// Returns the files that `arguments` name: each file itself, and for a folder the profiles in it,
// by name.  Throws InputError for a folder without any; whether a file can be read shows when it
// is.
[[nodiscard]] std::vector<std::filesystem::path> expand_inputs(
    const std::vector<std::string>& arguments);

}  // namespace inline_prof::read
