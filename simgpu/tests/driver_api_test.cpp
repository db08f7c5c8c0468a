// Entry points, contexts, modules, memory of the simulated driver.
#include "driver_fixture.hpp"

#include <array>
#include <dlfcn.h>
#include <string>
#include <utility>
#include <vector>

namespace simgpu {
namespace {

class ProcAddress : public DriverTest {
 protected:
  static std::pair<void*, CUdriverProcAddressQueryResult> find(const char* name, int version,
                                                               cuuint64_t flags) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(cuGetProcAddress(name, &address, version, flags, &status), CUDA_SUCCESS);
    return {address, status};
  }
  static constexpr void* kNone = nullptr;
};
class Contexts : public DriverTest {};
class Modules : public DriverTest {};
class Memory : public DriverTest {};
class Launch : public DriverTest {};
class Device : public DriverTest {};

// cuda.h, cuGetProcAddress: "CUDA_SUCCESS and set the returned pfn to NULL".
TEST_F(ProcAddress, OfAnUnknownNameOrTooOldAVersionIsNullAndSaysSo) {
  EXPECT_EQ(find("cuNoSuchFunction", 13000, 0),
            std::pair(kNone, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
  EXPECT_EQ(find("cuLaunchKernelEx", 11000, 0),
            std::pair(kNone, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
}

TEST_F(ProcAddress, WhatIsNotSimulatedIsFoundAndSaysNotSupported) {
  const auto [address, status] = find("cuTexObjectCreate", 13000, 0);
  ASSERT_NE(address, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  const auto create = reinterpret_cast<decltype(&cuTexObjectCreate)>(address);
  EXPECT_EQ(create(nullptr, nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ProcAddress, NewerThanTheDriverIsInvalid) {
  void* address = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuLaunchKernel", &address, 13010, 0, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ProcAddress, VersionChoosesTheSignature) {
  EXPECT_EQ(find("cuEventElapsedTime", 12080, 0).first, find("cuEventElapsedTime", 13000, 0).first);
  EXPECT_NE(find("cuEventElapsedTime", 2000, 0).first, find("cuEventElapsedTime", 12080, 0).first);
  EXPECT_EQ(find("cuMemAlloc", 13000, 0).first, reinterpret_cast<void*>(&cuMemAlloc));
}

TEST_F(ProcAddress, FlagsChooseTheDefaultStream) {
  constexpr auto per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_NE(find("cuLaunchKernel", 7000, per_thread).first, find("cuLaunchKernel", 7000, 0).first);
  EXPECT_EQ(find("cuLaunchKernel", 4000, per_thread).first, find("cuLaunchKernel", 4000, 0).first)
      << "before CUDA 7.0 there was no per-thread variant";
  EXPECT_EQ(find("cuEventQuery", 13000, per_thread).first, find("cuEventQuery", 13000, 0).first);
}

TEST_F(ProcAddress, IsItselfInBothVersions) {
  EXPECT_EQ(find("cuGetProcAddress", 12000, 0).first, reinterpret_cast<void*>(&cuGetProcAddress));
  const auto first = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      find("cuGetProcAddress", 11030, 0).first);
  void* address = nullptr;
  EXPECT_EQ(first("cuLaunchKernel", &address, 13000, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, reinterpret_cast<void*>(&cuLaunchKernel));
  EXPECT_EQ(first("cuNoSuchFunction", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
}

// Each version of a function whose signature has changed, by the first CUDA version with it.
TEST_F(ProcAddress, KnowsTheVersionsOfGraphFunctions) {
  const struct {
    const char* name;
    int version;
    const char* symbol;
  } rows[] = {{"cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode"},
              {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
              {"cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams"},
              {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
              {"cuGraphGetEdges", 12020, "cuGraphGetEdges"},
              {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
              {"cuGraphAddNode", 12020, "cuGraphAddNode"},
              {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
              {"cuGraphAddDependencies", 13000, "cuGraphAddDependencies_v2"},
              {"cuGraphNodeFindInClone", 10000, "cuGraphNodeFindInClone"},
              {"cuUserObjectCreate", 11030, "cuUserObjectCreate"},
              {"cuStreamUpdateCaptureDependencies", 11030, "cuStreamUpdateCaptureDependencies"},
              {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"}};
  for (const auto& row : rows) {
    const auto [address, status] = find(row.name, row.version, 0);
    EXPECT_NE(address, nullptr) << row.name;
    EXPECT_EQ(address, dlsym(RTLD_DEFAULT, row.symbol)) << row.symbol;
  }
}

TEST_F(Contexts, AreAStackPerThread) {
  CUcontext second = out(cuCtxCreate, nullptr, 0, device_);
  CUcontext current = out(cuCtxGetCurrent);
  EXPECT_EQ(current, second);
  ASSERT_EQ(cuCtxPopCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, second);
  ASSERT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context_);
  EXPECT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Contexts, SetCurrentReplacesTheTop) {
  CUcontext second = out(cuCtxCreate, nullptr, 0, device_);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
  CUcontext popped = out(cuCtxPopCurrent);
  EXPECT_EQ(popped, context_);
  ASSERT_EQ(cuCtxGetCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, context_);  // the one that was there before
}

TEST_F(Contexts, OfAStreamAndItsDevice) {
  CUcontext of_stream = nullptr;
  ASSERT_EQ(cuStreamGetCtx(stream_, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, context_);
  unsigned version = 0;
  ASSERT_EQ(cuCtxGetApiVersion(context_, &version), CUDA_SUCCESS);
  EXPECT_GE(version, 3020U);
}

TEST_F(Contexts, PrimaryOneIsSharedAndCounted) {
  CUcontext first = out(cuDevicePrimaryCtxRetain, device_);
  CUcontext second = out(cuDevicePrimaryCtxRetain, device_);
  EXPECT_EQ(first, second);
  unsigned flags = 0;
  int active = 0;
  ASSERT_EQ(cuDevicePrimaryCtxGetState(device_, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Modules, HaveTheirOwnFunctionPerContext) {
  CUlibrary library = out(cuLibraryLoadData, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CUkernel kernel = out(cuLibraryGetKernel, library, "other");
  CUfunction here = out(cuKernelGetFunction, kernel);
  CUcontext second = out(cuCtxCreate, nullptr, 0, device_);
  CUfunction there = out(cuKernelGetFunction, kernel);
  EXPECT_NE(here, there);
  EXPECT_EQ(cuLaunchKernel(here, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(there, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, stream_,
                           nullptr, nullptr),
            CUDA_SUCCESS)
      << "a CUkernel runs in the stream's context";
  EXPECT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

TEST_F(Modules, KnowTheirNames) {
  const char* name = out(cuFuncGetName, kernel_);
  EXPECT_STREQ(name, "empty");
  CUmodule module = out(cuFuncGetModule, kernel_);
  EXPECT_EQ(module, module_);
  CUfunction none = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&none, module_, "absent"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Modules, TakeTheirFunctionsWithThem) {
  ASSERT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(launch(stream_), CUDA_ERROR_INVALID_HANDLE);
}

// The same physical memory at two addresses is one memory.
TEST_F(Memory, MappedTwiceHoldsTheSameBytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t bytes =
      out(cuMemGetAllocationGranularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUdeviceptr range = out(cuMemAddressReserve, 2 * bytes, 0, 0, 0);
  CUmemGenericAllocationHandle handle = out(cuMemCreate, bytes, &properties, 0);
  ASSERT_EQ(cuMemMap(range, bytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range + bytes, bytes, 0, handle, 0), CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_EQ(cuMemSetAccess(range, 2 * bytes, &access, 1), CUDA_SUCCESS);
  const int written = 17;
  EXPECT_EQ(cuMemcpyHtoD(range, &written, sizeof written), CUDA_SUCCESS);
  EXPECT_EQ(read<int>(range + bytes), written);
  EXPECT_EQ(cuMemAddressFree(range, 2 * bytes), CUDA_ERROR_INVALID_VALUE);  // still mapped
  EXPECT_EQ(cuMemUnmap(range, 2 * bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 2 * bytes), CUDA_SUCCESS);
}

TEST_F(Modules, OfUnknownBytesAreRefused) {
  const std::array<char, 16> noise{"not an image"};
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, noise.data()), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Modules, ReportOccupancyWithinTheDevicesLimits) {
  int blocks = out(cuOccupancyMaxActiveBlocksPerMultiprocessor, kernel_, 1024, 0);
  EXPECT_EQ(blocks, 2);  // 2048 threads per SM, and 32 registers * 1024 threads fit twice in 65536
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, 32, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 32);  // block slots
  ASSERT_EQ(
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, 32, std::size_t{100} * 1024),
      CUDA_SUCCESS);
  EXPECT_EQ(blocks, 2);  // 228 KiB of shared memory
}

TEST_F(Launch, RefusesWhatTheDeviceCannotRun) {
  const auto with = [&](unsigned grid_y, unsigned block_x) {
    return cuLaunchKernel(kernel_, 1, grid_y, 1, block_x, 1, 1, 0, stream_, nullptr, nullptr);
  };
  EXPECT_EQ(with(1, 1024), CUDA_SUCCESS);
  EXPECT_EQ(with(1, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(65536, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Launch, NeedsTheAttributeForMuchSharedMemory) {
  const auto with = [&](unsigned shared_bytes) {
    return cuLaunchKernel(kernel_, 1, 1, 1, 32, 1, 1, shared_bytes, stream_, nullptr, nullptr);
  };
  EXPECT_EQ(with(64 * 1024), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuFuncSetAttribute(kernel_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024),
            CUDA_SUCCESS);
  EXPECT_EQ(with(64 * 1024), CUDA_SUCCESS);
}

TEST_F(Launch, KeepsTheAttributesOfItsFunction) {
  const auto value_of = [&](CUfunction_attribute attribute) {
    return out(cuFuncGetAttribute, attribute, kernel_);
  };
  constexpr auto large_clusters = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
  constexpr auto scheduling = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  EXPECT_EQ(value_of(large_clusters), 0);
  EXPECT_EQ(cuFuncSetAttribute(kernel_, large_clusters, 1), CUDA_SUCCESS);
  EXPECT_EQ(value_of(large_clusters), 1);
  EXPECT_EQ(cuFuncSetAttribute(kernel_, large_clusters, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(kernel_, scheduling, CU_CLUSTER_SCHEDULING_POLICY_SPREAD),
            CUDA_SUCCESS);
  EXPECT_EQ(value_of(scheduling), CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
}

TEST_F(Launch, RefusesAttributesThatItDoesNotSimulate) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  EXPECT_EQ(launch_with(&attribute), CUDA_ERROR_NOT_SUPPORTED);
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  EXPECT_EQ(launch_with(&attribute), CUDA_SUCCESS);
}

TEST_F(Launch, CooperativeMustFit) {
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel_, 132, 1, 1, 32, 1, 1, 0, stream_, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel_, 132 * 2 + 1, 1, 1, 1024, 1, 1, 0, stream_, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(Memory, IsReallyCopied) {
  CUdeviceptr device = out(cuMemAlloc, 4096);
  ASSERT_EQ(cuMemsetD32(device, 0x01020304U, 1024), CUDA_SUCCESS);
  std::vector<unsigned char> host(4096, 0xff);
  ASSERT_EQ(cuMemcpyDtoH(host.data(), device, host.size()), CUDA_SUCCESS);
  EXPECT_EQ(host[0], 4);
  EXPECT_EQ(host[4095], 1);
  EXPECT_EQ(cuMemFree(device), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, ANumberInTheRemainsOfACopyIsZero) {
  CUdeviceptr device = 0;
  ASSERT_EQ(cuMemAlloc(&device, 64), CUDA_SUCCESS);
  const std::array<float, 4> batch{-1, -2, -3, -4};
  ASSERT_EQ(cuMemcpyHtoD(device, batch.data(), sizeof batch), CUDA_SUCCESS);
  float number = 1;
  ASSERT_EQ(cuMemcpyDtoH(&number, device + 4, sizeof number), CUDA_SUCCESS);
  EXPECT_EQ(number, 0) << "the loss of a kernel that computes nothing";
  ASSERT_EQ(cuMemcpyHtoD(device + 4, batch.data(), sizeof number), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&number, device + 4, sizeof number), CUDA_SUCCESS);
  EXPECT_EQ(number, -1) << "it was copied there";
  std::array<float, 4> all{};
  ASSERT_EQ(cuMemcpyDtoH(all.data(), device, sizeof all), CUDA_SUCCESS);
  EXPECT_EQ(all[3], -4) << "no single number";
  EXPECT_EQ(cuMemFree(device), CUDA_SUCCESS);
}

TEST_F(Memory, RowsAreCopiedWithTheirPitch) {
  size_t pitch = 0;
  CUdeviceptr device = out(cuMemAllocPitch, &pitch, 3, 2, 4);
  EXPECT_GE(pitch, 3U);
  const std::string rows = "abcdef";
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = rows.data();
  copy.srcPitch = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 3;
  copy.Height = 2;
  ASSERT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  std::array<char, 3> second{};
  ASSERT_EQ(cuMemcpyDtoH(second.data(), device + pitch, 3), CUDA_SUCCESS);
  EXPECT_EQ(std::string(second.data(), 3), "def");
}

TEST_F(Memory, EndsWhereItEnds) {
  CUdeviceptr device = out(cuMemAlloc, 100);
  std::vector<char> host(200);
  EXPECT_EQ(cuMemcpyHtoD(device, host.data(), 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(device + 50, 0, 51), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, IsAsMuchAsTheModelSays) {
  size_t total = 0;
  size_t free_before = out(cuMemGetInfo, &total);
  CUdeviceptr device = 0;
  EXPECT_EQ(cuMemAlloc(&device, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cuMemAlloc(&device, free_before / 2), CUDA_SUCCESS);  // 70 GB that nobody touches
  size_t free_after = out(cuMemGetInfo, &total);
  EXPECT_LT(free_after, free_before);
  EXPECT_EQ(cuMemFree(device), CUDA_SUCCESS);
}

TEST_F(Memory, CopiesBehindAHoldHappenLater) {
  CUdeviceptr address = 0;
  volatile std::uint32_t* word = new_word(address);
  CUdeviceptr device = out(cuMemAlloc, 4);
  ASSERT_EQ(cuMemsetD32Async(device, 1, 1, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  std::uint32_t pageable = 2;
  ASSERT_EQ(cuMemcpyHtoDAsync(device, &pageable, 4, stream_), CUDA_SUCCESS);
  pageable = 3;  // staged before the call returned
  CUstream other = out(cuStreamCreate, CU_STREAM_NON_BLOCKING);
  std::uint32_t seen = 0;
  ASSERT_EQ(cuMemcpyDtoHAsync(&seen, device, 4, other), CUDA_SUCCESS);
  EXPECT_EQ(seen, 1U);
  *word = 1;
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync(&seen, device, 4, other), CUDA_SUCCESS);
  EXPECT_EQ(seen, 2U);
}

TEST_F(Memory, FreedWaitsForItsContext) {
  CUdeviceptr device = out(cuMemAlloc, 16);
  occupy(stream_);
  ASSERT_EQ(cuMemFree(device), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(Memory, AllocatedInStreamOrderIsFreedWithoutWaiting) {
  CUdeviceptr device = out(cuMemAllocAsync, 16, stream_);
  occupy(stream_);
  ASSERT_EQ(cuMemFree(device), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
}

TEST_F(Device, IsWhatTheModelFileSays) {
  std::array<char, 64> name{};
  ASSERT_EQ(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device_), CUDA_SUCCESS);
  EXPECT_STREQ(name.data(), "NVIDIA H200");
  int value = out(cuDeviceGetAttribute, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_);
  EXPECT_EQ(value, 132);
  ASSERT_EQ(cuDriverGetVersion(&value), CUDA_SUCCESS);
  EXPECT_EQ(value, 13000);
  // The header deprecates it.
  const auto capability_of = reinterpret_cast<CUresult (*)(int*, int*, CUdevice)>(
      dlsym(RTLD_DEFAULT, "cuDeviceComputeCapability"));
  int minor = 1;
  ASSERT_EQ(capability_of(&value, &minor, device_), CUDA_SUCCESS);
  EXPECT_EQ(10 * value + minor, 90);
  EXPECT_EQ(cuDeviceGet(&device_, 1), CUDA_ERROR_INVALID_DEVICE);
}

// cuda.h, cuTensorMapEncodeTiled: strides are multiples of 16, a box is no wider than its swizzle.
TEST_F(Memory, TensorMapsAreCheckedAsTheHeaderSays) {
  CUtensorMap map{};
  const cuuint64_t dims[] = {64, 128}, stride = 128, odd_stride = 120;
  const cuuint32_t box[] = {64, 32}, wide_box[] = {128, 32}, steps[] = {1, 1};
  const auto encode = [&](const cuuint64_t* strides, const cuuint32_t* tile) {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, nullptr, dims, strides,
                                  tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(&stride, box), CUDA_SUCCESS);
  EXPECT_EQ(encode(&odd_stride, box), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(&stride, wide_box), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace simgpu
