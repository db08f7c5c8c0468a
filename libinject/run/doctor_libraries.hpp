// prof-run doctor: whether the calls of a program's libraries can say what they compute.
#pragma once

#include "run/doctor.hpp"

#include <string>
#include <vector>

namespace inline_prof::run {

// `program` is the path of an ELF file with a dynamic linker.  What it loads while it runs is not
// seen.
[[nodiscard]] std::vector<Check> check_vendor_libraries(const std::string& program);

}  // namespace inline_prof::run
