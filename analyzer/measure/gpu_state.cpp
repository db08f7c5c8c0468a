#include "measure/gpu_state.hpp"

#include "measure/case.hpp"
#include "measure/gpu.hpp"

#include <fmt/format.h>

#include <array>

namespace inline_prof::measure {
namespace {

constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;     // NVML_CLOCK_MEM
constexpr int kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU

}  // namespace

GpuStateReader::GpuStateReader(int device) : library_({"libnvidia-ml.so.1"}) {
  int (*start)() = nullptr;
  int (*by_bus)(const char*, void**) = nullptr;
  library_.find(start, "nvmlInit_v2");
  library_.find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  library_.find(clock_, "nvmlDeviceGetClockInfo");
  library_.find(power_, "nvmlDeviceGetPowerUsage");
  library_.find(temperature_, "nvmlDeviceGetTemperature");
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
        "cudaDeviceGetPCIBusId");
  int result = start();
  if (result == 0) result = by_bus(bus.data(), &device_);
  if (result != 0) throw Skipped(fmt::format("NVML answers {} for {}", result, bus.data()));
}

GpuState GpuStateReader::read() const {
  GpuState state;
  unsigned value = 0;
  if (clock_(device_, kSmClock, &value) == 0) state.sm_clock_mhz = value;
  if (clock_(device_, kMemoryClock, &value) == 0) state.memory_clock_mhz = value;
  if (power_(device_, &value) == 0) state.power_w = value * 1e-3;  // it counts milliwatts
  if (temperature_(device_, kGpuTemperature, &value) == 0) state.temperature_c = value;
  return state;
}

}  // namespace inline_prof::measure
