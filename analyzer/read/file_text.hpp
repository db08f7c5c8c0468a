#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

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

}  // namespace inline_prof::read
