// The driver as the runtime sees it: one pointer per (function, version, stream variant), all from
// cuGetProcAddress_v2, found in the order in which the vendor's runtime 13.0 looks for them: dlopen
// of libcuda.so.1, one dlsym, a probe with an empty name, then one request per pointer.  Nothing
// here links against libcuda, so a profiler that wraps these doors sees every call.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "common/proc_name.hpp"
#include "simgpu.h"

// CALL(member, vendor's name with version) for one pointer, STREAM_CALL for two: flags 0 asks for
// the legacy default stream, 2 for the per-thread one.
#define SIMGPU_DRIVER_REQUESTS(CALL, STREAM_CALL)                                     \
  CALL(init, cuInit_v2000)                                                            \
  CALL(driver_get_version, cuDriverGetVersion_v2020)                                  \
  CALL(get_error_name, cuGetErrorName_v6000)                                          \
  CALL(get_error_string, cuGetErrorString_v6000)                                      \
  CALL(get_proc_address_v1, cuGetProcAddress_v11030)                                  \
  CALL(get_proc_address, cuGetProcAddress_v12000)                                     \
  CALL(get_export_table, cuGetExportTable_v3000)                                      \
  CALL(device_get, cuDeviceGet_v2000)                                                 \
  CALL(device_get_count, cuDeviceGetCount_v2000)                                      \
  CALL(device_get_name, cuDeviceGetName_v2000)                                        \
  CALL(device_get_uuid, cuDeviceGetUuid_v11040)                                       \
  CALL(device_total_mem, cuDeviceTotalMem_v3020)                                      \
  CALL(device_get_attribute, cuDeviceGetAttribute_v2000)                              \
  CALL(device_get_pci_bus_id, cuDeviceGetPCIBusId_v4010)                              \
  CALL(device_can_access_peer, cuDeviceCanAccessPeer_v4000)                           \
  CALL(device_primary_ctx_retain, cuDevicePrimaryCtxRetain_v7000)                     \
  CALL(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v11000)                  \
  CALL(device_primary_ctx_reset, cuDevicePrimaryCtxReset_v11000)                      \
  CALL(device_primary_ctx_set_flags, cuDevicePrimaryCtxSetFlags_v11000)               \
  CALL(device_primary_ctx_get_state, cuDevicePrimaryCtxGetState_v7000)                \
  CALL(ctx_set_current, cuCtxSetCurrent_v4000)                                        \
  CALL(ctx_get_current, cuCtxGetCurrent_v4000)                                        \
  CALL(ctx_get_device, cuCtxGetDevice_v2000)                                          \
  CALL(ctx_synchronize, cuCtxSynchronize_v2000)                                       \
  CALL(ctx_get_stream_priority_range, cuCtxGetStreamPriorityRange_v5050)              \
  CALL(library_load_data, cuLibraryLoadData_v12000)                                   \
  CALL(library_unload, cuLibraryUnload_v12000)                                        \
  CALL(library_get_kernel, cuLibraryGetKernel_v12000)                                 \
  CALL(library_get_global, cuLibraryGetGlobal_v12000)                                 \
  CALL(library_get_managed, cuLibraryGetManaged_v12000)                               \
  CALL(kernel_get_function, cuKernelGetFunction_v12000)                               \
  CALL(kernel_get_name, cuKernelGetName_v12030)                                       \
  CALL(func_get_attribute, cuFuncGetAttribute_v2020)                                  \
  CALL(func_set_attribute, cuFuncSetAttribute_v9000)                                  \
  CALL(func_set_cache_config, cuFuncSetCacheConfig_v3000)                             \
  CALL(func_get_name, cuFuncGetName_v12030)                                           \
  CALL(occupancy_max_active_blocks_per_multiprocessor_with_flags,                     \
       cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000)                    \
  STREAM_CALL(launch_kernel, cuLaunchKernel_v4000)                                    \
  STREAM_CALL(launch_kernel_ex, cuLaunchKernelEx_v11060)                              \
  STREAM_CALL(launch_cooperative_kernel, cuLaunchCooperativeKernel_v9000)             \
  STREAM_CALL(launch_host_func, cuLaunchHostFunc_v10000)                              \
  CALL(mem_alloc, cuMemAlloc_v3020)                                                   \
  CALL(mem_alloc_pitch, cuMemAllocPitch_v3020)                                        \
  CALL(mem_alloc_managed, cuMemAllocManaged_v6000)                                    \
  CALL(mem_alloc_host, cuMemAllocHost_v3020)                                          \
  CALL(mem_host_alloc, cuMemHostAlloc_v2020)                                          \
  CALL(mem_free, cuMemFree_v3020)                                                     \
  CALL(mem_free_host, cuMemFreeHost_v2000)                                            \
  CALL(mem_host_register, cuMemHostRegister_v6050)                                    \
  CALL(mem_host_unregister, cuMemHostUnregister_v4000)                                \
  CALL(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v3020)                  \
  CALL(mem_host_get_flags, cuMemHostGetFlags_v2030)                                   \
  CALL(mem_get_info, cuMemGetInfo_v3020)                                              \
  STREAM_CALL(mem_alloc_async, cuMemAllocAsync_v11020)                                \
  STREAM_CALL(mem_free_async, cuMemFreeAsync_v11020)                                  \
  STREAM_CALL(mem_alloc_from_pool_async, cuMemAllocFromPoolAsync_v11020)              \
  CALL(device_get_default_mem_pool, cuDeviceGetDefaultMemPool_v11020)                 \
  CALL(device_get_mem_pool, cuDeviceGetMemPool_v11020)                                \
  CALL(device_set_mem_pool, cuDeviceSetMemPool_v11020)                                \
  CALL(mem_pool_create, cuMemPoolCreate_v11020)                                       \
  CALL(mem_pool_destroy, cuMemPoolDestroy_v11020)                                     \
  CALL(mem_pool_trim_to, cuMemPoolTrimTo_v11020)                                      \
  CALL(mem_pool_set_attribute, cuMemPoolSetAttribute_v11020)                          \
  CALL(mem_pool_get_attribute, cuMemPoolGetAttribute_v11020)                          \
  CALL(mem_pool_set_access, cuMemPoolSetAccess_v11020)                                \
  CALL(mem_pool_get_access, cuMemPoolGetAccess_v11020)                                \
  CALL(ctx_enable_peer_access, cuCtxEnablePeerAccess_v4000)                           \
  CALL(ctx_disable_peer_access, cuCtxDisablePeerAccess_v4000)                         \
  CALL(ipc_get_mem_handle, cuIpcGetMemHandle_v4010)                                   \
  CALL(ipc_open_mem_handle, cuIpcOpenMemHandle_v11000)                                \
  CALL(ipc_close_mem_handle, cuIpcCloseMemHandle_v4010)                               \
  CALL(ipc_get_event_handle, cuIpcGetEventHandle_v4010)                               \
  CALL(ipc_open_event_handle, cuIpcOpenEventHandle_v4010)                             \
  CALL(pointer_get_attribute, cuPointerGetAttribute_v4000)                            \
  STREAM_CALL(memcpy, cuMemcpy_v4000)                                                 \
  STREAM_CALL(memcpy_async, cuMemcpyAsync_v4000)                                      \
  STREAM_CALL(memcpy_peer, cuMemcpyPeer_v4000)                                        \
  STREAM_CALL(memcpy_peer_async, cuMemcpyPeerAsync_v4000)                             \
  STREAM_CALL(memcpy2dunaligned, cuMemcpy2DUnaligned_v3020)                           \
  STREAM_CALL(memcpy2dasync, cuMemcpy2DAsync_v3020)                                   \
  STREAM_CALL(memset_d8, cuMemsetD8_v3020)                                            \
  STREAM_CALL(memset_d8_async, cuMemsetD8Async_v3020)                                 \
  STREAM_CALL(memset_2d8, cuMemsetD2D8_v3020)                                         \
  STREAM_CALL(memset_2d8_async, cuMemsetD2D8Async_v3020)                              \
  CALL(stream_create, cuStreamCreate_v2000)                                           \
  CALL(stream_create_with_priority, cuStreamCreateWithPriority_v5050)                 \
  CALL(stream_destroy, cuStreamDestroy_v4000)                                         \
  STREAM_CALL(stream_query, cuStreamQuery_v2000)                                      \
  STREAM_CALL(stream_synchronize, cuStreamSynchronize_v2000)                          \
  STREAM_CALL(stream_wait_event, cuStreamWaitEvent_v3020)                             \
  STREAM_CALL(stream_get_priority, cuStreamGetPriority_v5050)                         \
  STREAM_CALL(stream_get_flags, cuStreamGetFlags_v5050)                               \
  STREAM_CALL(stream_get_id, cuStreamGetId_v12000)                                    \
  STREAM_CALL(stream_get_device, cuStreamGetDevice_v12080)                            \
  STREAM_CALL(stream_begin_capture, cuStreamBeginCapture_v10010)                      \
  STREAM_CALL(stream_end_capture, cuStreamEndCapture_v10000)                          \
  STREAM_CALL(stream_is_capturing, cuStreamIsCapturing_v10000)                        \
  STREAM_CALL(stream_get_capture_info, cuStreamGetCaptureInfo_v12030)                 \
  CALL(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode_v10010) \
  CALL(event_create, cuEventCreate_v2000)                                             \
  CALL(event_destroy, cuEventDestroy_v4000)                                           \
  CALL(event_query, cuEventQuery_v2000)                                               \
  CALL(event_synchronize, cuEventSynchronize_v2000)                                   \
  CALL(event_elapsed_time_v1, cuEventElapsedTime_v2000)                               \
  CALL(event_elapsed_time, cuEventElapsedTime_v12080)                                 \
  STREAM_CALL(event_record, cuEventRecord_v2000)                                      \
  STREAM_CALL(event_record_with_flags, cuEventRecordWithFlags_v11010)                 \
  CALL(graph_destroy, cuGraphDestroy_v10000)                                          \
  CALL(graph_instantiate_v1, cuGraphInstantiate_v10000)                               \
  CALL(graph_instantiate, cuGraphInstantiate_v11000)                                  \
  CALL(graph_instantiate_with_flags, cuGraphInstantiateWithFlags_v11040)              \
  STREAM_CALL(graph_instantiate_with_params, cuGraphInstantiateWithParams_v12000)     \
  CALL(graph_exec_update, cuGraphExecUpdate_v12000)                                   \
  CALL(graph_exec_destroy, cuGraphExecDestroy_v10000)                                 \
  CALL(graph_exec_get_flags, cuGraphExecGetFlags_v12000)                              \
  STREAM_CALL(graph_upload, cuGraphUpload_v11010)                                     \
  STREAM_CALL(graph_launch, cuGraphLaunch_v10000)                                     \
  CALL(graph_get_nodes, cuGraphGetNodes_v10000)                                       \
  CALL(graph_node_get_type, cuGraphNodeGetType_v10000)

namespace simgpu {

// The meaning of a null stream.
enum class DefaultStream { kLegacy, kPerThread };
inline constexpr auto kLegacy = DefaultStream::kLegacy;
inline constexpr auto kPerThread = DefaultStream::kPerThread;

// A function for both.
template <typename Function>
struct Twins {
  Function legacy = nullptr, per_thread = nullptr;
  Function operator[](DefaultStream which) const { return which == kLegacy ? legacy : per_thread; }
};

struct DriverFunctions {
#define SIMGPU_MEMBER(member, typed) PFN_##typed member = nullptr;
#define SIMGPU_TWO_MEMBERS(member, typed) \
  Twins<PFN_##typed> member;  // NOLINT(bugprone-macro-parentheses): a name
  SIMGPU_DRIVER_REQUESTS(SIMGPU_MEMBER, SIMGPU_TWO_MEMBERS)
#undef SIMGPU_TWO_MEMBERS
#undef SIMGPU_MEMBER
  decltype(&simgpu_register_image) register_image = nullptr;
};

// Null, with one line on stderr, if there is no simulated driver.
[[nodiscard]] const DriverFunctions* find_driver();

}  // namespace simgpu
