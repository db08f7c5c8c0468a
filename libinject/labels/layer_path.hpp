// The layer that encloses what this thread does: its open PROFILE_SCOPEs and NVTX ranges, outermost
// first, joined with '.'.
//
// The text is kept only during discovery, since only new events need their layer.  Afterwards
// pushes are only counted, so that pops still match ranges that were opened before.
#pragma once

#include <cstdint>
#include <string>

namespace inline_prof::labels {

// Who pushed.  Each NVTX domain has a stack of its own (nvToolsExt.h 3, nvtxDomainCreate), and they
// need not nest in one another: a pop takes the innermost range of its own owner.
using RangeOwner = std::uintptr_t;
inline constexpr RangeOwner kScopeOwner = 1;         // PROFILE_SCOPE
inline constexpr RangeOwner kDefaultRangeOwner = 2;  // NVTX without a domain

// None of these allocates, locks, throws or changes errno.  A range with a null or empty `text`
// nests like others, but gives no layer.
void push_range(RangeOwner owner, const char* text) noexcept;
// A pop without a push does nothing.
void pop_range(RangeOwner owner) noexcept;

// A range that belongs to this thread until any thread ends it.  `id` is not 0 and not in use.
void start_range(std::uint64_t id, const char* text) noexcept;
void end_range(std::uint64_t id) noexcept;

// A range of this thread whose text changes, for an application that knows its whole path but not
// when it enters and leaves a layer.  `id` is chosen by the caller and not 0; a null or empty
// `text` removes the range.
void set_range(std::uint64_t id, const char* text) noexcept;
// The same, but the text is read from `*text` whenever it is needed; none if that is null.  For an
// application that changes its path often: it only stores a pointer.
void follow_range(std::uint64_t id, const char* const* text) noexcept;
// From any thread.
void end_set_range(std::uint64_t id) noexcept;

[[nodiscard]] std::string current_layer();

}  // namespace inline_prof::labels
