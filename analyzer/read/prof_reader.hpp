// prof.json, every generation of it, into values.
#pragma once

#include "read/input_error.hpp"
#include "read/profile.hpp"

#include <filesystem>
#include <string>

namespace inline_prof::read {

// `label` is what messages call the file; `text` is the whole of it.
// Throws InputError.  Members that this version does not know are skipped.
[[nodiscard]] Profile read_profile(std::string text, const std::string& label);

[[nodiscard]] Profile read_profile(const std::filesystem::path& file);

}  // namespace inline_prof::read
