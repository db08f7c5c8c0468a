// The dlsym behind ours: that of the next library that has one, and glibc's.
#pragma once

namespace inline_prof::sys {

using DlsymFunction = void* (*)(void* handle, const char* name);

// Neither is ever null on glibc.  Usable before any constructor has run: no allocation, no guard.

// The one that the application would have reached without us: of a library behind us that stands in
// for it, such as a limiter of GPU memory, else glibc's.  For what the application asks.
[[nodiscard]] DlsymFunction original_dlsym() noexcept;

// glibc's.  For what we ask for ourselves, and for RTLD_NEXT as seen from this library.
[[nodiscard]] DlsymFunction glibc_dlsym() noexcept;

// The function `name` of a library that is already loaded, else null.  Never loads it.
[[nodiscard]] void* find_loaded(const char* soname, const char* name) noexcept;

}  // namespace inline_prof::sys
