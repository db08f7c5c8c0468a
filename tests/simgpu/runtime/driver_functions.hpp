// The driver as the runtime sees it: one pointer per (function, version, stream variant), all from
// cuGetProcAddress_v2, found in the order in which the vendor's runtime 13.0 looks for them: dlopen
// of libcuda.so.1, one dlsym, a probe with an empty name, then one request per pointer.  Nothing
// here links against libcuda, so a profiler that wraps these doors sees every call.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaTypedefs.h>
#pragma GCC visibility pop

#include "simgpu.h"

// X(member, base name, version, flags, type).  Flags 0 asks for the legacy default stream, 2 for
// the per-thread one.
#define SIMGPU_DRIVER_REQUESTS(X)                                                                 \
  X(init, cuInit, 2000, 0, PFN_cuInit_v2000)                                                      \
  X(driver_get_version, cuDriverGetVersion, 2020, 0, PFN_cuDriverGetVersion_v2020)                \
  X(get_error_name, cuGetErrorName, 6000, 0, PFN_cuGetErrorName_v6000)                            \
  X(get_error_string, cuGetErrorString, 6000, 0, PFN_cuGetErrorString_v6000)                      \
  X(get_proc_address_v1, cuGetProcAddress, 11030, 0, PFN_cuGetProcAddress_v11030)                 \
  X(get_proc_address, cuGetProcAddress, 12000, 0, PFN_cuGetProcAddress_v12000)                    \
  X(get_export_table, cuGetExportTable, 3000, 0, PFN_cuGetExportTable_v3000)                      \
  X(device_get, cuDeviceGet, 2000, 0, PFN_cuDeviceGet_v2000)                                      \
  X(device_get_count, cuDeviceGetCount, 2000, 0, PFN_cuDeviceGetCount_v2000)                      \
  X(device_get_name, cuDeviceGetName, 2000, 0, PFN_cuDeviceGetName_v2000)                         \
  X(device_get_uuid, cuDeviceGetUuid, 11040, 0, PFN_cuDeviceGetUuid_v11040)                       \
  X(device_total_mem, cuDeviceTotalMem, 3020, 0, PFN_cuDeviceTotalMem_v3020)                      \
  X(device_get_attribute, cuDeviceGetAttribute, 2000, 0, PFN_cuDeviceGetAttribute_v2000)          \
  X(device_get_pci_bus_id, cuDeviceGetPCIBusId, 4010, 0, PFN_cuDeviceGetPCIBusId_v4010)           \
  X(device_can_access_peer, cuDeviceCanAccessPeer, 4000, 0, PFN_cuDeviceCanAccessPeer_v4000)      \
  X(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000, 0,                                 \
    PFN_cuDevicePrimaryCtxRetain_v7000)                                                           \
  X(device_primary_ctx_release, cuDevicePrimaryCtxRelease, 11000, 0,                              \
    PFN_cuDevicePrimaryCtxRelease_v11000)                                                         \
  X(device_primary_ctx_reset, cuDevicePrimaryCtxReset, 11000, 0,                                  \
    PFN_cuDevicePrimaryCtxReset_v11000)                                                           \
  X(device_primary_ctx_set_flags, cuDevicePrimaryCtxSetFlags, 11000, 0,                           \
    PFN_cuDevicePrimaryCtxSetFlags_v11000)                                                        \
  X(device_primary_ctx_get_state, cuDevicePrimaryCtxGetState, 7000, 0,                            \
    PFN_cuDevicePrimaryCtxGetState_v7000)                                                         \
  X(ctx_set_current, cuCtxSetCurrent, 4000, 0, PFN_cuCtxSetCurrent_v4000)                         \
  X(ctx_get_current, cuCtxGetCurrent, 4000, 0, PFN_cuCtxGetCurrent_v4000)                         \
  X(ctx_get_device, cuCtxGetDevice, 2000, 0, PFN_cuCtxGetDevice_v2000)                            \
  X(ctx_synchronize, cuCtxSynchronize, 2000, 0, PFN_cuCtxSynchronize_v2000)                       \
  X(ctx_get_stream_priority_range, cuCtxGetStreamPriorityRange, 5050, 0,                          \
    PFN_cuCtxGetStreamPriorityRange_v5050)                                                        \
  X(library_load_data, cuLibraryLoadData, 12000, 0, PFN_cuLibraryLoadData_v12000)                 \
  X(library_unload, cuLibraryUnload, 12000, 0, PFN_cuLibraryUnload_v12000)                        \
  X(library_get_kernel, cuLibraryGetKernel, 12000, 0, PFN_cuLibraryGetKernel_v12000)              \
  X(library_get_global, cuLibraryGetGlobal, 12000, 0, PFN_cuLibraryGetGlobal_v12000)              \
  X(library_get_managed, cuLibraryGetManaged, 12000, 0, PFN_cuLibraryGetManaged_v12000)           \
  X(kernel_get_function, cuKernelGetFunction, 12000, 0, PFN_cuKernelGetFunction_v12000)           \
  X(kernel_get_name, cuKernelGetName, 12030, 0, PFN_cuKernelGetName_v12030)                       \
  X(func_get_attribute, cuFuncGetAttribute, 2020, 0, PFN_cuFuncGetAttribute_v2020)                \
  X(func_set_attribute, cuFuncSetAttribute, 9000, 0, PFN_cuFuncSetAttribute_v9000)                \
  X(func_set_cache_config, cuFuncSetCacheConfig, 3000, 0, PFN_cuFuncSetCacheConfig_v3000)         \
  X(func_get_name, cuFuncGetName, 12030, 0, PFN_cuFuncGetName_v12030)                             \
  X(occupancy_max_active_blocks_per_multiprocessor_with_flags,                                    \
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, 0,                                \
    PFN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000)                               \
  X(launch_kernel, cuLaunchKernel, 4000, 0, PFN_cuLaunchKernel_v4000)                             \
  X(launch_kernel_ptsz, cuLaunchKernel, 7000, 2, PFN_cuLaunchKernel_v7000_ptsz)                   \
  X(launch_kernel_ex, cuLaunchKernelEx, 11060, 0, PFN_cuLaunchKernelEx_v11060)                    \
  X(launch_kernel_ex_ptsz, cuLaunchKernelEx, 11060, 2, PFN_cuLaunchKernelEx_v11060_ptsz)          \
  X(launch_cooperative_kernel, cuLaunchCooperativeKernel, 9000, 0,                                \
    PFN_cuLaunchCooperativeKernel_v9000)                                                          \
  X(launch_cooperative_kernel_ptsz, cuLaunchCooperativeKernel, 9000, 2,                           \
    PFN_cuLaunchCooperativeKernel_v9000_ptsz)                                                     \
  X(launch_host_func, cuLaunchHostFunc, 10000, 0, PFN_cuLaunchHostFunc_v10000)                    \
  X(launch_host_func_ptsz, cuLaunchHostFunc, 10000, 2, PFN_cuLaunchHostFunc_v10000_ptsz)          \
  X(mem_alloc, cuMemAlloc, 3020, 0, PFN_cuMemAlloc_v3020)                                         \
  X(mem_alloc_pitch, cuMemAllocPitch, 3020, 0, PFN_cuMemAllocPitch_v3020)                         \
  X(mem_alloc_managed, cuMemAllocManaged, 6000, 0, PFN_cuMemAllocManaged_v6000)                   \
  X(mem_alloc_host, cuMemAllocHost, 3020, 0, PFN_cuMemAllocHost_v3020)                            \
  X(mem_host_alloc, cuMemHostAlloc, 2020, 0, PFN_cuMemHostAlloc_v2020)                            \
  X(mem_free, cuMemFree, 3020, 0, PFN_cuMemFree_v3020)                                            \
  X(mem_free_host, cuMemFreeHost, 2000, 0, PFN_cuMemFreeHost_v2000)                               \
  X(mem_host_register, cuMemHostRegister, 6050, 0, PFN_cuMemHostRegister_v6050)                   \
  X(mem_host_unregister, cuMemHostUnregister, 4000, 0, PFN_cuMemHostUnregister_v4000)             \
  X(mem_host_get_device_pointer, cuMemHostGetDevicePointer, 3020, 0,                              \
    PFN_cuMemHostGetDevicePointer_v3020)                                                          \
  X(mem_host_get_flags, cuMemHostGetFlags, 2030, 0, PFN_cuMemHostGetFlags_v2030)                  \
  X(mem_get_info, cuMemGetInfo, 3020, 0, PFN_cuMemGetInfo_v3020)                                  \
  X(mem_alloc_async, cuMemAllocAsync, 11020, 0, PFN_cuMemAllocAsync_v11020)                       \
  X(mem_alloc_async_ptsz, cuMemAllocAsync, 11020, 2, PFN_cuMemAllocAsync_v11020_ptsz)             \
  X(mem_free_async, cuMemFreeAsync, 11020, 0, PFN_cuMemFreeAsync_v11020)                          \
  X(mem_free_async_ptsz, cuMemFreeAsync, 11020, 2, PFN_cuMemFreeAsync_v11020_ptsz)                \
  X(pointer_get_attribute, cuPointerGetAttribute, 4000, 0, PFN_cuPointerGetAttribute_v4000)       \
  X(memcpy, cuMemcpy, 4000, 0, PFN_cuMemcpy_v4000)                                                \
  X(memcpy_ptsz, cuMemcpy, 7000, 2, PFN_cuMemcpy_v7000_ptds)                                      \
  X(memcpy_async, cuMemcpyAsync, 4000, 0, PFN_cuMemcpyAsync_v4000)                                \
  X(memcpy_async_ptsz, cuMemcpyAsync, 7000, 2, PFN_cuMemcpyAsync_v7000_ptsz)                      \
  X(memcpy2dunaligned, cuMemcpy2DUnaligned, 3020, 0, PFN_cuMemcpy2DUnaligned_v3020)               \
  X(memcpy2dunaligned_ptsz, cuMemcpy2DUnaligned, 7000, 2, PFN_cuMemcpy2DUnaligned_v7000_ptds)     \
  X(memcpy2dasync, cuMemcpy2DAsync, 3020, 0, PFN_cuMemcpy2DAsync_v3020)                           \
  X(memcpy2dasync_ptsz, cuMemcpy2DAsync, 7000, 2, PFN_cuMemcpy2DAsync_v7000_ptsz)                 \
  X(memset_d8, cuMemsetD8, 3020, 0, PFN_cuMemsetD8_v3020)                                         \
  X(memset_d8_ptsz, cuMemsetD8, 7000, 2, PFN_cuMemsetD8_v7000_ptds)                               \
  X(memset_d8_async, cuMemsetD8Async, 3020, 0, PFN_cuMemsetD8Async_v3020)                         \
  X(memset_d8_async_ptsz, cuMemsetD8Async, 7000, 2, PFN_cuMemsetD8Async_v7000_ptsz)               \
  X(memset_2d8, cuMemsetD2D8, 3020, 0, PFN_cuMemsetD2D8_v3020)                                    \
  X(memset_2d8_ptsz, cuMemsetD2D8, 7000, 2, PFN_cuMemsetD2D8_v7000_ptds)                          \
  X(memset_2d8_async, cuMemsetD2D8Async, 3020, 0, PFN_cuMemsetD2D8Async_v3020)                    \
  X(memset_2d8_async_ptsz, cuMemsetD2D8Async, 7000, 2, PFN_cuMemsetD2D8Async_v7000_ptsz)          \
  X(stream_create, cuStreamCreate, 2000, 0, PFN_cuStreamCreate_v2000)                             \
  X(stream_create_with_priority, cuStreamCreateWithPriority, 5050, 0,                             \
    PFN_cuStreamCreateWithPriority_v5050)                                                         \
  X(stream_destroy, cuStreamDestroy, 4000, 0, PFN_cuStreamDestroy_v4000)                          \
  X(stream_query, cuStreamQuery, 2000, 0, PFN_cuStreamQuery_v2000)                                \
  X(stream_query_ptsz, cuStreamQuery, 7000, 2, PFN_cuStreamQuery_v7000_ptsz)                      \
  X(stream_synchronize, cuStreamSynchronize, 2000, 0, PFN_cuStreamSynchronize_v2000)              \
  X(stream_synchronize_ptsz, cuStreamSynchronize, 7000, 2, PFN_cuStreamSynchronize_v7000_ptsz)    \
  X(stream_wait_event, cuStreamWaitEvent, 3020, 0, PFN_cuStreamWaitEvent_v3020)                   \
  X(stream_wait_event_ptsz, cuStreamWaitEvent, 7000, 2, PFN_cuStreamWaitEvent_v7000_ptsz)         \
  X(stream_get_priority, cuStreamGetPriority, 5050, 0, PFN_cuStreamGetPriority_v5050)             \
  X(stream_get_priority_ptsz, cuStreamGetPriority, 7000, 2, PFN_cuStreamGetPriority_v7000_ptsz)   \
  X(stream_get_flags, cuStreamGetFlags, 5050, 0, PFN_cuStreamGetFlags_v5050)                      \
  X(stream_get_flags_ptsz, cuStreamGetFlags, 7000, 2, PFN_cuStreamGetFlags_v7000_ptsz)            \
  X(stream_get_id, cuStreamGetId, 12000, 0, PFN_cuStreamGetId_v12000)                             \
  X(stream_get_id_ptsz, cuStreamGetId, 12000, 2, PFN_cuStreamGetId_v12000_ptsz)                   \
  X(stream_get_device, cuStreamGetDevice, 12080, 0, PFN_cuStreamGetDevice_v12080)                 \
  X(stream_get_device_ptsz, cuStreamGetDevice, 12080, 2, PFN_cuStreamGetDevice_v12080_ptsz)       \
  X(stream_begin_capture, cuStreamBeginCapture, 10010, 0, PFN_cuStreamBeginCapture_v10010)        \
  X(stream_begin_capture_ptsz, cuStreamBeginCapture, 10010, 2,                                    \
    PFN_cuStreamBeginCapture_v10010_ptsz)                                                         \
  X(stream_end_capture, cuStreamEndCapture, 10000, 0, PFN_cuStreamEndCapture_v10000)              \
  X(stream_end_capture_ptsz, cuStreamEndCapture, 10000, 2, PFN_cuStreamEndCapture_v10000_ptsz)    \
  X(stream_is_capturing, cuStreamIsCapturing, 10000, 0, PFN_cuStreamIsCapturing_v10000)           \
  X(stream_is_capturing_ptsz, cuStreamIsCapturing, 10000, 2, PFN_cuStreamIsCapturing_v10000_ptsz) \
  X(stream_get_capture_info, cuStreamGetCaptureInfo, 12030, 0, PFN_cuStreamGetCaptureInfo_v12030) \
  X(stream_get_capture_info_ptsz, cuStreamGetCaptureInfo, 12030, 2,                               \
    PFN_cuStreamGetCaptureInfo_v12030_ptsz)                                                       \
  X(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, 10010, 0,             \
    PFN_cuThreadExchangeStreamCaptureMode_v10010)                                                 \
  X(event_create, cuEventCreate, 2000, 0, PFN_cuEventCreate_v2000)                                \
  X(event_destroy, cuEventDestroy, 4000, 0, PFN_cuEventDestroy_v4000)                             \
  X(event_query, cuEventQuery, 2000, 0, PFN_cuEventQuery_v2000)                                   \
  X(event_synchronize, cuEventSynchronize, 2000, 0, PFN_cuEventSynchronize_v2000)                 \
  X(event_elapsed_time_v1, cuEventElapsedTime, 2000, 0, PFN_cuEventElapsedTime_v2000)             \
  X(event_elapsed_time, cuEventElapsedTime, 12080, 0, PFN_cuEventElapsedTime_v12080)              \
  X(event_record, cuEventRecord, 2000, 0, PFN_cuEventRecord_v2000)                                \
  X(event_record_ptsz, cuEventRecord, 7000, 2, PFN_cuEventRecord_v7000_ptsz)                      \
  X(event_record_with_flags, cuEventRecordWithFlags, 11010, 0, PFN_cuEventRecordWithFlags_v11010) \
  X(event_record_with_flags_ptsz, cuEventRecordWithFlags, 11010, 2,                               \
    PFN_cuEventRecordWithFlags_v11010_ptsz)                                                       \
  X(graph_destroy, cuGraphDestroy, 10000, 0, PFN_cuGraphDestroy_v10000)                           \
  X(graph_instantiate_v1, cuGraphInstantiate, 10000, 0, PFN_cuGraphInstantiate_v10000)            \
  X(graph_instantiate, cuGraphInstantiate, 11000, 0, PFN_cuGraphInstantiate_v11000)               \
  X(graph_instantiate_with_flags, cuGraphInstantiateWithFlags, 11040, 0,                          \
    PFN_cuGraphInstantiateWithFlags_v11040)                                                       \
  X(graph_instantiate_with_params, cuGraphInstantiateWithParams, 12000, 0,                        \
    PFN_cuGraphInstantiateWithParams_v12000)                                                      \
  X(graph_instantiate_with_params_ptsz, cuGraphInstantiateWithParams, 12000, 2,                   \
    PFN_cuGraphInstantiateWithParams_v12000_ptsz)                                                 \
  X(graph_exec_update, cuGraphExecUpdate, 12000, 0, PFN_cuGraphExecUpdate_v12000)                 \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000, 0, PFN_cuGraphExecDestroy_v10000)              \
  X(graph_exec_get_flags, cuGraphExecGetFlags, 12000, 0, PFN_cuGraphExecGetFlags_v12000)          \
  X(graph_upload, cuGraphUpload, 11010, 0, PFN_cuGraphUpload_v11010)                              \
  X(graph_upload_ptsz, cuGraphUpload, 11010, 2, PFN_cuGraphUpload_v11010_ptsz)                    \
  X(graph_launch, cuGraphLaunch, 10000, 0, PFN_cuGraphLaunch_v10000)                              \
  X(graph_launch_ptsz, cuGraphLaunch, 10000, 2, PFN_cuGraphLaunch_v10000_ptsz)                    \
  X(graph_get_nodes, cuGraphGetNodes, 10000, 0, PFN_cuGraphGetNodes_v10000)                       \
  X(graph_node_get_type, cuGraphNodeGetType, 10000, 0, PFN_cuGraphNodeGetType_v10000)

namespace inline_prof::simgpu {

struct DriverFunctions {
#define SIMGPU_MEMBER(member, base, version, flags, type) type member = nullptr;
  SIMGPU_DRIVER_REQUESTS(SIMGPU_MEMBER)
#undef SIMGPU_MEMBER
  decltype(&simgpu_register_image) register_image = nullptr;
};

// Null, with one line on stderr, if there is no simulated driver.
[[nodiscard]] const DriverFunctions* find_driver();

}  // namespace inline_prof::simgpu
