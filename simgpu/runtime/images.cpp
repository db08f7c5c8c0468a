#include "runtime/images.hpp"

#include <utility>

namespace simgpu {

Images& Images::instance() {
  static auto* const images = new Images;  // nvcc's atexit handlers come late
  return *images;
}

FatBinary* Images::add(void* image) {
  auto* binary = new FatBinary;
  binary->image = image;
  return binary;
}

void Images::add_kernel(FatBinary& binary, const void* host_function, const char* name) {
  const std::lock_guard lock(mutex_);
  binary.kernels[host_function] = name;
  binary_of_kernel_[host_function] = &binary;
}

void Images::add_variable(FatBinary& binary, const void* host_variable, HostVariable variable) {
  const std::lock_guard lock(mutex_);
  binary.variables[host_variable] = std::move(variable);
  binary_of_variable_[host_variable] = &binary;
}

void Images::remove(FatBinary& binary) {
  const std::lock_guard lock(mutex_);
  for (const auto& [stub, name] : binary.kernels) {
    binary_of_kernel_.erase(stub);
    kernels_.erase(stub);
  }
  for (const auto& [shadow, variable] : binary.variables)
    binary_of_variable_.erase(shadow);
  delete &binary;  // the driver keeps the library: handles may still be in use at exit
}

void Images::forget_functions() {
  const std::lock_guard lock(mutex_);
  functions_.clear();
}

CUresult Images::load(const DriverFunctions& driver, FatBinary& binary) {
  if (binary.library != nullptr) return CUDA_SUCCESS;
  std::vector<const char*> kernels;
  for (const auto& [stub, name] : binary.kernels)
    kernels.push_back(name.c_str());
  std::vector<simgpu_variable> variables;
  for (const auto& [shadow, variable] : binary.variables) {
    variables.push_back({.name = variable.name.c_str(),
                         .bytes = variable.bytes,
                         .managed = variable.managed_pointer != nullptr ? 1 : 0});
  }
  const simgpu_image description{.image = binary.image,
                                 .kernels = kernels.data(),
                                 .kernel_count = kernels.size(),
                                 .variables = variables.data(),
                                 .variable_count = variables.size()};
  if (const int code = driver.register_image(&description); code != 0) {
    return static_cast<CUresult>(code);
  }
  // A first launch may come during a capture; loading code is none of the captured work.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.thread_exchange_stream_capture_mode(&mode);
  const CUresult result = driver.library_load_data(&binary.library, binary.image, nullptr, nullptr,
                                                   0, nullptr, nullptr, 0);
  driver.thread_exchange_stream_capture_mode(&mode);
  return result;
}

CUresult Images::kernel_of(const DriverFunctions& driver, const void* host_function,
                           CUkernel& kernel) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(host_function); known != kernels_.end()) {
    kernel = known->second;
    return CUDA_SUCCESS;
  }
  const auto owner = binary_of_kernel_.find(host_function);
  if (owner == binary_of_kernel_.end()) return CUDA_ERROR_NOT_FOUND;
  FatBinary& binary = *owner->second;
  if (const CUresult result = load(driver, binary); result != CUDA_SUCCESS) return result;
  const CUresult result =
      driver.library_get_kernel(&kernel, binary.library, binary.kernels.at(host_function).c_str());
  if (result == CUDA_SUCCESS) kernels_[host_function] = kernel;
  return result;
}

CUresult Images::function_of(const DriverFunctions& driver, CUkernel kernel, CUfunction& function) {
  CUcontext context = nullptr;
  if (const CUresult result = driver.ctx_get_current(&context); result != CUDA_SUCCESS) {
    return result;
  }
  const std::lock_guard lock(mutex_);
  auto& known = functions_[{context, kernel}];
  if (known == nullptr) {
    if (const CUresult result = driver.kernel_get_function(&known, kernel);
        result != CUDA_SUCCESS) {
      functions_.erase({context, kernel});
      return result;
    }
  }
  function = known;
  return CUDA_SUCCESS;
}

CUresult Images::variable_of(const DriverFunctions& driver, const void* symbol,
                             CUdeviceptr& address, std::size_t& bytes) {
  const std::lock_guard lock(mutex_);
  const auto owner = binary_of_variable_.find(symbol);
  if (owner == binary_of_variable_.end()) return CUDA_ERROR_NOT_FOUND;
  FatBinary& binary = *owner->second;
  if (const CUresult result = load(driver, binary); result != CUDA_SUCCESS) return result;
  return driver.library_get_global(&address, &bytes, binary.library,
                                   binary.variables.at(symbol).name.c_str());
}

CUresult Images::place_managed(const DriverFunctions& driver, FatBinary& binary) {
  const std::lock_guard lock(mutex_);
  return place_managed_locked(driver, binary);
}

CUresult Images::place_managed_locked(const DriverFunctions& driver, FatBinary& binary) {
  if (const CUresult result = load(driver, binary); result != CUDA_SUCCESS) return result;
  std::map<const void*, HostVariable> placed;
  for (const auto& [shadow, variable] : binary.variables) {
    if (variable.managed_pointer == nullptr) continue;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult result =
        driver.library_get_managed(&address, &bytes, binary.library, variable.name.c_str());
    if (result != CUDA_SUCCESS) return result;
    *variable.managed_pointer = reinterpret_cast<void*>(address);
    // The program names the variable by its address from now on.
    placed[*variable.managed_pointer] = variable;
  }
  for (auto& [address, variable] : placed) {
    binary_of_variable_[address] = &binary;
    binary.variables.emplace(address, variable);
  }
  return CUDA_SUCCESS;
}

}  // namespace simgpu
