#pragma once

#include "measure/case.hpp"
#include "measure/suites.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace inline_prof::measure {

// Vendor libraries that may be absent: a case that needs one is skipped with the reason.
class DynamicLibrary {
 public:
  // The address of a function, which becomes a pointer of whatever type it is assigned to.
  struct Address {
    void* value;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(value);
    }
  };

  // Loads the first of these names that can be loaded.  Throws Skipped with the loader's words.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  // Throws Skipped if the library lacks the function.
  [[nodiscard]] Address find(const char* name) const;
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  std::string name_;
  void* handle_ = nullptr;  // stays loaded: threads of such a library may still run at exit
};

// The GPU that is measured on: one stream, and one block of memory from which every case takes what
// it needs.

// A failed CUDA call; after most errors the context is lost.
class GpuError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void check(cudaError_t result, const char* what);

class Gpu {
 public:
  // Throws Skipped if there is no GPU or too little memory.
  Gpu(int device, std::size_t most_memory_bytes);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& driver_version() const { return driver_version_; }
  [[nodiscard]] const GpuFacts& facts() const { return facts_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] std::int64_t cycles(double duration_us) const;
  [[nodiscard]] std::size_t memory_bytes() const { return memory_bytes_; }

  // Returns memory until give_back(), aligned to 256 bytes.  Throws Skipped if there is too little.
  [[nodiscard]] void* take(std::size_t bytes);
  void give_back() { taken_bytes_ = 0; }
  // Returns memory of twice the L2, apart from that of the cases.
  [[nodiscard]] void* flush_memory() const { return flush_memory_; }
  [[nodiscard]] std::size_t flush_bytes() const;

 private:
  int device_;
  std::string name_;
  std::string driver_version_;
  GpuFacts facts_;
  double clock_mhz_ = 0;
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  std::size_t taken_bytes_ = 0;
  void* flush_memory_ = nullptr;
};

// Clocks, power and temperature, as far as NVML tells them.
struct GpuState {
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<unsigned> temperature_c;
};

class GpuStateReader {
 public:
  // Throws Skipped if NVML is absent or does not know the device (a CUDA device number).
  explicit GpuStateReader(int device);

  [[nodiscard]] GpuState read() const;

 private:
  DynamicLibrary library_{"libnvidia-ml.so.1"};
  void* device_ = nullptr;
  // Signatures as in nvml.h; its results are enumerators, 0 is success.
  int (*clock_)(void*, int, unsigned*) = library_.find("nvmlDeviceGetClockInfo");
  int (*power_)(void*, unsigned*) = library_.find("nvmlDeviceGetPowerUsage");
  int (*temperature_)(void*, int, unsigned*) = library_.find("nvmlDeviceGetTemperature");
};

// A case made ready: memory taken and filled, handles made.
struct Work {
  std::function<void(cudaStream_t)> run;
  std::string library;          // "cublas 13.1.0"; empty for our own kernels
  bool stand_in = false;        // another kernel than the one that a run had
  std::int64_t algorithm = -1;  // its number, where the library has several
};

struct LaunchedKernel {
  std::string name;  // as the driver spells it
  std::int64_t blocks = 0;
};

// Captures the work into a graph and returns the kernels of its nodes; none if the work cannot be
// captured or the driver is too old to tell names.
[[nodiscard]] std::vector<LaunchedKernel> launched_kernels(const Work& work, const Gpu& gpu);

// Returns the one that multiplies, if its name says so, else the first; null for none.
[[nodiscard]] const LaunchedKernel* main_kernel(const std::vector<LaunchedKernel>& kernels);

}  // namespace inline_prof::measure
