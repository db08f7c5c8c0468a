// Closes the frame of a library call that is left by an exception or by thread cancellation.
#include "libraries/op_frame.hpp"

#include <cstdint>

namespace inline_prof::libraries {

// A personality routine (Itanium C++ ABI: Exception Handling, 1.6.2) of the wrappers.  It is called
// twice for each frame: to search for a handler, of which there is none, and to clean up.
extern "C" [[gnu::visibility("hidden")]] int inline_prof_close_unwound(int, int actions,
                                                                       std::uint64_t,
                                                                       void* unwinding,
                                                                       void*) noexcept;
int inline_prof_close_unwound(int, int actions, std::uint64_t, void*, void*) noexcept {
  constexpr int clean_up = 2;         // _UA_CLEANUP_PHASE
  constexpr int continue_unwind = 8;  // _URC_CONTINUE_UNWIND
  if ((actions & clean_up) != 0) close_innermost_op();
  return continue_unwind;
}

}  // namespace inline_prof::libraries
