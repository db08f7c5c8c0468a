// The simulated NVML beside the simulated driver.
#include "driver_fixture.hpp"
#include "nvml/vendor_nvml.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

namespace simgpu {
namespace {

class Nvml : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    library_ = dlopen(SIMGPU_TEST_LIB_DIR "/libnvidia-ml.so.1", RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

  template <typename... Arguments>
  int call(const char* function, Arguments... arguments) const {
    const auto found = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, function));
    EXPECT_NE(found, nullptr) << function;
    return found == nullptr ? -1 : found(arguments...);
  }

  nvmlDevice_t device() const {
    EXPECT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 0U, &handle), NVML_SUCCESS);
    return handle;
  }

 private:
  void* library_ = nullptr;
};

TEST_F(Nvml, AnswersOnlyBetweenInitAndShutdown) {
  unsigned count = 0;
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(call("nvmlInit"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(count, 1U);
  nvmlDevice_t none = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 1U, &none), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(Nvml, NamesTheDeviceAsTheDriverDoes) {
  const nvmlDevice_t handle = device();
  std::array<char, 96> text{};
  EXPECT_EQ(call("nvmlDeviceGetName", handle, text.data(), 4U), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(call("nvmlDeviceGetName", handle, text.data(), 96U), NVML_SUCCESS);
  EXPECT_STREQ(text.data(), "NVIDIA H200");

  CUuuid uuid = out(cuDeviceGetUuid_v2, device_);
  std::string digits = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    digits += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(two.data());
  }
  EXPECT_EQ(call("nvmlDeviceGetUUID", handle, text.data(), 96U), NVML_SUCCESS);
  EXPECT_EQ(text.data(), digits);
  nvmlDevice_t same = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", digits.c_str(), &same), NVML_SUCCESS);
  EXPECT_EQ(same, handle);

  std::array<char, 16> bus{};
  ASSERT_EQ(cuDeviceGetPCIBusId(bus.data(), 16, device_), CUDA_SUCCESS);
  same = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", bus.data(), &same), NVML_SUCCESS);
  EXPECT_EQ(same, handle);
  nvmlPciInfo_t info{};
  EXPECT_EQ(call("nvmlDeviceGetPciInfo_v3", handle, &info), NVML_SUCCESS);
  EXPECT_STREQ(info.busId, (std::string("0000") + bus.data()).c_str());
}

TEST_F(Nvml, SeesThisProcessAtWork) {
  const nvmlDevice_t handle = device();
  nvmlMemory_t before{}, after{};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", handle, &before), NVML_SUCCESS);
  out(cuMemAlloc, 1 << 20);
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", handle, &after), NVML_SUCCESS);
  EXPECT_EQ(after.used, before.used + (1 << 20));
  EXPECT_EQ(after.free + after.used, after.total);

  unsigned count = 0;
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle, &count,
                 static_cast<nvmlProcessInfo_t*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1U);
  nvmlProcessInfo_t process{};
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle, &count, &process),
            NVML_SUCCESS);
  EXPECT_EQ(process.pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(process.usedGpuMemory, after.used);

  nvmlUtilization_t rates{1, 1};
  EXPECT_EQ(call("nvmlDeviceGetUtilizationRates", handle, &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 0U);
  occupy(stream_);
  EXPECT_EQ(call("nvmlDeviceGetUtilizationRates", handle, &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 100U);
}

TEST_F(Nvml, TellsTheClocksOfTheModel) {
  const nvmlDevice_t handle = device();
  unsigned mhz = 0;
  EXPECT_EQ(call("nvmlDeviceGetClockInfo", handle, NVML_CLOCK_SM, &mhz), NVML_SUCCESS);
  EXPECT_EQ(mhz, 1980U);
  EXPECT_EQ(call("nvmlDeviceGetClockInfo", handle, NVML_CLOCK_MEM, &mhz), NVML_SUCCESS);
  EXPECT_EQ(mhz, 3201U);
}

TEST_F(Nvml, AHealthyDeviceHasNoErrorsAndNoReasonForLowClocks) {
  const nvmlDevice_t handle = device();
  unsigned long long value = 1;
  EXPECT_EQ(call("nvmlDeviceGetCurrentClocksEventReasons", handle, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 0U);
  value = 1;
  EXPECT_EQ(call("nvmlDeviceGetTotalEccErrors", handle, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                 NVML_VOLATILE_ECC, &value),
            NVML_SUCCESS);
  EXPECT_EQ(value, 0U);
  std::array<nvmlFieldValue_t, 2> fields{};
  fields[0].fieldId = NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL;
  EXPECT_EQ(call("nvmlDeviceGetFieldValues", handle, 2, fields.data()), NVML_SUCCESS);
  EXPECT_EQ(fields[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(fields[0].value, 0U);
  EXPECT_EQ(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace simgpu
