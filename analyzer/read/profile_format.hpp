// The seam between the formats that a run is written in and everything that looks at a run.  A
// format is a folder beside this file and an entry in read_profile.cpp.
#pragma once

#include "read/profile.hpp"

#include <span>
#include <string>
#include <string_view>

namespace inline_prof::read {

// How much of a file the reader takes.  Half of a large prof.json's numbers are offsets, the starts
// of events within their iteration, and not everybody has a use for them.
enum class Wanted { kAll, kWithoutOffsets };

struct ProfileFormat {
  // Globs of the names that its files have where a folder is searched for them.
  std::span<const std::string_view> file_names;
  // Returns true if a file that begins with these bytes (kBeginning, or all it has) is of this
  // format.
  bool (*recognises)(std::string_view beginning);
  // Returns the run with all its phases.  `text` is the whole file, `label` what messages call it.
  // Throws InputError.
  Profile (*read)(std::string text, const std::string& label, Wanted wanted);
};

inline constexpr std::size_t kBeginning = std::size_t{1} << 16;

// The first one also reads what none recognises, to say what is wrong with it.
[[nodiscard]] std::span<const ProfileFormat> profile_formats();

}  // namespace inline_prof::read
