// SIMGPU_LOG.
#pragma once

#include <string>

namespace simgpu {

// Appends a line to the log, if there is one.
void write_log(std::string line);

}  // namespace simgpu
