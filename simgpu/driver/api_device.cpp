// Devices: name, identity, attributes.
#include "driver/call.hpp"
#include "driver/model.hpp"

#include <cstring>

using namespace simgpu;

namespace {

// CUdevice_attribute to value; what the model does not say is "no" (0), like an unknown feature.
int attribute_of(const Simulator& simulator, CUdevice_attribute attribute, int device) {
  const auto& d = simulator.model.device;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return INT32_MAX;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 * 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 64 * 1024;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return d.registers_per_sm;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return d.sm_clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return d.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return d.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return static_cast<int>(d.l2_bytes);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return d.sm_count;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return d.compute_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return d.compute_minor;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return d.max_threads_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return d.max_blocks_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return d.shared_bytes_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return d.shared_bytes_per_block_optin;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return kReservedSharedBytesPerBlock;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
      return 2;
    // Features that the simulator has.
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
      return 1;
    default:
      return 0;
  }
}

CUuuid uuid_of(const Device& device) {
  const auto bytes = device_uuid(device.index);
  CUuuid uuid{};
  static_assert(sizeof uuid.bytes == sizeof bytes);
  std::memcpy(uuid.bytes, bytes.data(), sizeof bytes);
  return uuid;
}

}  // namespace

SIMGPU_FUNCTION(cuDriverGetVersion, cuDriverGetVersion_v2020, version) {
  // cuda.h: works before cuInit.  The version is in the model file, which cuInit reads.
  if (const int injected = entry.begin(); injected != 0) return static_cast<CUresult>(injected);
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Simulator* simulator = Simulator::instance();
  *version = simulator != nullptr ? simulator->model.driver_version
                                  : process_settings().settings.driver_version.value_or(13000);
  return CUDA_SUCCESS;
}

SIMGPU_GET(cuDeviceGetCount, cuDeviceGetCount_v2000, kOther, static_cast<int>(s.devices.size()))

SIMGPU_GET_OF(cuDeviceGet, cuDeviceGet_v2000, kOther, s.device(ordinal).index, ordinal)

SIMGPU_CALL(cuDeviceGetName, cuDeviceGetName_v2000, kOther, name, length, device) {
  require(name);
  require_value(length > 0);
  static_cast<void>(s.device(device));
  const auto& full = s.model.device.name;
  const auto size = std::min(full.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, full.data(), size);
  name[size] = '\0';
}

SIMGPU_GET_OF(cuDeviceGetUuid, cuDeviceGetUuid_v9020, kOther, uuid_of(s.device(device)), device)
SIMGPU_GET_OF(cuDeviceGetUuid_v2, cuDeviceGetUuid_v11040, kOther, uuid_of(s.device(device)), device)

SIMGPU_CALL(cuDeviceComputeCapability, cuDeviceComputeCapability_v2000, kOther, major, minor,
            device) {
  require_value(major != nullptr && minor != nullptr);
  static_cast<void>(s.device(device));
  *major = s.model.device.compute_major;
  *minor = s.model.device.compute_minor;
}

SIMGPU_CALL(cuDeviceTotalMem_v2, cuDeviceTotalMem_v3020, kOther, bytes, device) {
  require(bytes);
  static_cast<void>(s.device(device));
  *bytes = s.model.device.memory_bytes;
}

SIMGPU_CALL(cuDeviceGetAttribute, cuDeviceGetAttribute_v2000, kOther, value, attribute, device) {
  require(value);
  require_value(attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
  *value = attribute_of(s, attribute, s.device(device).index);
}

SIMGPU_CALL(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId_v4010, kOther, text, length, device) {
  require(text);
  // cuda.h: "[domain]:[bus]:[device].[function]", "large enough to store 13 characters".
  require_value(length >= 13);
  std::snprintf(text, static_cast<std::size_t>(length), "%s",
                device_pci_bus_id(s.device(device).index, 4).c_str());
}

SIMGPU_GET_OF(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer_v4000, kOther,
              s.device(device).index != s.device(peer).index ? 1 : 0, device, peer)
