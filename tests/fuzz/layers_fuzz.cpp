// Layers files: what is accepted has rules that say something, and globs that end.
#include "base/text.hpp"
#include "property.hpp"
#include "read/layers.hpp"

using namespace inline_prof;

void fuzz::check(const std::string& text) {
  const read::Layers layers = read::read_layers(text, "fuzz");
  for (const read::LayerRule& rule : layers.rules) {
    fuzz::require(!rule.match.empty(), "every rule has a pattern");
    fuzz::require(!rule.layer.empty() || rule.op, "every rule gives a layer or an op");
    static_cast<void>(base::glob_matches(rule.match, text));
    fuzz::require(base::glob_matches("*", rule.match), "a star fits everything");
  }
}
