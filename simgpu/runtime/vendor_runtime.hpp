// cuda_runtime_api.h with every variant declared under its real symbol name and exported (see
// driver/vendor_cuda.hpp), and what nvcc's generated code calls besides (crt/host_runtime.h, which
// only nvcc may include; the launch functions as nvcc 13.0 declares them).
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>

// NOLINTBEGIN(bugprone-reserved-identifier): the vendor's names.
extern "C" {
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* tid, uint3* bid,
                            dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                       const char* device_name, int ext, size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* device_address,
                              const char* device_name, int ext, size_t bytes, int constant,
                              int global);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t stream);
}
// NOLINTEND(bugprone-reserved-identifier)
#pragma GCC visibility pop
