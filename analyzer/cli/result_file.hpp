#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace inline_prof::cli {

// A result that could not be written: "FILE: what stood in the way".
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Puts `text` into the file `path`, or on standard output for "-".  A file appears whole or not at
// all; an existing one is replaced only where `force` says so, and only if it is a regular file.
// Throws OutputError.
void write_result(const std::string& path, std::string_view text, bool force);

}  // namespace inline_prof::cli
