// Attention: prompts, encoders, and decoding with a cache (by_source/README.md).
#pragma once

#include "model/calibrated/by_source/by_source.hpp"

namespace inline_prof::model {

// Queries see the keys up to their own place.
[[nodiscard]] const SourceForm& attention_prompts_form();
// Every query sees every key.
[[nodiscard]] const SourceForm& attention_encoders_form();
// One query for each sequence, against the cache of those before it.
[[nodiscard]] const SourceForm& attention_decoding_form();

}  // namespace inline_prof::model
