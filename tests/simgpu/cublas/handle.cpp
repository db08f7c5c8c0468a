#include "cublas/handle.hpp"

#include <dlfcn.h>
#include <library_types.h>

namespace inline_prof::simgpu {
namespace {

bool load(BlasDriver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY);
  if (library == nullptr) return false;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find("cuInit", driver.init) && find("cuCtxGetCurrent", driver.ctx_get_current) &&
         find("cuCtxSetCurrent", driver.ctx_set_current) &&
         find("cuDevicePrimaryCtxRetain", driver.primary_ctx_retain) &&
         find("cuModuleLoadData", driver.module_load_data) &&
         find("cuModuleUnload", driver.module_unload) &&
         find("cuModuleGetFunction", driver.module_get_function) &&
         find("cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode) &&
         find("cuLaunchKernel", driver.launch_kernel);
}

// SIMGPU_FAIL names of this library: a misspelt one would test nothing.
bool names_are_known() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&cublasCreate_v2), &self) == 0) return false;
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  bool good = true;
  for (const auto& rule : process_settings().settings.fail_rules) {
    if (!rule.function.starts_with("cublas")) continue;
    const std::string versioned = rule.function + "_v2";
    if (dlsym(library, rule.function.c_str()) == nullptr &&
        dlsym(library, versioned.c_str()) == nullptr) {
      std::fprintf(stderr, "simgpu: SIMGPU_FAIL=%s: expected a function of the simulated cuBLAS\n",
                   rule.function.c_str());
      good = false;
    }
  }
  dlclose(library);
  return good;
}

}  // namespace

const BlasDriver* blas_driver() {
  static BlasDriver driver;
  static const bool loaded = load(driver) && names_are_known();
  return loaded ? &driver : nullptr;
}

cublasStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace inline_prof::simgpu

using namespace inline_prof::simgpu;

namespace {

// For functions that only read or set a member.
template <typename Body>
cublasStatus_t with_handle(const BlasEntry& entry, cublasHandle_t handle, Body&& body) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return body(*handle);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  static const BlasEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const BlasDriver* driver = blas_driver();
  if (driver == nullptr || driver->init(0) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  CUcontext context = nullptr;
  if (driver->ctx_get_current(&context) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (context == nullptr) {
    // As the runtime inside the vendor's library does for a thread without a context.
    if (driver->primary_ctx_retain(&context, 0) != CUDA_SUCCESS ||
        driver->ctx_set_current(context) != CUDA_SUCCESS) {
      return CUBLAS_STATUS_NOT_INITIALIZED;
    }
  }
  auto* made = new cublasContext;
  made->driver = driver;
  made->context = context;
  *handle = made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  static const BlasEntry entry{__func__};
  return with_handle(entry, handle, [](cublasContext& h) {
    // After a device reset the modules are gone already: the codes do not matter.
    for (const auto& [name, kernel] : h.kernels)
      h.driver->module_unload(kernel.module);
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
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown cuBLAS status";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was used as an argument";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the device lacks a required feature";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "access to device memory failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "the license check failed";
  }
  return "unknown cuBLAS status";
}

}  // extern "C"
