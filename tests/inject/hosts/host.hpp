// What the test programs have in common: checked calls, a context, and kernels that do nothing.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace host {

// Without exit handlers: a program that fails may be in no state to run them.
[[noreturn]] inline void fail(const char* what, int code) {
  std::printf("host: %s (%d)\n", what, code);
  std::fflush(stdout);
  std::_Exit(1);
}

// For results of the driver and of the libraries: 0 is success in all of them.
inline void check(int result, const char* what) {
  if (result != 0) fail(what, result);
}
#define CHECK(call) host::check(static_cast<int>(call), #call)

// The device's primary context, current on this thread.
inline CUcontext open_context(int index = 0) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, index));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

inline CUstream open_stream() {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// A device address that calls take as a pointer.
inline void* device_memory(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, bytes));
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): a number to CUDA
}

// Kernels of one module that return at once.
inline std::vector<CUfunction> load_kernels(const std::vector<std::string>& names) {
  std::string text = ".version 6.0\n.target sm_50\n.address_size 64\n";
  for (const std::string& name : names)
    text += ".visible .entry " + name + "()\n{\nret;\n}\n";
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, text.c_str()));
  std::vector<CUfunction> kernels(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    CHECK(cuModuleGetFunction(&kernels[i], module, names[i].c_str()));
  return kernels;
}

// kernel_0_, kernel_1_, ...
inline std::vector<CUfunction> load_numbered_kernels(int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    names.push_back("kernel_" + std::to_string(i) + "_");
  return load_kernels(names);
}

}  // namespace host
