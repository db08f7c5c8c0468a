#include "timer/device_facts.hpp"

#include "sys/cuda_api.hpp"
#include "sys/original_dlsym.hpp"
#include "sys/process.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <link.h>
#include <string_view>
#include <vector>

namespace inline_prof::timer {
namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return sys::cuda().cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

std::string dotted(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string uuid_text(CUdevice device) {
  CUuuid uuid{};
  if (sys::cuda().cuDeviceGetUuid == nullptr ||
      sys::cuda().cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
    return "";
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += digits.data();
  }
  return text;
}

int list_library(dl_phdr_info* library, std::size_t, void* data) {
  if (library->dlpi_name == nullptr) return 0;
  const char* slash = std::strrchr(library->dlpi_name, '/');
  static_cast<std::vector<std::string>*>(data)->emplace_back(slash == nullptr ? library->dlpi_name
                                                                              : slash + 1);
  return 0;
}

// cuBLAS: three numbers by a call each (library_types.h: MAJOR_VERSION 0, MINOR_VERSION 1,
// PATCH_LEVEL 2).
std::string cublas_version(const char* soname) {
  const auto get =
      reinterpret_cast<int (*)(int, int*)>(sys::find_loaded(soname, "cublasGetProperty"));
  std::array<int, 3> parts{};
  if (get == nullptr) return "";
  for (int i = 0; i < 3; ++i) {
    if (get(i, &parts[static_cast<std::size_t>(i)]) != 0) return "";
  }
  return dotted(parts[0], parts[1]) + "." + std::to_string(parts[2]);
}

// cuDNN 9: major * 10000 + minor * 100 + patch (cudnn_version.h).
std::string cudnn_version(const char* soname) {
  const auto get = reinterpret_cast<std::size_t (*)()>(sys::find_loaded(soname, "cudnnGetVersion"));
  if (get == nullptr) return "";
  const auto version = static_cast<int>(get());
  return dotted(version / 10000, version / 100 % 100) + "." + std::to_string(version % 100);
}

// NCCL since 2.9: major * 10000 + minor * 100 + patch (nccl.h, NCCL_VERSION).
std::string nccl_version(const char* soname) {
  const auto get = reinterpret_cast<int (*)(int*)>(sys::find_loaded(soname, "ncclGetVersion"));
  int version = 0;
  if (get == nullptr || get(&version) != 0) return "";
  return dotted(version / 10000, version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace

void add_device_facts(record::RunRecord& run, CUdevice device) {
  const std::lock_guard lock(run.mutex);
  for (const record::DeviceInfo& known : run.devices) {
    if (known.device_id == device) return;
  }
  const auto& cuda = sys::cuda();
  record::DeviceInfo facts;
  facts.device_id = device;
  std::array<char, 256> name{};
  if (cuda.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device) == CUDA_SUCCESS)
    facts.name = name.data();
  facts.uuid = uuid_text(device);
  facts.sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.compute_capability =
      dotted(attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  std::size_t memory = 0;
  if (cuda.cuDeviceTotalMem != nullptr && cuda.cuDeviceTotalMem(&memory, device) == CUDA_SUCCESS)
    facts.memory_bytes = memory;
  facts.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.sm_clock_khz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  facts.memory_clock_khz = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  facts.driver_version = sys::kernel_driver_version();
  int version = 0;
  if (cuda.cuDriverGetVersion(&version) == CUDA_SUCCESS)
    facts.cuda_version = dotted(version / 1000, version % 1000 / 10);
  run.devices.push_back(std::move(facts));
}

bool driver_is_simulated() {
  return sys::find_loaded(sys::kDriverSoname, "simgpu_host_now_ns") != nullptr;
}

std::map<std::string, std::string> loaded_library_versions() {
  std::vector<std::string> loaded;
  dl_iterate_phdr(list_library, &loaded);
  std::map<std::string, std::string> versions;
  for (const std::string& soname : loaded) {
    const auto note = [&](std::string_view prefix, const char* name,
                          std::string (*version_of)(const char*)) {
      if (!soname.starts_with(prefix) || versions.contains(name)) return;
      if (std::string version = version_of(soname.c_str()); !version.empty())
        versions[name] = std::move(version);
    };
    note("libcublas.so", "cublas", cublas_version);
    note("libcudnn.so", "cudnn", cudnn_version);
    note("libnccl.so", "nccl", nccl_version);
  }
  return versions;
}

}  // namespace inline_prof::timer
