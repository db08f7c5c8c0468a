// A context of the simulated driver with a module of empty kernels, for tests of one API call each.
#pragma once

#include "simgpu.h"

#include <cuda.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace simgpu {

// The default model gives a kernel 2 us and 0.001 us per block.
constexpr unsigned kBlocksFor10us = 8000;
constexpr unsigned kBlocksFor100us = 98000;

// Calls a driver function that must succeed.  Returns what it writes to its first parameter.
template <typename Value, typename... Rest>
Value out(CUresult (*function)(Value*, Rest...), std::type_identity_t<Rest>... rest) {
  Value value{};
  EXPECT_EQ(function(&value, rest...), CUDA_SUCCESS);
  return value;
}

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGet(&device_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate(&context_, nullptr, 0, device_), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module_, kPtx), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel_, module_, "empty"), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cuCtxDestroy(context_), CUDA_SUCCESS); }

  // 2 us + 0.001 us per block.
  CUresult launch(CUstream stream, unsigned blocks = kBlocksFor10us) {
    return cuLaunchKernel(kernel_, blocks, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
  }
  // By cuLaunchKernelEx.
  CUresult launch_with(CUlaunchAttribute* attribute, unsigned blocks = 1) {
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    config.attrs = attribute;
    config.numAttrs = attribute != nullptr ? 1 : 0;
    return cuLaunchKernelEx(&config, kernel_, nullptr, nullptr);
  }
  // Keeps the device busy for long enough that the host is ahead of it in what follows.
  void occupy(CUstream stream) {
    ASSERT_EQ(launch(stream, 1000000), CUDA_SUCCESS);  // 1002 us
  }
  CUevent new_event(unsigned flags = CU_EVENT_DEFAULT) { return out(cuEventCreate, flags); }
  CUevent record(CUstream stream) {
    CUevent event = new_event();
    EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
    return event;
  }
  // Waits for both.
  static double elapsed_us(CUevent start, CUevent end) {
    EXPECT_EQ(cuEventSynchronize(start), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    float milliseconds = out(cuEventElapsedTime, start, end);
    return static_cast<double>(milliseconds) * 1e3;
  }
  template <typename Value>
  static Value read(CUdeviceptr address) {
    Value value{};
    EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof value), CUDA_SUCCESS);
    return value;
  }
  // A 32-bit word that both the host and streams can see.
  volatile std::uint32_t* new_word(CUdeviceptr& address) {
    void* host = out(cuMemHostAlloc, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP);
    EXPECT_EQ(cuMemHostGetDevicePointer(&address, host, 0), CUDA_SUCCESS);
    return static_cast<volatile std::uint32_t*>(host);
  }

  static constexpr const char* kPtx =
      "//\n.version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry empty()\n{\n  ret;\n}\n"
      ".visible .entry other()\n{\n  ret;\n}\n";

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace simgpu
