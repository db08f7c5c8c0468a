// The args of an event, which stand in the trace's text as they were written.  Include this in .cpp
// files only: it brings a JSON library.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::read::torch_trace {

// Calls visit(key, value) for every member of `text`, a part of the trace's text or empty.  What
// cannot be read as `visit` expects counts as not recorded, and so do the members behind it.
template <typename Visit>
void each_argument(std::string_view text, Visit&& visit) {
  if (text.empty()) return;
  static thread_local simdjson::ondemand::parser parser;
  try {
    // The trace's text goes on behind this part of it.
    simdjson::ondemand::document document = parser.iterate(simdjson::padded_string_view(
        text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING));
    for (auto field : document.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      simdjson::ondemand::value value = field.value();
      visit(key, value);
    }
  } catch (const simdjson::simdjson_error&) {
    return;
  }
}

}  // namespace inline_prof::read::torch_trace
