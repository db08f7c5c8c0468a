// Memory pools, and copies between devices by name.
#include "driver_fixture.hpp"

#include <cstdlib>

namespace simgpu {
namespace {

constexpr std::size_t kPoolBytes = 1 << 20;

class MemoryPools : public DriverTest {
 protected:
  static std::uint64_t bytes(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(pool, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  CUmemoryPool default_pool() const { return out(cuDeviceGetDefaultMemPool, device_); }
  CUmemoryPool new_pool(std::size_t most = 0) const {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
    properties.maxSize = most;
    return out(cuMemPoolCreate, &properties);
  }
};

TEST_F(MemoryPools, CountWhatIsTaken) {
  const CUmemoryPool pool = default_pool();
  CUdeviceptr one = 0, two = 0;
  ASSERT_EQ(cuMemAllocAsync(&one, kPoolBytes, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&two, kPoolBytes, pool, stream_), CUDA_SUCCESS);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 2 * kPoolBytes);
  CUmemoryPool owner = nullptr;
  ASSERT_EQ(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, one), CUDA_SUCCESS);
  EXPECT_EQ(owner, pool);
  ASSERT_EQ(cuMemFreeAsync(one, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(two), CUDA_SUCCESS);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 2 * kPoolBytes);
  cuuint64_t value = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value),
            CUDA_ERROR_INVALID_VALUE);
  value = 0;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_SUCCESS);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0U);
}

TEST_F(MemoryPools, KeepWhatTheThresholdAllows) {
  const CUmemoryPool pool = default_pool();
  cuuint64_t threshold = UINT64_MAX;
  ASSERT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
            CUDA_SUCCESS);
  CUdeviceptr address = out(cuMemAllocAsync, kPoolBytes, stream_);
  ASSERT_EQ(cuMemFreeAsync(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kPoolBytes);
  ASSERT_EQ(cuMemPoolTrimTo(pool, kPoolBytes / 2), CUDA_SUCCESS);
  EXPECT_EQ(bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kPoolBytes / 2);
}

TEST_F(MemoryPools, CanBeChosenAndOutliveTheirHandle) {
  const CUmemoryPool pool = new_pool(kPoolBytes);
  ASSERT_EQ(cuDeviceSetMemPool(device_, pool), CUDA_SUCCESS);
  CUdeviceptr address = 0, more = 0;
  ASSERT_EQ(cuMemAllocAsync(&address, kPoolBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocAsync(&more, kPoolBytes, stream_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(bytes(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
  ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  CUmemoryPool current = out(cuDeviceGetMemPool, device_);
  EXPECT_EQ(current, default_pool());
  EXPECT_EQ(cuMemFreeAsync(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryPools, AreReachableFromTheirDevice) {
  const CUmemoryPool pool = new_pool();
  CUmemLocation location{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  CUmemAccess_flags flags = out(cuMemPoolGetAccess, pool, &location);
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const CUmemAccessDesc none{.location = location, .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
  EXPECT_EQ(cuMemPoolSetAccess(pool, &none, 1), CUDA_ERROR_INVALID_VALUE);
}

// Two devices, if this process has not begun with one.
class Peers : public DriverTest {
 protected:
  void SetUp() override {
    setenv("SIMGPU_DEVICES", "2", 1);
    DriverTest::SetUp();
    int count = out(cuDeviceGetCount);
    if (count < 2) GTEST_SKIP() << "the process has begun with one device";
    ASSERT_EQ(cuCtxCreate(&other_, nullptr, 0, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&there_, kPoolBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(there_, 7, kPoolBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }

  CUcontext other_ = nullptr;
  CUdeviceptr there_ = 0;
};

TEST_F(Peers, AreEnabledOnce) {
  EXPECT_EQ(cuCtxDisablePeerAccess(other_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(other_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(other_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxDisablePeerAccess(other_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Peers, AreCopiedFrom) {
  CUdeviceptr here = out(cuMemAlloc, kPoolBytes);
  ASSERT_EQ(cuMemcpyPeerAsync(here, context_, there_, other_, kPoolBytes, stream_), CUDA_SUCCESS);
  unsigned char last = 0;
  ASSERT_EQ(cuMemcpyDtoH(&last, here + kPoolBytes - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(last, 7);
}

}  // namespace
}  // namespace simgpu
