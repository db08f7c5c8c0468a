#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::report {

struct HeadLine {
  std::string label;  // empty: goes on with the line before
  std::string text;
};

// What a reader has to know before he believes a number, all but the shares.
[[nodiscard]] std::vector<HeadLine> head_lines(const join::Analysis& analysis);

// The same as text for a terminal, with the shares: where the iteration goes.
[[nodiscard]] std::string head(const join::Analysis& analysis, std::size_t width);

}  // namespace inline_prof::report
