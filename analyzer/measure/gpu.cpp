#include "measure/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace inline_prof::measure {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr double kShareOfFreeMemory = 0.8;
constexpr std::size_t kLeastMemory = std::size_t{64} << 20;

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

// Throws Skipped for a driver of an older major version, which lacks functions that the runtime
// calls.
void require_driver() {
  int driver = 0;
  int runtime = 0;
  // count_devices() reports a missing driver.
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  if (driver / 1000 >= runtime / 1000) return;
  throw Skipped(fmt::format("the driver knows CUDA {}.{}, this program was built for CUDA {}.{}",
                            driver / 1000, driver % 1000 / 10, runtime / 1000,
                            runtime % 1000 / 10));
}

int count_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) {
    throw Skipped(fmt::format("no GPU can be used: {}", cudaGetErrorString(result)));
  }
  if (count == 0) throw Skipped("there is no GPU");
  return count;
}

}  // namespace

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw GpuError(
      fmt::format("{}: {} ({})", what, cudaGetErrorName(result), cudaGetErrorString(result)));
}

Gpu::Gpu(int device, std::size_t most_memory_bytes) : device_(device) {
  require_driver();
  const int count = count_devices();
  if (device < 0 || device >= count) {
    throw Skipped(fmt::format("there is no GPU {}: {} found", device, count));
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  name_ = properties.name;
  facts_ = {.sm_count = attribute(cudaDevAttrMultiProcessorCount, device),
            .l2_bytes = attribute(cudaDevAttrL2CacheSize, device),
            .device_count = count};
  clock_mhz_ = attribute(cudaDevAttrClockRate, device) * 1e-3;
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  driver_version_ = fmt::format("CUDA {}.{}", driver / 1000, driver % 1000 / 10);

  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  memory_bytes_ =
      std::min(most_memory_bytes,
               static_cast<std::size_t>(kShareOfFreeMemory * static_cast<double>(free_bytes)));
  if (memory_bytes_ < kLeastMemory + flush_bytes()) {
    throw Skipped(fmt::format("too little memory: {} MiB are free, {} MiB may be taken",
                              free_bytes >> 20, memory_bytes_ >> 20));
  }
  memory_bytes_ -= flush_bytes();
  check(cudaMalloc(&memory_, memory_bytes_), "cudaMalloc");
  check(cudaMalloc(&flush_memory_, flush_bytes()), "cudaMalloc");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

Gpu::~Gpu() {
  static_cast<void>(cudaStreamDestroy(stream_));
  static_cast<void>(cudaFree(flush_memory_));
  static_cast<void>(cudaFree(memory_));
}

std::int64_t Gpu::cycles(double duration_us) const {
  return static_cast<std::int64_t>(duration_us * clock_mhz_);
}

std::size_t Gpu::flush_bytes() const {
  return 2 * static_cast<std::size_t>(std::max<std::int64_t>(facts_.l2_bytes, 1 << 20));
}

void* Gpu::take(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes || rounded > memory_bytes_ - taken_bytes_) {
    throw Skipped(fmt::format("needs {} MiB more, {} of {} MiB are left", rounded >> 20,
                              (memory_bytes_ - taken_bytes_) >> 20, memory_bytes_ >> 20));
  }
  void* start = static_cast<std::byte*>(memory_) + taken_bytes_;
  taken_bytes_ += rounded;
  return start;
}

GpuStateReader::GpuStateReader(int device) {
  int (*start)() = library_.find("nvmlInit_v2");
  int (*by_bus)(const char*, void**) = library_.find("nvmlDeviceGetHandleByPciBusId_v2");
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
        "cudaDeviceGetPCIBusId");
  int result = start();
  if (result == 0) result = by_bus(bus.data(), &device_);
  if (result != 0) throw Skipped(fmt::format("NVML answers {} for {}", result, bus.data()));
}

GpuState GpuStateReader::read() const {
  constexpr int kSmClock = 1, kMemoryClock = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
  constexpr int kGpuTemperature = 0;             // NVML_TEMPERATURE_GPU
  GpuState state;
  unsigned value = 0;
  if (clock_(device_, kSmClock, &value) == 0) state.sm_clock_mhz = value;
  if (clock_(device_, kMemoryClock, &value) == 0) state.memory_clock_mhz = value;
  if (power_(device_, &value) == 0) state.power_w = value * 1e-3;  // it counts milliwatts
  if (temperature_(device_, kGpuTemperature, &value) == 0) state.temperature_c = value;
  return state;
}

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  std::string first_error;
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* words = dlerror();  // NOLINT(concurrency-mt-unsafe): one thread loads libraries
    if (first_error.empty()) first_error = words == nullptr ? "no reason given" : words;
  }
  throw Skipped(first_error);
}

DynamicLibrary::Address DynamicLibrary::find(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw Skipped(fmt::format("{} has no {}", name_, name));
  return {found};
}

}  // namespace inline_prof::measure
