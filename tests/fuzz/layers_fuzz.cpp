// Layers files: what is accepted has rules that say something, and globs that end.
#include "base/text.hpp"
#include "property.hpp"
#include "read/layers.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inline_prof;
  const auto text = fuzz::as_text(data, size);
  try {
    const read::Layers layers = read::read_layers(text, "fuzz");
    for (const read::LayerRule& rule : layers.rules) {
      fuzz::require(!rule.match.empty(), "every rule has a pattern");
      fuzz::require(!rule.layer.empty() || rule.op, "every rule gives a layer or an op");
      static_cast<void>(base::glob_matches(rule.match, text));
      fuzz::require(base::glob_matches("*", rule.match), "a star fits everything");
    }
  } catch (const read::InputError&) {
  }
  return 0;
}
