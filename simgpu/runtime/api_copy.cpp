// Copies and fills, also of variables that the program names by their host shadow.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

using namespace simgpu;

namespace {

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// The driver infers the direction from the pointers (one address space); a kind outside the
// enumeration is still an error.
bool is_kind(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D plane(void* destination, size_t destination_pitch, const void* source,
                    size_t source_pitch, size_t width, size_t height) {
  CUDA_MEMCPY2D p{};
  p.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.srcDevice = address(source);
  p.srcPitch = source_pitch;
  p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.dstDevice = address(destination);
  p.dstPitch = destination_pitch;
  p.WidthInBytes = width;
  p.Height = height;
  return p;
}

// Finds the address of `bytes` bytes at `offset` of a symbol.
cudaError_t place(const DriverFunctions& driver, const void* symbol, size_t bytes, size_t offset,
                  CUdeviceptr& at) {
  size_t size = 0;
  const CUresult found = Images::instance().variable_of(driver, symbol, at, size);
  if (found == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  if (found != CUDA_SUCCESS) return static_cast<cudaError_t>(found);
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  at += offset;
  return cudaSuccess;
}

// `use(to, from)` with the primary contexts of both devices.
template <typename Use>
CUresult between(const DriverFunctions& driver, int to_device, int from_device, const Use& use) {
  return with_primary(driver, to_device, [&](CUcontext to) {
    return with_primary(driver, from_device, [&](CUcontext from) { return use(to, from); });
  });
}

}  // namespace

SIMGPU_DEFAULT_STREAM_CALL(cudaMemcpy, kDevice, destination, source, bytes, kind) {
  if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
  return driver.memcpy[which](address(destination), address(source), bytes);
}

SIMGPU_STREAM_CALL(cudaMemcpyAsync, kDevice, destination, source, bytes, kind, stream) {
  if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
  return driver.memcpy_async[which](address(destination), address(source), bytes, stream);
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemcpyPeer, kDevice, destination, destination_device, source,
                           source_device, bytes) {
  return between(driver, destination_device, source_device, [&](CUcontext to, CUcontext from) {
    return driver.memcpy_peer[which](address(destination), to, address(source), from, bytes);
  });
}

SIMGPU_STREAM_CALL(cudaMemcpyPeerAsync, kDevice, destination, destination_device, source,
                   source_device, bytes, stream) {
  return between(driver, destination_device, source_device, [&](CUcontext to, CUcontext from) {
    return driver.memcpy_peer_async[which](address(destination), to, address(source), from, bytes,
                                           stream);
  });
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemcpy2D, kDevice, destination, destination_pitch, source,
                           source_pitch, width, height, kind) {
  if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
  const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
  return driver.memcpy2dunaligned[which](&p);
}

SIMGPU_STREAM_CALL(cudaMemcpy2DAsync, kDevice, destination, destination_pitch, source, source_pitch,
                   width, height, kind, stream) {
  if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
  const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
  return driver.memcpy2dasync[which](&p, stream);
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemset, kDevice, pointer, value, bytes) {
  return driver.memset_d8[which](address(pointer), static_cast<unsigned char>(value), bytes);
}

SIMGPU_STREAM_CALL(cudaMemsetAsync, kDevice, pointer, value, bytes, stream) {
  return driver.memset_d8_async[which](address(pointer), static_cast<unsigned char>(value), bytes,
                                       stream);
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemset2D, kDevice, pointer, pitch, value, width, height) {
  return driver.memset_2d8[which](address(pointer), pitch, static_cast<unsigned char>(value), width,
                                  height);
}

SIMGPU_STREAM_CALL(cudaMemset2DAsync, kDevice, pointer, pitch, value, width, height, stream) {
  return driver.memset_2d8_async[which](address(pointer), pitch, static_cast<unsigned char>(value),
                                        width, height, stream);
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemcpyToSymbol, kDevice, symbol, source, bytes, offset, unused) {
  CUdeviceptr at = 0;
  if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
    return error;
  return driver.memcpy[which](at, address(source), bytes);
}

SIMGPU_DEFAULT_STREAM_CALL(cudaMemcpyFromSymbol, kDevice, destination, symbol, bytes, offset,
                           unused) {
  CUdeviceptr at = 0;
  if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
    return error;
  return driver.memcpy[which](address(destination), at, bytes);
}

SIMGPU_STREAM_CALL(cudaMemcpyToSymbolAsync, kDevice, symbol, source, bytes, offset, unused,
                   stream) {
  CUdeviceptr at = 0;
  if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
    return error;
  return driver.memcpy_async[which](at, address(source), bytes, stream);
}

SIMGPU_STREAM_CALL(cudaMemcpyFromSymbolAsync, kDevice, destination, symbol, bytes, offset, unused,
                   stream) {
  CUdeviceptr at = 0;
  if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
    return error;
  return driver.memcpy_async[which](address(destination), at, bytes, stream);
}
