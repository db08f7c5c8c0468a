#pragma once

#include "read/prof_json/prof_members.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace inline_prof::read {

// Fits into a second-level cache, with its list of places; events take some kilobytes.
inline constexpr std::size_t kWindowBytes = std::size_t{1} << 18;

// The fast half of read_profile.  Beside `text` and what it returns it needs some megabytes,
// however long the file is, unless a single event is that long.
// Empty for text that is not the JSON of a profile: the tree of json_tree.hpp then says why.
[[nodiscard]] std::optional<FoundProfile> read_stream(const std::string& text,
                                                      std::size_t window_bytes = kWindowBytes,
                                                      Wanted wanted = Wanted::kAll);

}  // namespace inline_prof::read
