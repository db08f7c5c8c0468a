// Keeps what nvcc's generated code registers before main: fat binaries, kernels and variables.
#pragma once

#include "runtime/driver_functions.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace simgpu {

struct HostVariable {
  std::string name;
  std::size_t bytes = 0;
  void** managed_pointer = nullptr;  // where the application keeps a managed variable's address
};

struct FatBinary {
  void* image = nullptr;
  std::map<const void*, std::string> kernels;     // host stub to mangled name
  std::map<const void*, HostVariable> variables;  // host shadow to variable
  CUlibrary library = nullptr;                    // null until first used
};

// Guarded by its mutex; the driver is called with it held, so it must not call back into the
// runtime.
class Images {
 public:
  [[nodiscard]] static Images& instance();

  FatBinary* add(void* image);
  void add_kernel(FatBinary& binary, const void* host_function, const char* name);
  void add_variable(FatBinary& binary, const void* host_variable, HostVariable variable);

  // Each returns the driver's code, or CUDA_ERROR_NOT_FOUND for what was never registered.
  CUresult kernel_of(const DriverFunctions& driver, const void* host_function, CUkernel& kernel);
  CUresult function_of(const DriverFunctions& driver, CUkernel kernel, CUfunction& function);
  CUresult variable_of(const DriverFunctions& driver, const void* symbol, CUdeviceptr& address,
                       std::size_t& bytes);
  CUresult place_managed(const DriverFunctions& driver, FatBinary& binary);
  void remove(FatBinary& binary);

  // After a reset of a device no function handle is valid any more.
  void forget_functions();

 private:
  CUresult load(const DriverFunctions& driver, FatBinary& binary);
  CUresult place_managed_locked(const DriverFunctions& driver, FatBinary& binary);

  std::mutex mutex_;
  std::unordered_map<const void*, FatBinary*> binary_of_kernel_;
  std::unordered_map<const void*, FatBinary*> binary_of_variable_;
  std::unordered_map<const void*, CUkernel> kernels_;
  std::map<std::pair<CUcontext, CUkernel>, CUfunction> functions_;
};

}  // namespace simgpu
