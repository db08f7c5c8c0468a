// Libraries that were linked statically into other files: their calls cannot be wrapped.
#pragma once

#include "record/run_record.hpp"

#include <string>
#include <vector>

namespace inline_prof::hook {

// "libcublas inside libfoo.so: static copy, kernels timed, shapes missing", where a kernel looks
// like such a library's, nothing describes it, and a loaded file has the library's functions in its
// symbol table.  Of a stripped file nothing can be said.  Reads files: not for a thread of the
// host's.
[[nodiscard]] std::vector<std::string> static_copies(record::RunRecord& run);

}  // namespace inline_prof::hook
