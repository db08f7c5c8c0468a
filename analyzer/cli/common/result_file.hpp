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

// To be called with what the program was started with, before write_result: a file that is among it
// twice, as the output and as an input, or lies as a profile in a folder that is an input, is not
// replaced, whatever is forced.
void set_arguments(int count, const char* const* arguments);

// Puts `text` into the file `path`, or on standard output for "-".  A file appears whole or not at
// all; an existing one is replaced only where `force` says so, and only if it is a regular file.
// Throws OutputError.
void write_result(const std::string& path, std::string_view text, bool force);

}  // namespace inline_prof::cli
