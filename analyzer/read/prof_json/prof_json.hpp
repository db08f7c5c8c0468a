// prof.json, every generation of it (docs/prof_json.md).
#pragma once

#include "read/profile.hpp"

#include <array>
#include <cstddef>
#include <optional>
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

// Fits into a second-level cache, with its list of places; events take some kilobytes.
inline constexpr std::size_t kWindowBytes = std::size_t{1} << 18;

struct FoundProfile;  // prof_members.hpp

// The fast half of read_profile.  Beside `text` and what it returns it needs some megabytes,
// however long the file is, unless a single event is that long.
// Empty for text that is not the JSON of a profile: the tree of json_tree.hpp then says why.
[[nodiscard]] std::optional<FoundProfile> read_stream(const std::string& text,
                                                      std::size_t window_bytes = kWindowBytes,
                                                      Wanted wanted = Wanted::kAll);

}  // namespace inline_prof::read
