#pragma once

// A name that the application may find.  Each one also stands in exports.map; a test compares both
// with the built library.
#define INLINE_PROF_EXPORT extern "C" [[gnu::visibility("default")]]
