#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace inline_prof::read {

// True for text that begins as gzip's files do (RFC 1952, section 2.3.1).
[[nodiscard]] bool is_gzip(std::string_view text);

// Returns what was compressed, with kPaddingBytes of room behind it.  A file that is cut off gives
// what could be read of it.  `label` is what messages call the file. Throws InputError: damaged, or
// longer than `limit` once it is read.
[[nodiscard]] std::string gunzip(std::string_view compressed, const std::string& label,
                                 std::size_t limit);

// Returns the first bytes of a regular file, decompressed if need be: enough to tell its format.
// Empty for anything else, which may be read only once.
[[nodiscard]] std::string read_beginning(const std::filesystem::path& file, std::size_t bytes);

}  // namespace inline_prof::read
