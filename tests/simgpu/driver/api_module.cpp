// Modules, libraries, kernels, functions and their properties.
#include "driver/call.hpp"
#include "driver/observed.hpp"
#include "simgpu.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

using namespace inline_prof::simgpu;

namespace {

template <typename Handle, typename Object>
Handle handle(Object& object) {
  return reinterpret_cast<Handle>(&object);
}

void load_module(Simulator& s, CUmodule* module, const void* image) {
  require(module);
  s.refuse_if_unsafe();
  Context& context = s.current();
  auto library = s.load_image(image);
  Module& loaded = s.module_of(context, *library);
  loaded.owned = std::move(library);
  *module = handle<CUmodule>(loaded);
}

Kernel& kernel_named(Library& library, const char* name) {
  require(name);
  const auto found = library.kernels.find(name);
  if (found == library.kernels.end()) throw Failure{CUDA_ERROR_NOT_FOUND};
  return *found->second;
}

void variable_named(Module& module, const char* name, CUdeviceptr* address, size_t* bytes) {
  require(name);
  const auto found = module.variables.find(name);
  if (found == module.variables.end()) throw Failure{CUDA_ERROR_NOT_FOUND};
  if (address != nullptr) *address = found->second.address;
  if (bytes != nullptr) *bytes = found->second.bytes;
}

simgpu_api_call call_of(const char* function, void* handle) {
  simgpu_api_call call{};
  call.function = function;
  call.handle = handle;
  return call;
}

int attribute_of(const Simulator& s, const Kernel& kernel, int max_dynamic, int carveout,
                 CUfunction_attribute attribute) {
  const auto& device = s.model.device;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return kernel.max_threads;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return kernel.static_shared_bytes();
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return kernel.registers();
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return device.compute_major * 10 + device.compute_minor;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return max_dynamic;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return carveout;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return 0;
    default:
      throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

void occupancy(Simulator& s, int* blocks, CUfunction function, int threads, size_t dynamic_shared) {
  require(blocks);
  require_value(threads > 0 && threads <= 1024);
  *blocks = s.blocks_per_sm(*s.function(function).kernel, threads, dynamic_shared);
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { load_module(s, module, image); });
}

CUresult cuModuleLoad(CUmodule* module, const char* file) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    require(file);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file, "rbe"),
                                                                 &std::fclose);
    if (opened == nullptr) throw Failure{CUDA_ERROR_FILE_NOT_FOUND};
    std::string image;  // a text of PTX ends with a zero
    for (int c = std::fgetc(opened.get()); c != EOF; c = std::fgetc(opened.get()))
      image += static_cast<char>(c);
    load_module(s, module, image.c_str());
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                            void**) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { load_module(s, module, image); });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { load_module(s, module, image); });
}

CUresult cuModuleUnload(CUmodule module) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, module), [&] {
    return perform(entry, Cost::kAllocate, [&](Simulator& s) {
      s.refuse_if_unsafe();
      s.unload(s.module(module));
    });
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator&) {
    require(mode);
    *mode = CU_MODULE_LAZY_LOADING;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(function);
    Module& in = s.module(module);
    *function = handle<CUfunction>(s.function_of(in, kernel_named(*in.library, name)));
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                              const char* name) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { variable_named(s.module(module), name, address, bytes); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                           unsigned int, CUlibraryOption*, void**, unsigned int) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    require(library);
    s.refuse_if_unsafe();
    auto loaded = s.load_image(image);
    *library = handle<CUlibrary>(*loaded);
    Library* key = loaded.get();
    s.libraries.emplace(key, std::move(loaded));
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, library), [&] {
    return perform(entry, Cost::kAllocate, [&](Simulator& s) {
      s.refuse_if_unsafe();
      Library& doomed = s.library(library);
      for (auto& [context, owned] : s.contexts) {
        const auto module = context->library_modules.find(&doomed);
        if (module != context->library_modules.end()) s.unload(*module->second);
      }
      s.forget_kernels(doomed);
      s.libraries.erase(&doomed);
    });
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(kernel);
    *kernel = handle<CUkernel>(kernel_named(s.library(library), name));
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(module);
    *module = handle<CUmodule>(s.module_of(s.current(), s.library(library)));
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                            const char* name) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    variable_named(s.module_of(s.current(), s.library(library)), name, address, bytes);
  });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                             const char* name) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    variable_named(s.module_of(s.current(), s.library(library)), name, address, bytes);
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(function);
    Kernel& wanted = s.kernel(kernel);
    *function =
        handle<CUfunction>(s.function_of(s.module_of(s.current(), *wanted.library), wanted));
  });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(name);
    *name = s.kernel(kernel).mangled.c_str();
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(library);
    *library = handle<CUlibrary>(*s.kernel(kernel).library);
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(value);
    static_cast<void>(s.device(device));
    *value = attribute_of(s, s.kernel(kernel), 48 * 1024, -1, attribute);
  });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(name);
    *name = s.function(function).kernel->mangled.c_str();
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(module);
    const Function& of = s.function(function);
    *module = handle<CUmodule>(*of.context->library_modules.at(of.kernel->library));
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(value);
    const Function& of = s.function(function);
    *value =
        attribute_of(s, *of.kernel, of.max_dynamic_shared_bytes, of.preferred_carveout, attribute);
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    Function& of = s.function(function);
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        // cuda.h: the sum with the static size "cannot exceed the device attribute
        // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN".
        require_value(value >= 0 && value + of.kernel->static_shared_bytes() <=
                                        s.model.device.shared_bytes_per_block_optin);
        of.max_dynamic_shared_bytes = value;
        break;
      case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        require_value(value >= -1 && value <= 100);
        of.preferred_carveout = value;
        break;
      case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        throw Failure{CUDA_ERROR_NOT_SUPPORTED};
      default:
        throw Failure{CUDA_ERROR_INVALID_VALUE};
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  static const DriverEntry entry{__func__};
  // cuda.h: "only a preference", so accepting it is all there is to do.
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { static_cast<void>(s.function(function)); });
}

CUresult cuFuncLoad(CUfunction function) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { static_cast<void>(s.function(function)); });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(state);
    static_cast<void>(s.function(function));
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic_shared) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { occupancy(s, blocks, function, threads, dynamic_shared); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads, size_t dynamic_shared,
                                                              unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require_value(flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    occupancy(s, blocks, function, threads, dynamic_shared);
  });
}
