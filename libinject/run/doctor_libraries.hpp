// prof-run doctor: checks whether the calls of a program's libraries can be described.
#pragma once

#include "run/doctor.hpp"

#include <string>
#include <vector>

namespace inline_prof::run {

// `program` is the path of an ELF file with a dynamic linker. Libraries that it loads while it runs
// are not seen.
[[nodiscard]] std::vector<Check> check_vendor_libraries(const std::string& program);

}  // namespace inline_prof::run
