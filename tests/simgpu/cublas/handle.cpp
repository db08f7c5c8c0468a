#include "cublas/handle.hpp"

#include <library_types.h>
#include <memory>

using namespace inline_prof::simgpu;

namespace {

// Null if there is no driver, it lacks a function, or SIMGPU_FAIL names one that is not here.
const DriverFunctions* blas_driver() {
  static DriverFunctions driver;
  static const bool found =
      find_by_dlsym(driver) &&
      fail_rules_are_known({.prefix = "cublas",
                            .but_not = "cublasLt",
                            .symbol = reinterpret_cast<const void*>(&cublasCreate_v2)});
  return found ? &driver : nullptr;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  static const BlasEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const DriverFunctions* driver = blas_driver();
  if (driver == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto made = std::make_unique<cublasContext>(*driver, LaunchBy::kLaunchKernel);
  if (made->open() != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = made.release();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [](cublasContext& h) {
    delete &h;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext& h) {
    h.stream = stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext& h) {
    if (stream == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *stream = h.stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext& h) {
    h.math = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext& h) {
    if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h.math;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext& h) {
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    h.pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext& h) {
    if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h.pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext& h) {
    h.atomics = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext& h) {
    if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h.atomics;
    return CUBLAS_STATUS_SUCCESS;
  });
}

// cuBLAS 13.0, cublasSetWorkspace: "The workspace pointer has to be aligned to at least 256 bytes,
// otherwise CUBLAS_STATUS_INVALID_VALUE error is returned."  Simulated kernels need no workspace.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext&) {
    return reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0 ? CUBLAS_STATUS_SUCCESS
                                                                  : CUBLAS_STATUS_INVALID_VALUE;
  });
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext&) {
    if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
  });
}

size_t cublasGetCudartVersion(void) {
  return CUDART_VERSION;
}

// cuBLAS 13.0, cublasSetSmCountTarget: 0 returns to the default, and CUBLAS_STATUS_INVALID_VALUE is
// for a value "outside of the allowed range", which ends at the device's own count.
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](cublasContext& h) {
    if (count < 0 || count > h.sm_count()) return CUBLAS_STATUS_INVALID_VALUE;
    h.sm_count_target = count;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [&](const cublasContext& h) {
    if (count == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *count = h.sm_count_target;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  static const BlasEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status_name(status);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status_text(status);
}

}  // extern "C"
