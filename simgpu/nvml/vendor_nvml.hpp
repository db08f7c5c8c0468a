// The simulated part of the vendor's nvml.h, which no toolkit carries: names and layouts are those
// of the NVML API Reference Guide.
#pragma once

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
struct nvmlDevice_st;
using nvmlDevice_t = nvmlDevice_st*;

enum nvmlReturn_t {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999
};

enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU = 0 };
enum nvmlClockType_t {
  NVML_CLOCK_GRAPHICS = 0,
  NVML_CLOCK_SM = 1,
  NVML_CLOCK_MEM = 2,
  NVML_CLOCK_VIDEO = 3
};

enum nvmlMemoryErrorType_t {
  NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
  NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
};
enum nvmlEccCounterType_t { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };

inline constexpr unsigned NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL = 52;
inline constexpr int NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3;
struct nvmlFieldValue_t {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  int valueType;
  nvmlReturn_t nvmlReturn;
  unsigned long long value;  // a union of types of up to 8 bytes
};

struct nvmlMemory_t {
  unsigned long long total, free, used;  // bytes
};

struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;  // bytes
};

struct nvmlUtilization_t {
  unsigned gpu, memory;  // percent
};

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
};

// Since version 2 of the functions that fill it.
struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
  unsigned gpuInstanceId, computeInstanceId;
};

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain, bus, device;
  unsigned pciDeviceId, pciSubSystemId;
  char busId[32];
};
// NOLINTEND(readability-identifier-naming)
