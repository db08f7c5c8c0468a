// Finds libraries that are linked statically into other files: their calls cannot be wrapped.
#pragma once

#include "record/run_record.hpp"

#include <string>
#include <vector>

namespace inline_prof::libraries {

// "libcublas inside libfoo.so: static copy, kernels timed, shapes missing", if a kernel without an
// operation has a name like such a library's, and a loaded file defines the library's functions in
// its symbol table.  A stripped file is not recognised.  Reads files, so not for the application's
// threads.
[[nodiscard]] std::vector<std::string> static_copies(record::RunRecord& run);

}  // namespace inline_prof::libraries
