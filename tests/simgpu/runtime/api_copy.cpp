// Copies and fills, also of variables that the program names by their host shadow.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

using namespace inline_prof::simgpu;

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

// Where `bytes` bytes at `offset` of a symbol are.
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

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy(address(destination), address(source), bytes);
  });
}

cudaError_t cudaMemcpy_ptds(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_ptsz(address(destination), address(source), bytes);
  });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_async(address(destination), address(source), bytes, stream);
  });
}

cudaError_t cudaMemcpyAsync_ptsz(void* destination, const void* source, size_t bytes,
                                 cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_async_ptsz(address(destination), address(source), bytes, stream);
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                         size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dunaligned(&p);
  });
}

cudaError_t cudaMemcpy2D_ptds(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dunaligned_ptsz(&p);
  });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dasync(&p, stream);
  });
}

cudaError_t cudaMemcpy2DAsync_ptsz(void* destination, size_t destination_pitch, const void* source,
                                   size_t source_pitch, size_t width, size_t height,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dasync_ptsz(&p, stream);
  });
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8(address(pointer), static_cast<unsigned char>(value), bytes);
  });
}

cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_ptsz(address(pointer), static_cast<unsigned char>(value), bytes);
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_async(address(pointer), static_cast<unsigned char>(value), bytes,
                                  stream);
  });
}

cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_async_ptsz(address(pointer), static_cast<unsigned char>(value), bytes,
                                       stream);
  });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8(address(pointer), pitch, static_cast<unsigned char>(value), width,
                             height);
  });
}

cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_ptsz(address(pointer), pitch, static_cast<unsigned char>(value), width,
                                  height);
  });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_async(address(pointer), pitch, static_cast<unsigned char>(value),
                                   width, height, stream);
  });
}

cudaError_t cudaMemset2DAsync_ptsz(void* pointer, size_t pitch, int value, size_t width,
                                   size_t height, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_async_ptsz(address(pointer), pitch, static_cast<unsigned char>(value),
                                        width, height, stream);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy(at, address(source), bytes));
  });
}

cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* source, size_t bytes,
                                    size_t offset, cudaMemcpyKind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_ptsz(at, address(source), bytes));
  });
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy(address(destination), at, bytes));
  });
}

cudaError_t cudaMemcpyFromSymbol_ptds(void* destination, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_ptsz(address(destination), at, bytes));
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                    size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async(at, address(source), bytes, stream));
  });
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* source, size_t bytes,
                                         size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async_ptsz(at, address(source), bytes, stream));
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async(address(destination), at, bytes, stream));
  });
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* destination, const void* symbol, size_t bytes,
                                           size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(
        driver.memcpy_async_ptsz(address(destination), at, bytes, stream));
  });
}

}  // extern "C"
