// The layer that encloses what this thread does: its open PROFILE_SCOPEs and NVTX ranges, outermost
// first, joined with '.'.
//
// The text is kept only while events are discovered, since only a new event asks for its layer.
// Afterwards a push is a counter, so that the pops of ranges that were opened before still meet
// their own.
#pragma once

#include <cstdint>
#include <string>

namespace inline_prof::hook {

// Who pushed.  Each NVTX domain has a stack of its own (nvToolsExt.h 3, nvtxDomainCreate), and they
// need not nest in one another: a pop takes the innermost range of its own owner.
using RangeOwner = std::uintptr_t;
inline constexpr RangeOwner kScopeOwner = 1;         // PROFILE_SCOPE
inline constexpr RangeOwner kDefaultRangeOwner = 2;  // NVTX without a domain

// None of these allocates, locks, throws or changes errno.  A null or empty `text` takes part in
// nesting and gives no layer.
void push_range(RangeOwner owner, const char* text) noexcept;
// A pop without a push does nothing.
void pop_range(RangeOwner owner) noexcept;

// A range that belongs to this thread until any thread ends it.  `id` is not 0 and not in use.
void start_range(std::uint64_t id, const char* text) noexcept;
void end_range(std::uint64_t id) noexcept;

// A range of this thread whose text changes: what a host says that knows its whole path, and not
// when it enters and leaves.  `id` is not 0, and its caller's; a null or empty `text` takes it
// away.
void set_range(std::uint64_t id, const char* text) noexcept;
// The same, whose text is what `*text` points to whenever it is asked for, nothing where that is
// null.  For an application that changes its path often: it stores a pointer, and calls nobody.
void follow_range(std::uint64_t id, const char* const* text) noexcept;
// From any thread.
void end_set_range(std::uint64_t id) noexcept;

[[nodiscard]] std::string current_layer();

}  // namespace inline_prof::hook
