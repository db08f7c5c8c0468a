// NVML: what a program asks about the devices before it uses them, and while it does.  The answers
// come from the described GPU, and from the simulated driver where this process has started it.
#include "common/code_texts.hpp"
#include "common/entry.hpp"
#include "common/exported.hpp"
#include "driver/model.hpp"
#include "nvml/vendor_nvml.hpp"
#include "simgpu.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <type_traits>
#include <unistd.h>

namespace simgpu {
namespace {

// Values that SIMGPU_READINGS does not give.
constexpr unsigned kTemperatureC = 40;
constexpr unsigned kPowerWatts = 100;
constexpr const char* kDriverRelease = "580.65.06";  // the first for CUDA 13.0

std::atomic<int> users{0};

std::string default_model_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&default_model_file), &info) == 0) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "simgpu_model.json";
}

// Read once, at the first initialisation; null if the settings cannot be used.  Never freed: a call
// may be under way in another thread while the process ends.
const Model* model() {
  static const Model* const read = []() -> const Model* {
    try {
      if (!process_settings().error.empty()) throw SettingsError(process_settings().error);
      return new Model(read_model(default_model_file(), process_settings().settings));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "simgpu: %s\n", error.what());
      return nullptr;
    }
  }();
  return read;
}

int device_count() {
  return process_settings().settings.device_count;
}

// Returns the value of SIMGPU_READINGS, which a test may write anew while the program runs.
unsigned reading(const char* key, unsigned by_default) {
  std::ifstream file(process_settings().settings.readings_file);
  const auto readings = nlohmann::json::parse(file, nullptr, false);
  return readings.is_object() ? readings.value(key, by_default) : by_default;
}

// A handle is the device's number, counted from 1.
nvmlDevice_t handle_of(int device) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<std::uintptr_t>(device) + 1);
}

// Asks the driver, if this process uses it.
simgpu_device_use use_of(int device) {
  simgpu_device_use use{};
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return use;
  const auto ask =
      reinterpret_cast<decltype(&simgpu_use_of_device)>(dlsym(driver, "simgpu_use_of_device"));
  if (ask != nullptr) ask(device, &use);
  dlclose(driver);
  return use;
}

std::string uuid_text(int device) {
  std::string text = "GPU-";
  const auto uuid = device_uuid(device);
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(uuid[i]));
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(two);
  }
  return text;
}

nvmlReturn_t put_text(const std::string& text, char* to, unsigned size) {
  if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (size <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

class NvmlEntry : public Entry {
 public:
  explicit NvmlEntry(const char* function) : Entry(function, NVML_ERROR_UNKNOWN) {}
};

template <typename Body>
nvmlReturn_t nvml_call(const NvmlEntry& entry, Body&& body) noexcept {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<nvmlReturn_t>(injected);
  }
  try {
    return body();
  } catch (const std::exception&) {
    return NVML_ERROR_UNKNOWN;
  }
}

// For all but the functions that start and end the library.
template <typename Body>
nvmlReturn_t nvml_ask(const NvmlEntry& entry, Body&& body) noexcept {
  return nvml_call(entry, [&] { return users > 0 ? body() : NVML_ERROR_UNINITIALIZED; });
}

// The same for functions of a device: `body(device)`.
template <typename Body>
nvmlReturn_t with_device(const NvmlEntry& entry, nvmlDevice_t handle, Body&& body) noexcept {
  return nvml_ask(entry, [&]() -> nvmlReturn_t {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number < 1 || number > static_cast<std::uintptr_t>(device_count())) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    return body(static_cast<int>(number - 1));
  });
}

nvmlReturn_t shut_down() {
  --users;
  return NVML_SUCCESS;
}

