// Finds the dlsym behind ours: that of the next library that has one, and glibc's.
#pragma once

namespace inline_prof::sys {

using DlsymFunction = void* (*)(void* handle, const char* name);

// Neither is ever null on glibc.  Usable before any constructor has run: no allocation, no guard.

// Returns the dlsym that the application would have reached without us: that of a library behind us
// that replaces it, such as a limiter of GPU memory, else glibc's. For the application's calls.
[[nodiscard]] DlsymFunction original_dlsym() noexcept;

// Returns glibc's dlsym. For our own look-ups, and for RTLD_NEXT as seen from this library.
[[nodiscard]] DlsymFunction glibc_dlsym() noexcept;

// Returns the function `name` of a library that is already loaded, else null. Never loads it.
[[nodiscard]] void* find_loaded(const char* soname, const char* name) noexcept;

}  // namespace inline_prof::sys
