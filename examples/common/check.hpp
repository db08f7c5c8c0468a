// Turns failed calls of a GPU library into exceptions.
#pragma once

#include <cuda_runtime.h>

namespace example {

// Returns the library's text for a status.  A file that calls another library adds an overload.
inline const char* error_text(cudaError_t status) {
  return cudaGetErrorString(status);
}

// Throws std::runtime_error("FILE:LINE: CALL: TEXT").
[[noreturn]] void throw_failed_call(const char* file, int line, const char* call, const char* text);

}  // namespace example

// Every call of a GPU library goes through here; 0 is success in all of them.
#define EXAMPLE_CHECK(call)                                                \
  do {                                                                     \
    const auto example_status = (call);                                    \
    if (static_cast<int>(example_status) != 0) {                           \
      ::example::throw_failed_call(__FILE__, __LINE__, #call,              \
                                   ::example::error_text(example_status)); \
    }                                                                      \
  } while (0)
