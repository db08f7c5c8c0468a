#pragma once

namespace inline_prof::read {

// How much of a prof.json the reader takes.  Half of a large file's numbers are offsets, the starts
// of events within their iteration, and not everybody has a use for them.
enum class Wanted { kAll, kWithoutOffsets };

}  // namespace inline_prof::read
