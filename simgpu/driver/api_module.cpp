// Modules, libraries, kernels, functions and their properties.
#include "driver/call.hpp"
#include "driver/observed.hpp"
#include "simgpu.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

using namespace simgpu;

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

int attribute_of(const Simulator& s, const Kernel& kernel, const FunctionSettings& settings,
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
      return settings.max_dynamic_shared_bytes;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return settings.preferred_carveout;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return settings.large_clusters_allowed;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return settings.cluster_scheduling;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
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

SIMGPU_CALL(cuModuleLoadData, cuModuleLoadData_v2000, kAllocate, module, image) {
  load_module(s, module, image);
}

SIMGPU_CALL(cuModuleLoad, cuModuleLoad_v2000, kAllocate, module, file) {
  require(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file, "rbe"),
                                                               &std::fclose);
  if (opened == nullptr) throw Failure{CUDA_ERROR_FILE_NOT_FOUND};
  std::string image;  // a text of PTX ends with a zero
  for (int c = std::fgetc(opened.get()); c != EOF; c = std::fgetc(opened.get()))
    image += static_cast<char>(c);
  load_module(s, module, image.c_str());
}

SIMGPU_CALL(cuModuleLoadDataEx, cuModuleLoadDataEx_v2010, kAllocate, module, image, unused, unused2,
            unused3) {
  load_module(s, module, image);
}

SIMGPU_CALL(cuModuleLoadFatBinary, cuModuleLoadFatBinary_v2000, kAllocate, module, image) {
  load_module(s, module, image);
}

SIMGPU_FUNCTION(cuModuleUnload, cuModuleUnload_v2000, module) {
  return observed(call_of(entry.function(), module), [&] {
    return perform(entry, Cost::kAllocate, [&](Simulator& s) {
      s.refuse_if_unsafe();
      s.unload(s.module(module));
    });
  });
}

SIMGPU_GET(cuModuleGetLoadingMode, cuModuleGetLoadingMode_v11070, kNone, CU_MODULE_LAZY_LOADING)

SIMGPU_CALL(cuModuleGetFunction, cuModuleGetFunction_v2000, kOther, function, module, name) {
  require(function);
  Module& in = s.module(module);
  *function = handle<CUfunction>(s.function_of(in, kernel_named(*in.library, name)));
}

SIMGPU_CALL(cuModuleGetGlobal_v2, cuModuleGetGlobal_v3020, kOther, address, bytes, module, name) {
  variable_named(s.module(module), name, address, bytes);
}

SIMGPU_CALL(cuLibraryLoadData, cuLibraryLoadData_v12000, kAllocate, library, image, unused, unused2,
            unused3, unused4, unused5, unused6) {
  require(library);
  s.refuse_if_unsafe();
  auto loaded = s.load_image(image);
  *library = handle<CUlibrary>(*loaded);
  Library* key = loaded.get();
  s.libraries.emplace(key, std::move(loaded));
}

SIMGPU_FUNCTION(cuLibraryUnload, cuLibraryUnload_v12000, library) {
  return observed(call_of(entry.function(), library), [&] {
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

SIMGPU_GET_OF(cuLibraryGetKernel, cuLibraryGetKernel_v12000, kOther,
              handle<CUkernel>(kernel_named(s.library(library), name)), library, name)

SIMGPU_GET_OF(cuLibraryGetModule, cuLibraryGetModule_v12000, kOther,
              handle<CUmodule>(s.module_of(s.current(), s.library(library))), library)

SIMGPU_CALL(cuLibraryGetGlobal, cuLibraryGetGlobal_v12000, kOther, address, bytes, library, name) {
  variable_named(s.module_of(s.current(), s.library(library)), name, address, bytes);
}

SIMGPU_CALL(cuLibraryGetManaged, cuLibraryGetManaged_v12000, kOther, address, bytes, library,
            name) {
  variable_named(s.module_of(s.current(), s.library(library)), name, address, bytes);
}

SIMGPU_CALL(cuKernelGetFunction, cuKernelGetFunction_v12000, kOther, function, kernel) {
  require(function);
  Kernel& wanted = s.kernel(kernel);
  *function = handle<CUfunction>(s.function_of(s.module_of(s.current(), *wanted.library), wanted));
}

SIMGPU_GET_OF(cuKernelGetName, cuKernelGetName_v12030, kOther, s.kernel(kernel).mangled.c_str(),
              kernel)

SIMGPU_GET_OF(cuKernelGetLibrary, cuKernelGetLibrary_v12050, kOther,
              handle<CUlibrary>(*s.kernel(kernel).library), kernel)

SIMGPU_CALL(cuKernelGetAttribute, cuKernelGetAttribute_v12000, kOther, value, attribute, kernel,
            device) {
  require(value);
  static_cast<void>(s.device(device));
  *value = attribute_of(s, s.kernel(kernel), FunctionSettings(), attribute);
}

SIMGPU_GET_OF(cuFuncGetName, cuFuncGetName_v12030, kOther,
              s.function(function).kernel->mangled.c_str(), function)

SIMGPU_CALL(cuFuncGetModule, cuFuncGetModule_v11000, kOther, module, function) {
  require(module);
  const Function& of = s.function(function);
  *module = handle<CUmodule>(*of.context->library_modules.at(of.kernel->library));
}

SIMGPU_CALL(cuFuncGetAttribute, cuFuncGetAttribute_v2020, kOther, value, attribute, function) {
  require(value);
  const Function& of = s.function(function);
  *value = attribute_of(s, *of.kernel, of.settings, attribute);
}

SIMGPU_CALL(cuFuncSetAttribute, cuFuncSetAttribute_v9000, kOther, function, attribute, value) {
  Function& of = s.function(function);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      // cuda.h: the sum with the static size "cannot exceed the device attribute
      // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN".
      require_value(value >= 0 && value + of.kernel->static_shared_bytes() <=
                                      s.model.device.shared_bytes_per_block_optin);
      of.settings.max_dynamic_shared_bytes = value;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      require_value(value >= -1 && value <= 100);
      of.settings.preferred_carveout = value;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      require_value(value == 0 || value == 1);
      of.settings.large_clusters_allowed = value;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      require_value(value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
                    value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
      of.settings.cluster_scheduling = value;
      break;
    default:
      throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

SIMGPU_CALL(cuFuncSetCacheConfig, cuFuncSetCacheConfig_v3000, kOther, function, unused) {
  // cuda.h: "only a preference", so accepting it is all there is to do.
  static_cast<void>(s.function(function));
}

SIMGPU_CALL(cuFuncLoad, cuFuncLoad_v12040, kOther, function) {
  static_cast<void>(s.function(function));
}

SIMGPU_CALL(cuFuncIsLoaded, cuFuncIsLoaded_v12040, kOther, state, function) {
  require(state);
  static_cast<void>(s.function(function));
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
}

SIMGPU_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,
            cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050, kOther, blocks, function, threads,
            dynamic_shared) {
  occupancy(s, blocks, function, threads, dynamic_shared);
}

SIMGPU_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000, kOther, blocks, function,
            threads, dynamic_shared, flags) {
  require_value(flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
  occupancy(s, blocks, function, threads, dynamic_shared);
}
