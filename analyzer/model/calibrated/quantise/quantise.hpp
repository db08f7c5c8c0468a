// Quantisation: 16-bit numbers become 8-bit ones with a scale (by_source/README.md).
#pragma once

#include "model/calibrated/by_source/by_source.hpp"

namespace inline_prof::model {

[[nodiscard]] const SourceForm& quantise_form();

}  // namespace inline_prof::model
