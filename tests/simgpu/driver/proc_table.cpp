#include "driver/proc_table.hpp"

#include "driver/call.hpp"
#include "simgpu.h"

#pragma GCC visibility push(default)
#include <cudaTypedefs.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstring>

namespace inline_prof::simgpu {
namespace {

// The static_cast lets the compiler compare our function with the vendor's typedef for that
// version.
#define SIMGPU_ROW(base, version, variant, symbol, type)         \
  ProcRow {                                                      \
#base, version, ProcVariant::variant, #symbol,               \
        reinterpret_cast < void*>(static_cast <type>(&::symbol)) \
  }

const ProcRow kRows[] = {
    {"simgpu_register_image", 1000, ProcVariant::kBoth, "simgpu_register_image",
     reinterpret_cast<void*>(&simgpu_register_image)},
    SIMGPU_ROW(cuCtxCreate, 11040, kBoth, cuCtxCreate_v3, PFN_cuCtxCreate_v11040),
    SIMGPU_ROW(cuCtxCreate, 12050, kBoth, cuCtxCreate_v4, PFN_cuCtxCreate_v12050),
    SIMGPU_ROW(cuCtxCreate, 2000, kBoth, cuCtxCreate, PFN_cuCtxCreate_v2000),
    SIMGPU_ROW(cuCtxCreate, 3020, kBoth, cuCtxCreate_v2, PFN_cuCtxCreate_v3020),
    SIMGPU_ROW(cuCtxDestroy, 2000, kBoth, cuCtxDestroy, PFN_cuCtxDestroy_v2000),
    SIMGPU_ROW(cuCtxDestroy, 4000, kBoth, cuCtxDestroy_v2, PFN_cuCtxDestroy_v4000),
    SIMGPU_ROW(cuCtxGetApiVersion, 3020, kBoth, cuCtxGetApiVersion, PFN_cuCtxGetApiVersion_v3020),
    SIMGPU_ROW(cuCtxGetCurrent, 4000, kBoth, cuCtxGetCurrent, PFN_cuCtxGetCurrent_v4000),
    SIMGPU_ROW(cuCtxGetDevice, 13000, kBoth, cuCtxGetDevice_v2, PFN_cuCtxGetDevice_v13000),
    SIMGPU_ROW(cuCtxGetDevice, 2000, kBoth, cuCtxGetDevice, PFN_cuCtxGetDevice_v2000),
    SIMGPU_ROW(cuCtxGetFlags, 7000, kBoth, cuCtxGetFlags, PFN_cuCtxGetFlags_v7000),
    SIMGPU_ROW(cuCtxGetId, 12000, kBoth, cuCtxGetId, PFN_cuCtxGetId_v12000),
    SIMGPU_ROW(cuCtxGetStreamPriorityRange, 5050, kBoth, cuCtxGetStreamPriorityRange,
               PFN_cuCtxGetStreamPriorityRange_v5050),
    SIMGPU_ROW(cuCtxPopCurrent, 2000, kBoth, cuCtxPopCurrent, PFN_cuCtxPopCurrent_v2000),
    SIMGPU_ROW(cuCtxPopCurrent, 4000, kBoth, cuCtxPopCurrent_v2, PFN_cuCtxPopCurrent_v4000),
    SIMGPU_ROW(cuCtxPushCurrent, 2000, kBoth, cuCtxPushCurrent, PFN_cuCtxPushCurrent_v2000),
    SIMGPU_ROW(cuCtxPushCurrent, 4000, kBoth, cuCtxPushCurrent_v2, PFN_cuCtxPushCurrent_v4000),
    SIMGPU_ROW(cuCtxSetCurrent, 4000, kBoth, cuCtxSetCurrent, PFN_cuCtxSetCurrent_v4000),
    SIMGPU_ROW(cuCtxSynchronize, 13000, kBoth, cuCtxSynchronize_v2, PFN_cuCtxSynchronize_v13000),
    SIMGPU_ROW(cuCtxSynchronize, 2000, kBoth, cuCtxSynchronize, PFN_cuCtxSynchronize_v2000),
    SIMGPU_ROW(cuDeviceCanAccessPeer, 4000, kBoth, cuDeviceCanAccessPeer,
               PFN_cuDeviceCanAccessPeer_v4000),
    SIMGPU_ROW(cuDeviceGet, 2000, kBoth, cuDeviceGet, PFN_cuDeviceGet_v2000),
    SIMGPU_ROW(cuDeviceGetAttribute, 2000, kBoth, cuDeviceGetAttribute,
               PFN_cuDeviceGetAttribute_v2000),
    SIMGPU_ROW(cuDeviceGetCount, 2000, kBoth, cuDeviceGetCount, PFN_cuDeviceGetCount_v2000),
    SIMGPU_ROW(cuDeviceGetName, 2000, kBoth, cuDeviceGetName, PFN_cuDeviceGetName_v2000),
    SIMGPU_ROW(cuDeviceGetPCIBusId, 4010, kBoth, cuDeviceGetPCIBusId,
               PFN_cuDeviceGetPCIBusId_v4010),
    SIMGPU_ROW(cuDeviceGetUuid, 11040, kBoth, cuDeviceGetUuid_v2, PFN_cuDeviceGetUuid_v11040),
    SIMGPU_ROW(cuDeviceGetUuid, 9020, kBoth, cuDeviceGetUuid, PFN_cuDeviceGetUuid_v9020),
    SIMGPU_ROW(cuDevicePrimaryCtxGetState, 7000, kBoth, cuDevicePrimaryCtxGetState,
               PFN_cuDevicePrimaryCtxGetState_v7000),
    SIMGPU_ROW(cuDevicePrimaryCtxRelease, 11000, kBoth, cuDevicePrimaryCtxRelease_v2,
               PFN_cuDevicePrimaryCtxRelease_v11000),
    SIMGPU_ROW(cuDevicePrimaryCtxRelease, 7000, kBoth, cuDevicePrimaryCtxRelease,
               PFN_cuDevicePrimaryCtxRelease_v7000),
    SIMGPU_ROW(cuDevicePrimaryCtxReset, 11000, kBoth, cuDevicePrimaryCtxReset_v2,
               PFN_cuDevicePrimaryCtxReset_v11000),
    SIMGPU_ROW(cuDevicePrimaryCtxReset, 7000, kBoth, cuDevicePrimaryCtxReset,
               PFN_cuDevicePrimaryCtxReset_v7000),
    SIMGPU_ROW(cuDevicePrimaryCtxRetain, 7000, kBoth, cuDevicePrimaryCtxRetain,
               PFN_cuDevicePrimaryCtxRetain_v7000),
    SIMGPU_ROW(cuDevicePrimaryCtxSetFlags, 11000, kBoth, cuDevicePrimaryCtxSetFlags_v2,
               PFN_cuDevicePrimaryCtxSetFlags_v11000),
    SIMGPU_ROW(cuDevicePrimaryCtxSetFlags, 7000, kBoth, cuDevicePrimaryCtxSetFlags,
               PFN_cuDevicePrimaryCtxSetFlags_v7000),
    SIMGPU_ROW(cuDeviceTotalMem, 3020, kBoth, cuDeviceTotalMem_v2, PFN_cuDeviceTotalMem_v3020),
    SIMGPU_ROW(cuDriverGetVersion, 2020, kBoth, cuDriverGetVersion, PFN_cuDriverGetVersion_v2020),
    SIMGPU_ROW(cuEventCreate, 2000, kBoth, cuEventCreate, PFN_cuEventCreate_v2000),
    SIMGPU_ROW(cuEventDestroy, 2000, kBoth, cuEventDestroy, PFN_cuEventDestroy_v2000),
    SIMGPU_ROW(cuEventDestroy, 4000, kBoth, cuEventDestroy_v2, PFN_cuEventDestroy_v4000),
    SIMGPU_ROW(cuEventElapsedTime, 12080, kBoth, cuEventElapsedTime_v2,
               PFN_cuEventElapsedTime_v12080),
    SIMGPU_ROW(cuEventElapsedTime, 2000, kBoth, cuEventElapsedTime, PFN_cuEventElapsedTime_v2000),
    SIMGPU_ROW(cuEventQuery, 2000, kBoth, cuEventQuery, PFN_cuEventQuery_v2000),
    SIMGPU_ROW(cuEventRecord, 2000, kLegacyOnly, cuEventRecord, PFN_cuEventRecord_v2000),
    SIMGPU_ROW(cuEventRecord, 7000, kPerThreadOnly, cuEventRecord_ptsz,
               PFN_cuEventRecord_v7000_ptsz),
    SIMGPU_ROW(cuEventRecordWithFlags, 11010, kLegacyOnly, cuEventRecordWithFlags,
               PFN_cuEventRecordWithFlags_v11010),
    SIMGPU_ROW(cuEventRecordWithFlags, 11010, kPerThreadOnly, cuEventRecordWithFlags_ptsz,
               PFN_cuEventRecordWithFlags_v11010_ptsz),
    SIMGPU_ROW(cuEventSynchronize, 2000, kBoth, cuEventSynchronize, PFN_cuEventSynchronize_v2000),
    SIMGPU_ROW(cuFuncGetAttribute, 2020, kBoth, cuFuncGetAttribute, PFN_cuFuncGetAttribute_v2020),
    SIMGPU_ROW(cuFuncGetModule, 11000, kBoth, cuFuncGetModule, PFN_cuFuncGetModule_v11000),
    SIMGPU_ROW(cuFuncGetName, 12030, kBoth, cuFuncGetName, PFN_cuFuncGetName_v12030),
    SIMGPU_ROW(cuFuncIsLoaded, 12040, kBoth, cuFuncIsLoaded, PFN_cuFuncIsLoaded_v12040),
    SIMGPU_ROW(cuFuncLoad, 12040, kBoth, cuFuncLoad, PFN_cuFuncLoad_v12040),
    SIMGPU_ROW(cuFuncSetAttribute, 9000, kBoth, cuFuncSetAttribute, PFN_cuFuncSetAttribute_v9000),
    SIMGPU_ROW(cuFuncSetCacheConfig, 3000, kBoth, cuFuncSetCacheConfig,
               PFN_cuFuncSetCacheConfig_v3000),
    SIMGPU_ROW(cuGetErrorName, 6000, kBoth, cuGetErrorName, PFN_cuGetErrorName_v6000),
    SIMGPU_ROW(cuGetErrorString, 6000, kBoth, cuGetErrorString, PFN_cuGetErrorString_v6000),
    SIMGPU_ROW(cuGetExportTable, 3000, kBoth, cuGetExportTable, PFN_cuGetExportTable_v3000),
    SIMGPU_ROW(cuGetProcAddress, 11030, kBoth, cuGetProcAddress, PFN_cuGetProcAddress_v11030),
    SIMGPU_ROW(cuGetProcAddress, 12000, kBoth, cuGetProcAddress_v2, PFN_cuGetProcAddress_v12000),
    SIMGPU_ROW(cuGraphDestroy, 10000, kBoth, cuGraphDestroy, PFN_cuGraphDestroy_v10000),
    SIMGPU_ROW(cuGraphExecDestroy, 10000, kBoth, cuGraphExecDestroy, PFN_cuGraphExecDestroy_v10000),
    SIMGPU_ROW(cuGraphExecGetFlags, 12000, kBoth, cuGraphExecGetFlags,
               PFN_cuGraphExecGetFlags_v12000),
    SIMGPU_ROW(cuGraphExecUpdate, 10020, kBoth, cuGraphExecUpdate, PFN_cuGraphExecUpdate_v10020),
    SIMGPU_ROW(cuGraphExecUpdate, 12000, kBoth, cuGraphExecUpdate_v2, PFN_cuGraphExecUpdate_v12000),
    SIMGPU_ROW(cuGraphGetNodes, 10000, kBoth, cuGraphGetNodes, PFN_cuGraphGetNodes_v10000),
    SIMGPU_ROW(cuGraphInstantiate, 10000, kBoth, cuGraphInstantiate, PFN_cuGraphInstantiate_v10000),
    SIMGPU_ROW(cuGraphInstantiate, 11000, kBoth, cuGraphInstantiate_v2,
               PFN_cuGraphInstantiate_v11000),
    SIMGPU_ROW(cuGraphInstantiateWithFlags, 11040, kBoth, cuGraphInstantiateWithFlags,
               PFN_cuGraphInstantiateWithFlags_v11040),
    SIMGPU_ROW(cuGraphInstantiateWithParams, 12000, kLegacyOnly, cuGraphInstantiateWithParams,
               PFN_cuGraphInstantiateWithParams_v12000),
    SIMGPU_ROW(cuGraphInstantiateWithParams, 12000, kPerThreadOnly,
               cuGraphInstantiateWithParams_ptsz, PFN_cuGraphInstantiateWithParams_v12000_ptsz),
    SIMGPU_ROW(cuGraphKernelNodeGetParams, 10000, kBoth, cuGraphKernelNodeGetParams,
               PFN_cuGraphKernelNodeGetParams_v10000),
    SIMGPU_ROW(cuGraphKernelNodeGetParams, 12000, kBoth, cuGraphKernelNodeGetParams_v2,
               PFN_cuGraphKernelNodeGetParams_v12000),
    SIMGPU_ROW(cuGraphLaunch, 10000, kLegacyOnly, cuGraphLaunch, PFN_cuGraphLaunch_v10000),
    SIMGPU_ROW(cuGraphLaunch, 10000, kPerThreadOnly, cuGraphLaunch_ptsz,
               PFN_cuGraphLaunch_v10000_ptsz),
    SIMGPU_ROW(cuGraphNodeGetDependencies, 10000, kBoth, cuGraphNodeGetDependencies,
               PFN_cuGraphNodeGetDependencies_v10000),
    SIMGPU_ROW(cuGraphNodeGetDependencies, 12030, kBoth, cuGraphNodeGetDependencies_v2,
               PFN_cuGraphNodeGetDependencies_v12030),
    SIMGPU_ROW(cuGraphNodeGetType, 10000, kBoth, cuGraphNodeGetType, PFN_cuGraphNodeGetType_v10000),
    SIMGPU_ROW(cuGraphUpload, 11010, kLegacyOnly, cuGraphUpload, PFN_cuGraphUpload_v11010),
    SIMGPU_ROW(cuGraphUpload, 11010, kPerThreadOnly, cuGraphUpload_ptsz,
               PFN_cuGraphUpload_v11010_ptsz),
    SIMGPU_ROW(cuInit, 2000, kBoth, cuInit, PFN_cuInit_v2000),
    SIMGPU_ROW(cuKernelGetAttribute, 12000, kBoth, cuKernelGetAttribute,
               PFN_cuKernelGetAttribute_v12000),
    SIMGPU_ROW(cuKernelGetFunction, 12000, kBoth, cuKernelGetFunction,
               PFN_cuKernelGetFunction_v12000),
    SIMGPU_ROW(cuKernelGetLibrary, 12050, kBoth, cuKernelGetLibrary, PFN_cuKernelGetLibrary_v12050),
    SIMGPU_ROW(cuKernelGetName, 12030, kBoth, cuKernelGetName, PFN_cuKernelGetName_v12030),
    SIMGPU_ROW(cuLaunchCooperativeKernel, 9000, kLegacyOnly, cuLaunchCooperativeKernel,
               PFN_cuLaunchCooperativeKernel_v9000),
    SIMGPU_ROW(cuLaunchCooperativeKernel, 9000, kPerThreadOnly, cuLaunchCooperativeKernel_ptsz,
               PFN_cuLaunchCooperativeKernel_v9000_ptsz),
    SIMGPU_ROW(cuLaunchHostFunc, 10000, kLegacyOnly, cuLaunchHostFunc, PFN_cuLaunchHostFunc_v10000),
    SIMGPU_ROW(cuLaunchHostFunc, 10000, kPerThreadOnly, cuLaunchHostFunc_ptsz,
               PFN_cuLaunchHostFunc_v10000_ptsz),
    SIMGPU_ROW(cuLaunchKernel, 4000, kLegacyOnly, cuLaunchKernel, PFN_cuLaunchKernel_v4000),
    SIMGPU_ROW(cuLaunchKernel, 7000, kPerThreadOnly, cuLaunchKernel_ptsz,
               PFN_cuLaunchKernel_v7000_ptsz),
    SIMGPU_ROW(cuLaunchKernelEx, 11060, kLegacyOnly, cuLaunchKernelEx, PFN_cuLaunchKernelEx_v11060),
    SIMGPU_ROW(cuLaunchKernelEx, 11060, kPerThreadOnly, cuLaunchKernelEx_ptsz,
               PFN_cuLaunchKernelEx_v11060_ptsz),
    SIMGPU_ROW(cuLibraryGetGlobal, 12000, kBoth, cuLibraryGetGlobal, PFN_cuLibraryGetGlobal_v12000),
    SIMGPU_ROW(cuLibraryGetKernel, 12000, kBoth, cuLibraryGetKernel, PFN_cuLibraryGetKernel_v12000),
    SIMGPU_ROW(cuLibraryGetManaged, 12000, kBoth, cuLibraryGetManaged,
               PFN_cuLibraryGetManaged_v12000),
    SIMGPU_ROW(cuLibraryGetModule, 12000, kBoth, cuLibraryGetModule, PFN_cuLibraryGetModule_v12000),
    SIMGPU_ROW(cuLibraryLoadData, 12000, kBoth, cuLibraryLoadData, PFN_cuLibraryLoadData_v12000),
    SIMGPU_ROW(cuLibraryUnload, 12000, kBoth, cuLibraryUnload, PFN_cuLibraryUnload_v12000),
    SIMGPU_ROW(cuMemAlloc, 3020, kBoth, cuMemAlloc_v2, PFN_cuMemAlloc_v3020),
    SIMGPU_ROW(cuMemAllocAsync, 11020, kLegacyOnly, cuMemAllocAsync, PFN_cuMemAllocAsync_v11020),
    SIMGPU_ROW(cuMemAllocAsync, 11020, kPerThreadOnly, cuMemAllocAsync_ptsz,
               PFN_cuMemAllocAsync_v11020_ptsz),
    SIMGPU_ROW(cuMemAllocHost, 3020, kBoth, cuMemAllocHost_v2, PFN_cuMemAllocHost_v3020),
    SIMGPU_ROW(cuMemAllocManaged, 6000, kBoth, cuMemAllocManaged, PFN_cuMemAllocManaged_v6000),
    SIMGPU_ROW(cuMemAllocPitch, 3020, kBoth, cuMemAllocPitch_v2, PFN_cuMemAllocPitch_v3020),
    SIMGPU_ROW(cuMemFree, 3020, kBoth, cuMemFree_v2, PFN_cuMemFree_v3020),
    SIMGPU_ROW(cuMemFreeAsync, 11020, kLegacyOnly, cuMemFreeAsync, PFN_cuMemFreeAsync_v11020),
    SIMGPU_ROW(cuMemFreeAsync, 11020, kPerThreadOnly, cuMemFreeAsync_ptsz,
               PFN_cuMemFreeAsync_v11020_ptsz),
    SIMGPU_ROW(cuMemFreeHost, 2000, kBoth, cuMemFreeHost, PFN_cuMemFreeHost_v2000),
    SIMGPU_ROW(cuMemGetAddressRange, 3020, kBoth, cuMemGetAddressRange_v2,
               PFN_cuMemGetAddressRange_v3020),
    SIMGPU_ROW(cuMemGetInfo, 3020, kBoth, cuMemGetInfo_v2, PFN_cuMemGetInfo_v3020),
    SIMGPU_ROW(cuMemHostAlloc, 2020, kBoth, cuMemHostAlloc, PFN_cuMemHostAlloc_v2020),
    SIMGPU_ROW(cuMemHostGetDevicePointer, 3020, kBoth, cuMemHostGetDevicePointer_v2,
               PFN_cuMemHostGetDevicePointer_v3020),
    SIMGPU_ROW(cuMemHostGetFlags, 2030, kBoth, cuMemHostGetFlags, PFN_cuMemHostGetFlags_v2030),
    SIMGPU_ROW(cuMemHostRegister, 6050, kBoth, cuMemHostRegister_v2, PFN_cuMemHostRegister_v6050),
    SIMGPU_ROW(cuMemHostUnregister, 4000, kBoth, cuMemHostUnregister,
               PFN_cuMemHostUnregister_v4000),
    SIMGPU_ROW(cuMemcpy, 4000, kLegacyOnly, cuMemcpy, PFN_cuMemcpy_v4000),
    SIMGPU_ROW(cuMemcpy, 7000, kPerThreadOnly, cuMemcpy_ptds, PFN_cuMemcpy_v7000_ptds),
    SIMGPU_ROW(cuMemcpy2D, 3020, kLegacyOnly, cuMemcpy2D_v2, PFN_cuMemcpy2D_v3020),
    SIMGPU_ROW(cuMemcpy2D, 7000, kPerThreadOnly, cuMemcpy2D_v2_ptds, PFN_cuMemcpy2D_v7000_ptds),
    SIMGPU_ROW(cuMemcpy2DAsync, 3020, kLegacyOnly, cuMemcpy2DAsync_v2, PFN_cuMemcpy2DAsync_v3020),
    SIMGPU_ROW(cuMemcpy2DAsync, 7000, kPerThreadOnly, cuMemcpy2DAsync_v2_ptsz,
               PFN_cuMemcpy2DAsync_v7000_ptsz),
    SIMGPU_ROW(cuMemcpy2DUnaligned, 3020, kLegacyOnly, cuMemcpy2DUnaligned_v2,
               PFN_cuMemcpy2DUnaligned_v3020),
    SIMGPU_ROW(cuMemcpy2DUnaligned, 7000, kPerThreadOnly, cuMemcpy2DUnaligned_v2_ptds,
               PFN_cuMemcpy2DUnaligned_v7000_ptds),
    SIMGPU_ROW(cuMemcpyAsync, 4000, kLegacyOnly, cuMemcpyAsync, PFN_cuMemcpyAsync_v4000),
    SIMGPU_ROW(cuMemcpyAsync, 7000, kPerThreadOnly, cuMemcpyAsync_ptsz,
               PFN_cuMemcpyAsync_v7000_ptsz),
    SIMGPU_ROW(cuMemcpyDtoD, 3020, kLegacyOnly, cuMemcpyDtoD_v2, PFN_cuMemcpyDtoD_v3020),
    SIMGPU_ROW(cuMemcpyDtoD, 7000, kPerThreadOnly, cuMemcpyDtoD_v2_ptds,
               PFN_cuMemcpyDtoD_v7000_ptds),
    SIMGPU_ROW(cuMemcpyDtoDAsync, 3020, kLegacyOnly, cuMemcpyDtoDAsync_v2,
               PFN_cuMemcpyDtoDAsync_v3020),
    SIMGPU_ROW(cuMemcpyDtoDAsync, 7000, kPerThreadOnly, cuMemcpyDtoDAsync_v2_ptsz,
               PFN_cuMemcpyDtoDAsync_v7000_ptsz),
    SIMGPU_ROW(cuMemcpyDtoH, 3020, kLegacyOnly, cuMemcpyDtoH_v2, PFN_cuMemcpyDtoH_v3020),
    SIMGPU_ROW(cuMemcpyDtoH, 7000, kPerThreadOnly, cuMemcpyDtoH_v2_ptds,
               PFN_cuMemcpyDtoH_v7000_ptds),
    SIMGPU_ROW(cuMemcpyDtoHAsync, 3020, kLegacyOnly, cuMemcpyDtoHAsync_v2,
               PFN_cuMemcpyDtoHAsync_v3020),
    SIMGPU_ROW(cuMemcpyDtoHAsync, 7000, kPerThreadOnly, cuMemcpyDtoHAsync_v2_ptsz,
               PFN_cuMemcpyDtoHAsync_v7000_ptsz),
    SIMGPU_ROW(cuMemcpyHtoD, 3020, kLegacyOnly, cuMemcpyHtoD_v2, PFN_cuMemcpyHtoD_v3020),
    SIMGPU_ROW(cuMemcpyHtoD, 7000, kPerThreadOnly, cuMemcpyHtoD_v2_ptds,
               PFN_cuMemcpyHtoD_v7000_ptds),
    SIMGPU_ROW(cuMemcpyHtoDAsync, 3020, kLegacyOnly, cuMemcpyHtoDAsync_v2,
               PFN_cuMemcpyHtoDAsync_v3020),
    SIMGPU_ROW(cuMemcpyHtoDAsync, 7000, kPerThreadOnly, cuMemcpyHtoDAsync_v2_ptsz,
               PFN_cuMemcpyHtoDAsync_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD16, 3020, kLegacyOnly, cuMemsetD16_v2, PFN_cuMemsetD16_v3020),
    SIMGPU_ROW(cuMemsetD16, 7000, kPerThreadOnly, cuMemsetD16_v2_ptds, PFN_cuMemsetD16_v7000_ptds),
    SIMGPU_ROW(cuMemsetD16Async, 3020, kLegacyOnly, cuMemsetD16Async, PFN_cuMemsetD16Async_v3020),
    SIMGPU_ROW(cuMemsetD16Async, 7000, kPerThreadOnly, cuMemsetD16Async_ptsz,
               PFN_cuMemsetD16Async_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD2D16, 3020, kLegacyOnly, cuMemsetD2D16_v2, PFN_cuMemsetD2D16_v3020),
    SIMGPU_ROW(cuMemsetD2D16, 7000, kPerThreadOnly, cuMemsetD2D16_v2_ptds,
               PFN_cuMemsetD2D16_v7000_ptds),
    SIMGPU_ROW(cuMemsetD2D16Async, 3020, kLegacyOnly, cuMemsetD2D16Async,
               PFN_cuMemsetD2D16Async_v3020),
    SIMGPU_ROW(cuMemsetD2D16Async, 7000, kPerThreadOnly, cuMemsetD2D16Async_ptsz,
               PFN_cuMemsetD2D16Async_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD2D32, 3020, kLegacyOnly, cuMemsetD2D32_v2, PFN_cuMemsetD2D32_v3020),
    SIMGPU_ROW(cuMemsetD2D32, 7000, kPerThreadOnly, cuMemsetD2D32_v2_ptds,
               PFN_cuMemsetD2D32_v7000_ptds),
    SIMGPU_ROW(cuMemsetD2D32Async, 3020, kLegacyOnly, cuMemsetD2D32Async,
               PFN_cuMemsetD2D32Async_v3020),
    SIMGPU_ROW(cuMemsetD2D32Async, 7000, kPerThreadOnly, cuMemsetD2D32Async_ptsz,
               PFN_cuMemsetD2D32Async_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD2D8, 3020, kLegacyOnly, cuMemsetD2D8_v2, PFN_cuMemsetD2D8_v3020),
    SIMGPU_ROW(cuMemsetD2D8, 7000, kPerThreadOnly, cuMemsetD2D8_v2_ptds,
               PFN_cuMemsetD2D8_v7000_ptds),
    SIMGPU_ROW(cuMemsetD2D8Async, 3020, kLegacyOnly, cuMemsetD2D8Async,
               PFN_cuMemsetD2D8Async_v3020),
    SIMGPU_ROW(cuMemsetD2D8Async, 7000, kPerThreadOnly, cuMemsetD2D8Async_ptsz,
               PFN_cuMemsetD2D8Async_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD32, 3020, kLegacyOnly, cuMemsetD32_v2, PFN_cuMemsetD32_v3020),
    SIMGPU_ROW(cuMemsetD32, 7000, kPerThreadOnly, cuMemsetD32_v2_ptds, PFN_cuMemsetD32_v7000_ptds),
    SIMGPU_ROW(cuMemsetD32Async, 3020, kLegacyOnly, cuMemsetD32Async, PFN_cuMemsetD32Async_v3020),
    SIMGPU_ROW(cuMemsetD32Async, 7000, kPerThreadOnly, cuMemsetD32Async_ptsz,
               PFN_cuMemsetD32Async_v7000_ptsz),
    SIMGPU_ROW(cuMemsetD8, 3020, kLegacyOnly, cuMemsetD8_v2, PFN_cuMemsetD8_v3020),
    SIMGPU_ROW(cuMemsetD8, 7000, kPerThreadOnly, cuMemsetD8_v2_ptds, PFN_cuMemsetD8_v7000_ptds),
    SIMGPU_ROW(cuMemsetD8Async, 3020, kLegacyOnly, cuMemsetD8Async, PFN_cuMemsetD8Async_v3020),
    SIMGPU_ROW(cuMemsetD8Async, 7000, kPerThreadOnly, cuMemsetD8Async_ptsz,
               PFN_cuMemsetD8Async_v7000_ptsz),
    SIMGPU_ROW(cuModuleGetFunction, 2000, kBoth, cuModuleGetFunction,
               PFN_cuModuleGetFunction_v2000),
    SIMGPU_ROW(cuModuleGetGlobal, 3020, kBoth, cuModuleGetGlobal_v2, PFN_cuModuleGetGlobal_v3020),
    SIMGPU_ROW(cuModuleGetLoadingMode, 11070, kBoth, cuModuleGetLoadingMode,
               PFN_cuModuleGetLoadingMode_v11070),
    SIMGPU_ROW(cuModuleLoadData, 2000, kBoth, cuModuleLoadData, PFN_cuModuleLoadData_v2000),
    SIMGPU_ROW(cuModuleLoadDataEx, 2010, kBoth, cuModuleLoadDataEx, PFN_cuModuleLoadDataEx_v2010),
    SIMGPU_ROW(cuModuleLoadFatBinary, 2000, kBoth, cuModuleLoadFatBinary,
               PFN_cuModuleLoadFatBinary_v2000),
    SIMGPU_ROW(cuModuleUnload, 2000, kBoth, cuModuleUnload, PFN_cuModuleUnload_v2000),
    SIMGPU_ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, kBoth,
               cuOccupancyMaxActiveBlocksPerMultiprocessor,
               PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050),
    SIMGPU_ROW(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, kBoth,
               cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
               PFN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000),
    SIMGPU_ROW(cuPointerGetAttribute, 4000, kBoth, cuPointerGetAttribute,
               PFN_cuPointerGetAttribute_v4000),
    SIMGPU_ROW(cuStreamBeginCapture, 10000, kLegacyOnly, cuStreamBeginCapture,
               PFN_cuStreamBeginCapture_v10000),
    SIMGPU_ROW(cuStreamBeginCapture, 10000, kPerThreadOnly, cuStreamBeginCapture_ptsz,
               PFN_cuStreamBeginCapture_v10000_ptsz),
    SIMGPU_ROW(cuStreamBeginCapture, 10010, kLegacyOnly, cuStreamBeginCapture_v2,
               PFN_cuStreamBeginCapture_v10010),
    SIMGPU_ROW(cuStreamBeginCapture, 10010, kPerThreadOnly, cuStreamBeginCapture_v2_ptsz,
               PFN_cuStreamBeginCapture_v10010_ptsz),
    SIMGPU_ROW(cuStreamCreate, 2000, kBoth, cuStreamCreate, PFN_cuStreamCreate_v2000),
    SIMGPU_ROW(cuStreamCreateWithPriority, 5050, kBoth, cuStreamCreateWithPriority,
               PFN_cuStreamCreateWithPriority_v5050),
    SIMGPU_ROW(cuStreamDestroy, 2000, kBoth, cuStreamDestroy, PFN_cuStreamDestroy_v2000),
    SIMGPU_ROW(cuStreamDestroy, 4000, kBoth, cuStreamDestroy_v2, PFN_cuStreamDestroy_v4000),
    SIMGPU_ROW(cuStreamEndCapture, 10000, kLegacyOnly, cuStreamEndCapture,
               PFN_cuStreamEndCapture_v10000),
    SIMGPU_ROW(cuStreamEndCapture, 10000, kPerThreadOnly, cuStreamEndCapture_ptsz,
               PFN_cuStreamEndCapture_v10000_ptsz),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 10010, kLegacyOnly, cuStreamGetCaptureInfo,
               PFN_cuStreamGetCaptureInfo_v10010),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 10010, kPerThreadOnly, cuStreamGetCaptureInfo_ptsz,
               PFN_cuStreamGetCaptureInfo_v10010_ptsz),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 11030, kLegacyOnly, cuStreamGetCaptureInfo_v2,
               PFN_cuStreamGetCaptureInfo_v11030),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 11030, kPerThreadOnly, cuStreamGetCaptureInfo_v2_ptsz,
               PFN_cuStreamGetCaptureInfo_v11030_ptsz),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 12030, kLegacyOnly, cuStreamGetCaptureInfo_v3,
               PFN_cuStreamGetCaptureInfo_v12030),
    SIMGPU_ROW(cuStreamGetCaptureInfo, 12030, kPerThreadOnly, cuStreamGetCaptureInfo_v3_ptsz,
               PFN_cuStreamGetCaptureInfo_v12030_ptsz),
    SIMGPU_ROW(cuStreamGetCtx, 12050, kLegacyOnly, cuStreamGetCtx_v2, PFN_cuStreamGetCtx_v12050),
    SIMGPU_ROW(cuStreamGetCtx, 12050, kPerThreadOnly, cuStreamGetCtx_v2_ptsz,
               PFN_cuStreamGetCtx_v12050_ptsz),
    SIMGPU_ROW(cuStreamGetCtx, 9020, kLegacyOnly, cuStreamGetCtx, PFN_cuStreamGetCtx_v9020),
    SIMGPU_ROW(cuStreamGetCtx, 9020, kPerThreadOnly, cuStreamGetCtx_ptsz,
               PFN_cuStreamGetCtx_v9020_ptsz),
    SIMGPU_ROW(cuStreamGetDevice, 12080, kLegacyOnly, cuStreamGetDevice,
               PFN_cuStreamGetDevice_v12080),
    SIMGPU_ROW(cuStreamGetDevice, 12080, kPerThreadOnly, cuStreamGetDevice_ptsz,
               PFN_cuStreamGetDevice_v12080_ptsz),
    SIMGPU_ROW(cuStreamGetFlags, 5050, kLegacyOnly, cuStreamGetFlags, PFN_cuStreamGetFlags_v5050),
    SIMGPU_ROW(cuStreamGetFlags, 7000, kPerThreadOnly, cuStreamGetFlags_ptsz,
               PFN_cuStreamGetFlags_v7000_ptsz),
    SIMGPU_ROW(cuStreamGetId, 12000, kLegacyOnly, cuStreamGetId, PFN_cuStreamGetId_v12000),
    SIMGPU_ROW(cuStreamGetId, 12000, kPerThreadOnly, cuStreamGetId_ptsz,
               PFN_cuStreamGetId_v12000_ptsz),
    SIMGPU_ROW(cuStreamGetPriority, 5050, kLegacyOnly, cuStreamGetPriority,
               PFN_cuStreamGetPriority_v5050),
    SIMGPU_ROW(cuStreamGetPriority, 7000, kPerThreadOnly, cuStreamGetPriority_ptsz,
               PFN_cuStreamGetPriority_v7000_ptsz),
    SIMGPU_ROW(cuStreamIsCapturing, 10000, kLegacyOnly, cuStreamIsCapturing,
               PFN_cuStreamIsCapturing_v10000),
    SIMGPU_ROW(cuStreamIsCapturing, 10000, kPerThreadOnly, cuStreamIsCapturing_ptsz,
               PFN_cuStreamIsCapturing_v10000_ptsz),
    SIMGPU_ROW(cuStreamQuery, 2000, kLegacyOnly, cuStreamQuery, PFN_cuStreamQuery_v2000),
    SIMGPU_ROW(cuStreamQuery, 7000, kPerThreadOnly, cuStreamQuery_ptsz,
               PFN_cuStreamQuery_v7000_ptsz),
    SIMGPU_ROW(cuStreamSynchronize, 2000, kLegacyOnly, cuStreamSynchronize,
               PFN_cuStreamSynchronize_v2000),
    SIMGPU_ROW(cuStreamSynchronize, 7000, kPerThreadOnly, cuStreamSynchronize_ptsz,
               PFN_cuStreamSynchronize_v7000_ptsz),
    SIMGPU_ROW(cuStreamWaitEvent, 3020, kLegacyOnly, cuStreamWaitEvent,
               PFN_cuStreamWaitEvent_v3020),
    SIMGPU_ROW(cuStreamWaitEvent, 7000, kPerThreadOnly, cuStreamWaitEvent_ptsz,
               PFN_cuStreamWaitEvent_v7000_ptsz),
    SIMGPU_ROW(cuStreamWaitValue32, 11070, kLegacyOnly, cuStreamWaitValue32_v2,
               PFN_cuStreamWaitValue32_v11070),
    SIMGPU_ROW(cuStreamWaitValue32, 11070, kPerThreadOnly, cuStreamWaitValue32_v2_ptsz,
               PFN_cuStreamWaitValue32_v11070_ptsz),
    SIMGPU_ROW(cuStreamWaitValue32, 8000, kLegacyOnly, cuStreamWaitValue32,
               PFN_cuStreamWaitValue32_v8000),
    SIMGPU_ROW(cuStreamWaitValue32, 8000, kPerThreadOnly, cuStreamWaitValue32_ptsz,
               PFN_cuStreamWaitValue32_v8000_ptsz),
    SIMGPU_ROW(cuStreamWaitValue64, 11070, kLegacyOnly, cuStreamWaitValue64_v2,
               PFN_cuStreamWaitValue64_v11070),
    SIMGPU_ROW(cuStreamWaitValue64, 11070, kPerThreadOnly, cuStreamWaitValue64_v2_ptsz,
               PFN_cuStreamWaitValue64_v11070_ptsz),
    SIMGPU_ROW(cuStreamWaitValue64, 9000, kLegacyOnly, cuStreamWaitValue64,
               PFN_cuStreamWaitValue64_v9000),
    SIMGPU_ROW(cuStreamWaitValue64, 9000, kPerThreadOnly, cuStreamWaitValue64_ptsz,
               PFN_cuStreamWaitValue64_v9000_ptsz),
    SIMGPU_ROW(cuStreamWriteValue32, 11070, kLegacyOnly, cuStreamWriteValue32_v2,
               PFN_cuStreamWriteValue32_v11070),
    SIMGPU_ROW(cuStreamWriteValue32, 11070, kPerThreadOnly, cuStreamWriteValue32_v2_ptsz,
               PFN_cuStreamWriteValue32_v11070_ptsz),
    SIMGPU_ROW(cuStreamWriteValue32, 8000, kLegacyOnly, cuStreamWriteValue32,
               PFN_cuStreamWriteValue32_v8000),
    SIMGPU_ROW(cuStreamWriteValue32, 8000, kPerThreadOnly, cuStreamWriteValue32_ptsz,
               PFN_cuStreamWriteValue32_v8000_ptsz),
    SIMGPU_ROW(cuStreamWriteValue64, 11070, kLegacyOnly, cuStreamWriteValue64_v2,
               PFN_cuStreamWriteValue64_v11070),
    SIMGPU_ROW(cuStreamWriteValue64, 11070, kPerThreadOnly, cuStreamWriteValue64_v2_ptsz,
               PFN_cuStreamWriteValue64_v11070_ptsz),
    SIMGPU_ROW(cuStreamWriteValue64, 9000, kLegacyOnly, cuStreamWriteValue64,
               PFN_cuStreamWriteValue64_v9000),
    SIMGPU_ROW(cuStreamWriteValue64, 9000, kPerThreadOnly, cuStreamWriteValue64_ptsz,
               PFN_cuStreamWriteValue64_v9000_ptsz),
    SIMGPU_ROW(cuThreadExchangeStreamCaptureMode, 10010, kBoth, cuThreadExchangeStreamCaptureMode,
               PFN_cuThreadExchangeStreamCaptureMode_v10010),
};

