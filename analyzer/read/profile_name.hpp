// Which files of a folder are profiles.
#pragma once

#include <string_view>

namespace inline_prof::read {

// `name`: of a file, without its folder.
[[nodiscard]] inline bool is_profile_name(std::string_view name) {
  return name == "prof.json" || name.ends_with(".prof.json") || name.ends_with(".one_shot.json");
}

}  // namespace inline_prof::read
