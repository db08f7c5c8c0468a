// Parameter files: what is accepted is written as it was read.
#include "property.hpp"
#include "read/parameters.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inline_prof;
  try {
    const read::Parameters parameters =
        read::parse_parameters(std::string(fuzz::as_text(data, size)), "fuzz", "");
    const std::string written = read::parameters_text(parameters);
    fuzz::require(read::parameters_text(read::parse_parameters(written, "again", "")) == written,
                  "what is written reads back");
  } catch (const read::InputError&) {
  }
  return 0;
}
