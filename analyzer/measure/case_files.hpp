// Cases that a file asks for, in place of those of a suite.
#pragma once

#include "measure/suites.hpp"
#include "read/profile.hpp"
#include "read/table.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::measure {

// The rows of a table whose columns are attributes of the suite's operation; other columns are left
// out, and cells may be empty.  For conv also SEER's Test-set-II.txt.  Throws read::InputError.
[[nodiscard]] std::vector<read::Op> ops_of_grid(const std::filesystem::path& file,
                                                const Suite& suite);

struct ProfileOps {
  std::vector<read::Op> ops;                   // each once, in the order of the profile
  std::map<std::string, std::size_t> skipped;  // events that cannot be replayed, by reason
};

// What the events of a run have computed.
[[nodiscard]] ProfileOps ops_of_profile(const read::Profile& profile);

}  // namespace inline_prof::measure
