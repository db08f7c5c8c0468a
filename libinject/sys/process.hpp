// Facts about this process that go into prof.json and into its name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace inline_prof::sys {

// Reads what fits into `room`; empty if the file cannot be read.
[[nodiscard]] std::string_view beginning_of(const char* path, std::span<char> room) noexcept;

[[nodiscard]] std::string host_name();     // "unknown" if it cannot be determined
[[nodiscard]] std::string command_name();  // last part of the program's path; the script of Python
[[nodiscard]] std::string utc_time_now();  // 2026-11-21T01:02:03Z

// Returns the version in "NVRM version: ... 580.159.03 ..." of /proc/driver/nvidia/version; empty
// without the kernel driver.
[[nodiscard]] std::string kernel_driver_version();

}  // namespace inline_prof::sys
