// glibc's own dlsym, behind the one we export.
#pragma once

namespace inline_prof::sys {

using DlsymFunction = void* (*)(void* handle, const char* name);

// Never null on glibc.  Usable before any constructor has run: no allocation, no guard.
[[nodiscard]] DlsymFunction original_dlsym() noexcept;

// The real function `name` of a library that is already loaded; null otherwise.  Never loads.
[[nodiscard]] void* find_loaded(const char* soname, const char* name) noexcept;

}  // namespace inline_prof::sys
