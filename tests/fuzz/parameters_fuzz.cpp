// Parameter files: what is accepted is written as it was read.
#include "property.hpp"
#include "read/parameters.hpp"

#include <string>

using namespace inline_prof;

void fuzz::check(const std::string& text) {
  const std::string written = read::parameters_text(read::parse_parameters(text, "fuzz", ""));
  fuzz::require(read::parameters_text(read::parse_parameters(written, "again", "")) == written,
                "what is written reads back");
}
