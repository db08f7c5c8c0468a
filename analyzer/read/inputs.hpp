#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace inline_prof::read {

// The files that `arguments` name: each file itself, and for a folder the files in it that are
// called prof.json or end in .prof.json or .one_shot.json, by name. Throws InputError for a folder
// without any; whether a file can be read shows when it is.
[[nodiscard]] std::vector<std::filesystem::path> expand_inputs(
    const std::vector<std::string>& arguments);

}  // namespace inline_prof::read
