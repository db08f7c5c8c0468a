// Finds libraries that are linked statically into other files: their calls cannot be wrapped.
#pragma once

#include "record/run_record.hpp"

#include <string>
#include <vector>

namespace inline_prof::libraries {

// Returns lines such as "libcublas inside libfoo.so: static copy, kernels timed, shapes missing".
// There is one if a kernel without an operation has a name like such a library's, and a loaded file
// defines the library's functions in its symbol table. A stripped file is not recognised. Reads
// files, so it must not run on the application's threads.
[[nodiscard]] [[gnu::cold]] std::vector<std::string> static_copies(record::RunRecord& run);

}  // namespace inline_prof::libraries
