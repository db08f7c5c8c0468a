// prof.json, every generation of it (docs/prof_json.md).
#pragma once

#include "read/profile_format.hpp"

#include <array>
#include <string>
#include <string_view>

namespace inline_prof::read {

[[nodiscard]] bool is_prof_json(std::string_view beginning);

// Skips members that this version does not know.
[[nodiscard]] Profile read_prof_json(std::string text, const std::string& label, Wanted wanted);

// The slow half of read_prof_json, which knows the places: 8 times slower, and 10 times the memory.
// Text that the fast half refuses comes here; a test holds the two against each other.
[[nodiscard]] Profile read_prof_json_from_tree(const std::string& text, const std::string& label);

inline constexpr std::array<std::string_view, 3> kProfJsonNames{"prof.json", "*.prof.json",
                                                                "*.one_shot.json"};
inline constexpr ProfileFormat kProfJson{
    .file_names = kProfJsonNames, .recognises = is_prof_json, .read = read_prof_json};

}  // namespace inline_prof::read
