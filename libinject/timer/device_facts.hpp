#pragma once

#include "record/run_record.hpp"

#include <cuda.h>

#include <map>
#include <string>

namespace inline_prof::timer {

// Adds what the driver says about `device`, once per device. The device's number in prof.json is
// the process's own ordinal, as CUDA_VISIBLE_DEVICES leaves it.
void add_device_facts(record::RunRecord& run, CUdevice device);

// Returns true for the driver of the simulated GPU.
[[nodiscard]] bool driver_is_simulated();

// Returns the versions of the vendor libraries that are loaded now: {"cublas": "13.1.0"}.
[[nodiscard]] std::map<std::string, std::string> loaded_library_versions();

}  // namespace inline_prof::timer
