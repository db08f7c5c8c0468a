// The texts behind what NVTX calls pass: attributes, registered strings, domains.
#pragma once

#include "labels/layer_path.hpp"
#include "labels/nvtx_api.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace inline_prof::hook {

// --- texts

// As long as the path that they become part of; what is longer is cut.
using NvtxText = std::array<char, 257>;

// `wide` (UTF-32 on Linux) as UTF-8, in `buffer`.  U+FFFD stands for what is no code point.
const char* utf8_of(const wchar_t* wide, NvtxText& buffer) noexcept;

// The message of an event, valid as long as the call and `buffer`; null where it has none.
const char* text_of(const nvtxEventAttributes_t* attributes, NvtxText& buffer) noexcept;

// --- handles, which the application passes on; all of this may allocate, null names are taken

// One of ours, for a host without a tool of its own.
nvtxStringHandle_t string_handle(const char* text);
nvtxDomainHandle_t domain_handle(const char* name);

// A tool's, which the application gets; what stands behind it is remembered.
void remember_string(nvtxStringHandle_t tools, const char* text);
void remember_domain(nvtxDomainHandle_t tools, const char* name);

// Whose stack the ranges of `domain` are on.  kNoLayers: they are a library's own.
inline constexpr RangeOwner kNoLayers = 0;
RangeOwner owner_of(nvtxDomainHandle_t domain) noexcept;

// True for the domains in which NVIDIA's libraries mark their own calls (docs/layers.md).
bool is_library_domain(std::string_view name) noexcept;

}  // namespace inline_prof::hook
