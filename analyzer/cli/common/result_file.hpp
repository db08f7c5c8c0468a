#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace inline_prof::cli {

// Thrown for a result that could not be written: "FILE: reason".
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Remembers the command line, for write_result.  A file that stands in it twice, as output and as
// input, or that lies as a profile in a folder given as input, is never replaced.
void set_arguments(int count, const char* const* arguments);

// Puts `text` into the file `path`, or on standard output for "-".  A file appears whole or not at
// all; an existing one is replaced only where `force` says so, and only if it is a regular file.
// Throws OutputError.
void write_result(const std::string& path, std::string_view text, bool force);

}  // namespace inline_prof::cli
