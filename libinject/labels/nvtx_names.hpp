// The texts of what is passed to NVTX: event attributes, registered strings, domains.
#pragma once

#include "labels/layer_path.hpp"
#include "labels/nvtx_api.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace inline_prof::labels {

// --- texts

// As long as a layer path may be; longer texts are cut.
using NvtxText = std::array<char, 257>;

// `wide` (UTF-32 on Linux) as UTF-8, in `buffer`.  U+FFFD replaces what is no code point.
const char* utf8_of(const wchar_t* wide, NvtxText& buffer) noexcept;

// The message of an event, valid during the call and while `buffer` exists; null if there is none.
const char* text_of(const nvtxEventAttributes_t* attributes, NvtxText& buffer) noexcept;

// --- handles.  These may allocate; names may be null.

// A handle of our own, if no tool is chained.
nvtxStringHandle_t string_handle(const char* text);
nvtxDomainHandle_t domain_handle(const char* name);

// A handle of the chained tool, which the application gets; its text is remembered.
void remember_string(nvtxStringHandle_t tools, const char* text);
void remember_domain(nvtxDomainHandle_t tools, const char* name);

// Which stack the ranges of `domain` are on.  kNoLayers: the domain belongs to a library.
inline constexpr RangeOwner kNoLayers = 0;
RangeOwner owner_of(nvtxDomainHandle_t domain) noexcept;

// True for domains in which NVIDIA's libraries annotate their own calls (docs/layers.md).
bool is_library_domain(std::string_view name) noexcept;

}  // namespace inline_prof::labels
