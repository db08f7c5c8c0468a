// Pictures as files: .svg, .png or .html.
#pragma once

#include "report/plot/picture.hpp"

#include <string>
#include <vector>

namespace inline_prof::cli {

// Throws UsageError for another ending, std::runtime_error for a png where there is no Cairo:
// before any work is done.
void check_picture_name(const std::string& output);

// `words` stand below the picture of a page.  Throws OutputError.
void write_picture(const std::string& output, const report::Picture& picture,
                   const std::string& title, const std::vector<std::string>& words, bool force);

}  // namespace inline_prof::cli
