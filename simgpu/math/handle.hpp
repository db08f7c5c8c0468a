// What the handles of all math libraries have in common: a context, and kernels loaded into it.
#pragma once

#include "math/driver_functions.hpp"
#include "simgpu.h"

#include <array>
#include <library_types.h>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace simgpu {

// One kernel of a library call.
struct KernelCall {
  std::string name;
  std::array<unsigned, 3> grid{1, 1, 1};
  unsigned threads = 128;
  simgpu_work work{};
};

enum class LaunchBy { kLaunchKernel, kLaunchKernelEx };

// cuBLAS 13.0, cublasLtHandle_t: a cublasHandle_t may be cast to a cublasLtHandle_t.  So a handle
// of either library begins with this, and goes on working with the driver functions of its maker.
class MathHandle {
 public:
  MathHandle(const DriverFunctions& driver, LaunchBy launch_by)
      : driver_(driver), launch_by_(launch_by) {}
  ~MathHandle();
  MathHandle(const MathHandle&) = delete;
  MathHandle& operator=(const MathHandle&) = delete;

  // Initialises the driver, and gives a thread without a context the first device's primary one, as
  // the runtime inside the vendor's libraries does.
  [[nodiscard]] CUresult open();

  // Launches in order; stops at the first that fails.  A kernel is loaded at its first launch.
  [[nodiscard]] CUresult launch(CUstream stream, const std::vector<KernelCall>& calls);

  // Launches, waits, and gives the time in ms between an event before and one after.
  [[nodiscard]] CUresult time(CUstream stream, const std::vector<KernelCall>& calls,
                              float& milliseconds);

  [[nodiscard]] int sm_count() const { return sm_count_; }

 private:
  struct LoadedKernel {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
  };
  [[nodiscard]] CUresult load(const std::string& name, CUfunction& function);

  const DriverFunctions& driver_;
  LaunchBy launch_by_;
  int sm_count_ = 1;
  std::mutex mutex_;
  std::unordered_map<std::string, LoadedKernel> kernels_;
};

// What cublasGetProperty and its like say of a version; false for what is no part of one.
[[nodiscard]] inline bool version_part(libraryPropertyType part, const std::array<int, 3>& version,
                                       int* value) {
  if (value == nullptr || part < MAJOR_VERSION || part > PATCH_LEVEL) return false;
  *value = version.at(static_cast<std::size_t>(part));
  return true;
}

// Blocks of `size` that cover `extent`.
[[nodiscard]] inline unsigned blocks_for(double extent, double size) {
  const double blocks = (extent + size - 1) / size;
  return blocks < 1.0 ? 1U : static_cast<unsigned>(blocks);
}

}  // namespace simgpu
