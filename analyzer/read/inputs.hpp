#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// Returns true if files of this name, without their folder, are profiles of some format.
[[nodiscard]] bool is_profile_name(std::string_view name);

// Returns the files that `arguments` name: each file itself, and for a folder the profiles in it,
// by name.  Throws InputError for a folder without any; whether a file can be read shows when it
// is.
[[nodiscard]] std::vector<std::filesystem::path> expand_inputs(
    const std::vector<std::string>& arguments);

}  // namespace inline_prof::read
