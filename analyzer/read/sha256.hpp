#pragma once

#include <string>
#include <string_view>

namespace inline_prof::read {

// The SHA-256 digest of `bytes` as 64 hexadecimal digits (FIPS 180-4), which names the tables that
// parameters were fitted to.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace inline_prof::read
