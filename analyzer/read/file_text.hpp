#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace inline_prof::read {

// The largest input that is read.  512 events with 50 samples each make about 1 MB; 1 GiB is a
// thousand times that, and still fits into the memory of a login node.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// Free bytes that stand behind the text (std::string::capacity), so that a parser may load whole
// vectors at its end.
inline constexpr std::size_t kPaddingBytes = 64;

// The whole content of a file, a pipe or a FIFO.
// Throws InputError if it cannot be opened or read, is a directory or a device, or is longer than
// `limit`; a regular file that is too long is refused before anything of it is read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file,
                                    std::size_t limit = kMaxFileBytes);

// True for text that begins as gzip's files do (RFC 1952, section 2.3.1).
[[nodiscard]] bool is_gzip(std::string_view text);

// Returns `text` as a gzip file has it.
[[nodiscard]] std::string gzip(std::string_view text);

// Returns what was compressed, with kPaddingBytes of room behind it.  A file that is cut off gives
// what could be read of it.  `label` is what messages call the file. Throws InputError: damaged, or
// longer than `limit` once it is read.
[[nodiscard]] std::string gunzip(std::string_view compressed, const std::string& label,
                                 std::size_t limit);

// Returns the first bytes of a regular file, decompressed if need be: enough to tell its format.
// Empty for anything else, which may be read only once.
[[nodiscard]] std::string read_beginning(const std::filesystem::path& file, std::size_t bytes);

}  // namespace inline_prof::read
