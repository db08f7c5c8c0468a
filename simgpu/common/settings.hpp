// Every SIMGPU_* variable, read once.  reference.md describes them for users.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simgpu {

class SettingsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// SIMGPU_FAIL=FUNCTION[:CODE|:hang][:after=N][:count=M],...
struct FailRule {
  std::string function;     // as exported, or without _v2, _ptsz, _ptds
  std::optional<int> code;  // unset: the library's own "launch failed"
  bool hangs = false;       // the call never returns
  std::uint64_t after = 0;  // calls that pass before the first failure
  std::uint64_t count = UINT64_MAX;
};

struct Settings {
  std::string model_file;  // empty: the one beside libcuda.so.1
  int device_count = 1;
  std::uint64_t seed = 1;
  // Factor on the host's costs, or on real time: below 1 the host runs further ahead.
  double host_speed = 1.0;
  bool real_host_clock = false;  // it follows real time, and waiting takes real time
  std::string truth_file;
  std::uint64_t truth_durations = 1000;  // per row of the truth file
  std::string log_file;
  std::string timeline_file;
  std::string readings_file;  // what NVML reads, asked for anew at each call
  bool null_launch = false;
  bool launch_blocking = false;        // a launch returns when it has run
  bool launch_kernel_handles = false;  // the runtime launches CUkernel handles, not CUfunctions
  double hang_limit_s = 30.0;          // real time that a synchronising call waits for the host
  std::vector<FailRule> fail_rules;
  std::vector<std::string> missing;    // base names of driver functions
  std::optional<int> runtime_version;  // unset: that of the toolkit

  // Unset: what the model file says.
  std::optional<double> pair_bias_us, pair_jitter_us, kernel_pair_bias_us, graph_pair_bias_us;
  std::optional<double> event_resolution_us, noise;
  std::optional<int> queue_depth, driver_version;
};

// `environment` holds NAME=VALUE entries; others than SIMGPU_* and CUDA_LAUNCH_BLOCKING are
// ignored. Throws SettingsError with a sentence that names variable, value and what is allowed.
[[nodiscard]] Settings parse_settings(const std::vector<std::string_view>& environment);

// The settings of this process; `error` is set when they cannot be used (the rest is then default).
struct ProcessSettings {
  Settings settings;
  std::string error;
};
[[nodiscard]] const ProcessSettings& process_settings();

// cuMemAlloc for cuMemAlloc_v2, cuEventRecord for cuEventRecord_ptsz.
[[nodiscard]] std::string_view base_name(std::string_view function);

}  // namespace simgpu
