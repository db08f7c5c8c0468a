// Clocks, power and temperature while it is measured, from NVML.
#pragma once

#include "measure/dynamic_library.hpp"

#include <optional>

namespace inline_prof::measure {

struct GpuState {
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<unsigned> temperature_c;
};

class GpuStateReader {
 public:
  // Throws Skipped where NVML is absent or does not know the device (a CUDA device number).
  explicit GpuStateReader(int device);

  [[nodiscard]] GpuState read() const;

 private:
  DynamicLibrary library_;
  void* device_ = nullptr;
  // Signatures as in nvml.h; its results are enumerators, 0 is success.
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
};

}  // namespace inline_prof::measure
