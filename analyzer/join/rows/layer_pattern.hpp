#pragma once

#include <string>
#include <string_view>

namespace inline_prof::join {

// Returns "Block_*/Linear_*" for "Block_12/Linear_36" and "blocks.*.attn" for "blocks.3.attn":
// layers that differ in their numbers only have one pattern.
[[nodiscard]] std::string layer_pattern(std::string_view layer);

}  // namespace inline_prof::join
