#include "check.hpp"

#include <stdexcept>
#include <string>

namespace example {

void throw_failed_call(const char* file, int line, const char* call, const char* text) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           text);
}

}  // namespace example
