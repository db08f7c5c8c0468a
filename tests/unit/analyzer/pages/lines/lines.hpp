// A format for the page on adding one: "NAME US", a line for each kernel.
#pragma once

#include "read/profile.hpp"

#include <array>

namespace inline_prof::read {

[[nodiscard]] Profile read_lines(std::string text, const std::string& label, Wanted wanted);

inline constexpr std::array<std::string_view, 1> kNamesOfLines{"*.lines"};
inline constexpr ProfileFormat kLines{
    kNamesOfLines,
    [](std::string_view beginning) { return beginning.starts_with("times of kernels\n"); },
    read_lines};

}  // namespace inline_prof::read
