// CUPTI's own times of the kernels that we measured.
#pragma once

#include "record/run_record.hpp"

#include <cstdint>
#include <string>

namespace inline_prof::hook::cupti {

// From now on CUPTI records every kernel.  Returns an empty string, or why it does not.
[[nodiscard]] std::string start_records();
void stop_records();

// Of all the records the one with this correlation id is wanted.  Refused silently where there is
// no memory.
void keep_record_of(std::uint32_t correlation_id) noexcept;

// Asks CUPTI for the kernels that have ended, and gives the wanted ones so far.
[[nodiscard]] record::CrossCheck collect_records();

}  // namespace inline_prof::hook::cupti