#undef SIMGPU_ROW

// SIMGPU_LAUNCH=null: what a launch costs its caller if nobody does anything.
CUresult null_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult null_cooperative(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, CUstream, void**) {
  return CUDA_SUCCESS;
}
CUresult null_launch_ex(const CUlaunchConfig*, CUfunction, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult null_graph_launch(CUgraphExec, CUstream) {
  return CUDA_SUCCESS;
}

void* null_launch_for(std::string_view base) {
  if (base == "cuLaunchKernel") return reinterpret_cast<void*>(&null_launch);
  if (base == "cuLaunchCooperativeKernel") return reinterpret_cast<void*>(&null_cooperative);
  if (base == "cuLaunchKernelEx") return reinterpret_cast<void*>(&null_launch_ex);
  if (base == "cuGraphLaunch") return reinterpret_cast<void*>(&null_graph_launch);
  return nullptr;
}

int driver_version() {
  const Simulator* simulator = Simulator::instance();
  return simulator != nullptr ? simulator->model.driver_version
                              : process_settings().settings.driver_version.value_or(13000);
}

struct Found {
  CUresult result = CUDA_SUCCESS;
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// cuda.h, cuGetProcAddress: the newest variant that is not newer than `version`; "If the specified
// CUDA version is greater than the driver version, the API will return CUDA_ERROR_INVALID_VALUE";
// "If a per-thread version is not found, the API will return the legacy version".
Found find(std::string_view name, int version, cuuint64_t flags) {
  constexpr cuuint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const int driver = driver_version();
  if (version > driver || (flags & ~kKnown) != 0) return {.result = CUDA_ERROR_INVALID_VALUE};

  const auto& settings = process_settings().settings;
  const auto& missing = settings.missing;
  if (std::find(missing.begin(), missing.end(), name) != missing.end()) return {};

  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const ProcRow* best = nullptr;
  bool known = false;
  for (const auto& row : kRows) {
    if (row.base != name || row.version > driver) continue;
    known = true;
    if (row.version > version) continue;
    if (!per_thread && row.variant == ProcVariant::kPerThreadOnly) continue;
    const auto rank = [](const ProcRow& r) {
      return std::pair(r.version, r.variant == ProcVariant::kPerThreadOnly);
    };
    // Per-thread first, if asked for; then the newest.
    if (best == nullptr ||
        (per_thread && best->variant != ProcVariant::kPerThreadOnly &&
         row.variant == ProcVariant::kPerThreadOnly) ||
        (best->variant == row.variant && rank(row) > rank(*best)) ||
        (!per_thread && rank(row) > rank(*best))) {
      best = &row;
    }
  }
  if (best == nullptr) {
    return {.status = known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  }
  void* null_version = settings.null_launch ? null_launch_for(name) : nullptr;
  return {.address = null_version != nullptr ? null_version : best->address,
          .status = CU_GET_PROC_ADDRESS_SUCCESS};
}

}  // namespace

bool is_driver_function(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const ProcRow& row) { return row.base == name || row.symbol == name; });
}

}  // namespace inline_prof::simgpu

using inline_prof::simgpu::DriverEntry;

CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  static const DriverEntry kEntry{__func__};
  if (const int injected = kEntry.begin(); injected != 0) return static_cast<CUresult>(injected);
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = inline_prof::simgpu::find(symbol, version, flags);
  *address = found.address;
  if (status != nullptr) *status = found.status;
  return found.result;
}

CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t flags) {
  static const DriverEntry kEntry{__func__};
  if (const int injected = kEntry.begin(); injected != 0) return static_cast<CUresult>(injected);
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = inline_prof::simgpu::find(symbol, version, flags);
  *address = found.address;
  // Without the status argument the code is all there is: CUDA 11.3 to 11.8, cuda.h,
  // cuGetProcAddress: "CUDA_ERROR_NOT_FOUND".
  if (found.result == CUDA_SUCCESS && found.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  return found.result;
}
