// prof.json, every generation of it, into values.
#pragma once

#include "read/input_error.hpp"
#include "read/phases.hpp"
#include "read/profile.hpp"
#include "read/wanted.hpp"

#include <filesystem>
#include <string>

namespace inline_prof::read {

// `label` is what messages call the file; `text` is the whole of it.
// Throws InputError.  Members that this version does not know are skipped.
[[nodiscard]] Profile read_profile(std::string text, const std::string& label,
                                   Wanted wanted = Wanted::kAll, const PhaseChoice& phase = {});

[[nodiscard]] Profile read_profile(const std::filesystem::path& file, Wanted wanted = Wanted::kAll,
                                   const PhaseChoice& phase = {});

// The slow half of read_profile, which knows the places: 8 times slower, and 10 times the memory.
// What the fast half refuses comes here; a test holds the two against each other.
[[nodiscard]] Profile read_profile_from_tree(const std::string& text, const std::string& label);

}  // namespace inline_prof::read
