// CUPTI's own times of the kernels that we measured.
#pragma once

#include "record/run_record.hpp"

#include <cstdint>
#include <string>

namespace inline_prof::cupti {

// From now on CUPTI records every kernel.  Returns an empty string, or why it does not.
[[nodiscard]] std::string start_records();
void stop_records();

// Keeps the record with this correlation id.  Without memory the sample has no CUPTI time.
void keep_record_of(std::uint32_t correlation_id) noexcept;

// Flushes CUPTI's buffers and returns the times of the kept records that have arrived.
[[nodiscard]] record::CrossCheck collect_records();

}  // namespace inline_prof::cupti