nvmlReturn_t initialize() {
  if (model() == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  ++users;
  return NVML_SUCCESS;
}

template <typename Value>
nvmlReturn_t put(const std::type_identity_t<Value>& value, Value* to) {
  if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *to = value;
  return NVML_SUCCESS;
}

template <typename Matches>
nvmlReturn_t find_device(nvmlDevice_t* handle, const Matches& matches) {
  if (handle == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int device = 0; device < device_count(); ++device) {
    if (matches(device)) return put(handle_of(device), handle);
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t find_by_index(unsigned index, nvmlDevice_t* handle) {
  if (index >= static_cast<unsigned>(device_count())) return NVML_ERROR_INVALID_ARGUMENT;
  return put(handle_of(static_cast<int>(index)), handle);
}

nvmlReturn_t find_by_uuid(const char* uuid, nvmlDevice_t* handle) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(handle, [&](int device) { return uuid_text(device) == uuid; });
}

nvmlReturn_t find_by_bus(const char* text, nvmlDevice_t* handle) {
  if (text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(handle, [&](int device) {  // with a domain of four or of eight digits
    return device_pci_bus_id(device, 4) == text || device_pci_bus_id(device, 8) == text;
  });
}

nvmlReturn_t pci_info(int device, nvmlPciInfo_t* info) {
  if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *info = {};
  info->bus = device_pci_bus(device);
  put_text(device_pci_bus_id(device, 4), info->busIdLegacy, sizeof info->busIdLegacy);
  return put_text(device_pci_bus_id(device, 8), info->busId, sizeof info->busId);
}

nvmlReturn_t compute_capability(int* major, int* minor) {
  const nvmlReturn_t put_major = put(model()->device.compute_major, major);
  return put_major != NVML_SUCCESS ? put_major : put(model()->device.compute_minor, minor);
}

nvmlReturn_t memory_info(int device, nvmlMemory_t* info) {
  const unsigned long long total = model()->device.memory_bytes;
  const unsigned long long used = use_of(device).memory_bytes;
  return put({.total = total, .free = total - used, .used = used}, info);
}

nvmlReturn_t memory_info(int device, nvmlMemory_v2_t* info) {
  // "version": the structure's size, and 2 in the highest byte.
  constexpr unsigned version = sizeof(nvmlMemory_v2_t) | 2U << 24U;
  if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (info->version != version) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlMemory_t plain{};
  memory_info(device, &plain);
  *info = {version, plain.total, 0, plain.free, plain.used};
  return NVML_SUCCESS;
}

nvmlReturn_t utilization(int device, nvmlUtilization_t* rates) {
  const unsigned percent = use_of(device).is_busy != 0 ? 100 : 0;
  return put({.gpu = percent, .memory = percent}, rates);
}

nvmlReturn_t temperature(nvmlTemperatureSensors_t sensor, unsigned* celsius) {
  return sensor == NVML_TEMPERATURE_GPU ? put(reading("temperature_c", kTemperatureC), celsius)
                                        : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t clock_mhz(nvmlClockType_t type, unsigned* mhz) {
  const auto& device = model()->device;
  const bool is_memory = type == NVML_CLOCK_MEM;
  const int khz = is_memory ? device.memory_clock_khz : device.sm_clock_khz;
  return put(
      reading(is_memory ? "memory_clock_mhz" : "sm_clock_mhz", static_cast<unsigned>(khz / 1000)),
      mhz);
}

// All NVLink errors are replays.
nvmlReturn_t field_values(int count, nvmlFieldValue_t* fields) {
  if (fields == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (nvmlFieldValue_t* field = fields; field != fields + count; ++field) {
    const bool is_known = field->fieldId == NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL;
    field->nvmlReturn = is_known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field->value = is_known ? reading("nvlink_errors", 0) : 0;
  }
  return NVML_SUCCESS;
}

// Lists this process, the only one that the simulator knows.
template <typename Info>
nvmlReturn_t processes(int device, unsigned* count, Info* infos) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const simgpu_device_use use = use_of(device);
  const unsigned room = *count;
  *count = use.has_context != 0 ? 1 : 0;
  if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (*count == 0) return NVML_SUCCESS;
  if (infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *infos = {};
  infos->pid = static_cast<unsigned>(getpid());
  infos->usedGpuMemory = use.memory_bytes;
  if constexpr (requires { infos->gpuInstanceId; }) {
    infos->gpuInstanceId = infos->computeInstanceId = 0xffffffffU;  // "not MIG"
  }
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

// Each function is an expression: what it returns unless SIMGPU_FAIL says otherwise.  NVML_CALL is
// for all but the functions that start the library, NVML_DEVICE_CALL for those of a `device`.
#define NVML_START(symbol, parameters)                    \
  nvmlReturn_t symbol parameters {                        \
    static const NvmlEntry entry{__func__};               \
    return nvml_call(entry, [] { return initialize(); }); \
  }
#define NVML_CALL(symbol, parameters, ...)                                 \
  nvmlReturn_t symbol parameters {                                         \
    static const NvmlEntry entry{__func__};                                \
    return nvml_ask(entry, [&]() -> nvmlReturn_t { return __VA_ARGS__; }); \
  }
#define NVML_DEVICE_CALL(symbol, parameters, ...)                                                 \
  nvmlReturn_t symbol(nvmlDevice_t handle, NVML_UNPACK parameters) {                              \
    static const NvmlEntry entry{__func__};                                                       \
    return with_device(entry, handle,                                                             \
                       [&]([[maybe_unused]] int device) -> nvmlReturn_t { return __VA_ARGS__; }); \
  }
#define NVML_UNPACK(...) __VA_ARGS__

#pragma GCC visibility push(default)
extern "C" {

// NOLINTNEXTLINE(readability-identifier-naming): the vendor's name
const char* nvmlErrorString(nvmlReturn_t status) {
  static constexpr CodeText<nvmlReturn_t> texts[] = {
      SIMGPU_CODE(NVML_SUCCESS, "success"),
      SIMGPU_CODE(NVML_ERROR_UNINITIALIZED, "not initialized"),
      SIMGPU_CODE(NVML_ERROR_INVALID_ARGUMENT, "invalid argument"),
      SIMGPU_CODE(NVML_ERROR_NOT_SUPPORTED, "not supported"),
      SIMGPU_CODE(NVML_ERROR_NOT_FOUND, "not found"),
      SIMGPU_CODE(NVML_ERROR_INSUFFICIENT_SIZE, "insufficient size"),
      SIMGPU_CODE(NVML_ERROR_DRIVER_NOT_LOADED, "driver not loaded"),
  };
  const auto* known = find_code(texts, status);
  return known == nullptr ? "unknown error" : known->text;
}

NVML_START(nvmlInit, ())
NVML_START(nvmlInit_v2, ())
NVML_START(nvmlInitWithFlags, (unsigned))
NVML_CALL(nvmlShutdown, (), shut_down())
NVML_CALL(nvmlSystemGetDriverVersion, (char* text, unsigned size),
          put_text(kDriverRelease, text, size))
NVML_CALL(nvmlSystemGetNVMLVersion, (char* text, unsigned size),
          put_text(std::string("13.") + kDriverRelease, text, size))
NVML_CALL(nvmlSystemGetCudaDriverVersion, (int* version), put(model()->driver_version, version))
NVML_CALL(nvmlSystemGetCudaDriverVersion_v2, (int* version), put(model()->driver_version, version))
NVML_CALL(nvmlDeviceGetCount, (unsigned* count), put(static_cast<unsigned>(device_count()), count))
NVML_CALL(nvmlDeviceGetCount_v2, (unsigned* count),
          put(static_cast<unsigned>(device_count()), count))
NVML_CALL(nvmlDeviceGetHandleByIndex, (unsigned index, nvmlDevice_t* handle),
          find_by_index(index, handle))
NVML_CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvmlDevice_t* handle),
          find_by_index(index, handle))
NVML_CALL(nvmlDeviceGetHandleByUUID, (const char* uuid, nvmlDevice_t* handle),
          find_by_uuid(uuid, handle))
NVML_CALL(nvmlDeviceGetHandleByPciBusId, (const char* bus, nvmlDevice_t* handle),
          find_by_bus(bus, handle))
NVML_CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char* bus, nvmlDevice_t* handle),
          find_by_bus(bus, handle))
NVML_DEVICE_CALL(nvmlDeviceGetIndex, (unsigned* index), put(static_cast<unsigned>(device), index))
NVML_DEVICE_CALL(nvmlDeviceGetMinorNumber, (unsigned* number),
                 put(static_cast<unsigned>(device), number))
NVML_DEVICE_CALL(nvmlDeviceGetName, (char* name, unsigned size),
                 put_text(model()->device.name, name, size))
NVML_DEVICE_CALL(nvmlDeviceGetUUID, (char* uuid, unsigned size),
                 put_text(uuid_text(device), uuid, size))
NVML_DEVICE_CALL(nvmlDeviceGetPciInfo, (nvmlPciInfo_t * info), pci_info(device, info))
NVML_DEVICE_CALL(nvmlDeviceGetPciInfo_v2, (nvmlPciInfo_t * info), pci_info(device, info))
NVML_DEVICE_CALL(nvmlDeviceGetPciInfo_v3, (nvmlPciInfo_t * info), pci_info(device, info))
NVML_DEVICE_CALL(nvmlDeviceGetCudaComputeCapability, (int* major, int* minor),
                 compute_capability(major, minor))
NVML_DEVICE_CALL(nvmlDeviceGetMemoryInfo, (nvmlMemory_t * info), memory_info(device, info))
NVML_DEVICE_CALL(nvmlDeviceGetMemoryInfo_v2, (nvmlMemory_v2_t * info), memory_info(device, info))
NVML_DEVICE_CALL(nvmlDeviceGetUtilizationRates, (nvmlUtilization_t * rates),
                 utilization(device, rates))
NVML_DEVICE_CALL(nvmlDeviceGetTemperature, (nvmlTemperatureSensors_t sensor, unsigned* celsius),
                 temperature(sensor, celsius))
NVML_DEVICE_CALL(nvmlDeviceGetPowerUsage, (unsigned* milliwatts),
                 put(reading("power_w", kPowerWatts) * 1000, milliwatts))
NVML_DEVICE_CALL(nvmlDeviceGetClockInfo, (nvmlClockType_t type, unsigned* mhz),
                 clock_mhz(type, mhz))
NVML_DEVICE_CALL(nvmlDeviceGetMaxClockInfo, (nvmlClockType_t type, unsigned* mhz),
                 clock_mhz(type, mhz))
NVML_DEVICE_CALL(nvmlDeviceGetCurrentClocksEventReasons, (unsigned long long* bits),
                 put(reading("throttle_reasons", 0), bits))
NVML_DEVICE_CALL(nvmlDeviceGetTotalEccErrors,
                 (nvmlMemoryErrorType_t type, nvmlEccCounterType_t, unsigned long long* count),
                 put(type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? reading("ecc_errors", 0) : 0,
                     count))
NVML_DEVICE_CALL(nvmlDeviceGetFieldValues, (int count, nvmlFieldValue_t* fields),
                 field_values(count, fields))
NVML_DEVICE_CALL(nvmlDeviceGetComputeRunningProcesses,
                 (unsigned* count, nvmlProcessInfo_v1_t* infos), processes(device, count, infos))
NVML_DEVICE_CALL(nvmlDeviceGetComputeRunningProcesses_v2,
                 (unsigned* count, nvmlProcessInfo_t* infos), processes(device, count, infos))
NVML_DEVICE_CALL(nvmlDeviceGetComputeRunningProcesses_v3,
                 (unsigned* count, nvmlProcessInfo_t* infos), processes(device, count, infos))
// PyTorch asks for these where it says that there is no memory.
NVML_DEVICE_CALL(nvmlDeviceGetNvLinkRemoteDeviceType, (unsigned, unsigned*),
                 NVML_ERROR_NOT_SUPPORTED)
NVML_DEVICE_CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2, (unsigned, nvmlPciInfo_t*),
                 NVML_ERROR_NOT_SUPPORTED)
NVML_DEVICE_CALL(nvmlDeviceGetGpuFabricInfoV, (void*), NVML_ERROR_NOT_SUPPORTED)

}  // extern "C"
#pragma GCC visibility pop
