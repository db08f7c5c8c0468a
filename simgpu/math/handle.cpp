#include "math/handle.hpp"

#include <dlfcn.h>
#include <string>
#include <string_view>

namespace simgpu {
namespace {

// `find(name, version, function)` for each member.
template <typename Find>
bool find_each(DriverFunctions& driver, Find&& find) {
  bool found = true;
#define SIMGPU_FIND(member, typed) \
  found =                          \
      found && find(std::string(proc_base(#typed)).c_str(), proc_version(#typed), driver.member);
  SIMGPU_MATH_REQUESTS(SIMGPU_FIND)
#undef SIMGPU_FIND
  return found;
}

template <typename Function>
void assign(Function& function, void* address) {
  function = reinterpret_cast<Function>(address);
}

}  // namespace

bool find_by_dlsym(DriverFunctions& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY);
  if (library == nullptr) return false;
  return find_each(driver, [&](const char* name, int, auto& function) {
    // An exported name carries its version where the function has had an older one.
    const std::string newer = std::string(name) + "_v2";
    void* address = std::string_view(name) == "cuEventDestroy" ? dlsym(library, newer.c_str())
                                                               : dlsym(library, name);
    assign(function, address);
    return function != nullptr;
  });
}

bool find_by_proc_address(DriverFunctions& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  PFN_cuGetProcAddress_v12000 get_proc_address = nullptr;
  assign(get_proc_address, dlsym(library, "cuGetProcAddress_v2"));
  if (get_proc_address == nullptr) return false;
  return find_each(driver, [&](const char* name, int version, auto& function) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found{};
    const CUresult result = get_proc_address(name, &address, version, 0, &found);
    assign(function, address);
    return result == CUDA_SUCCESS && function != nullptr;
  });
}

namespace {

// The kernel's code is a PTX text with the name and the simulator's work parameter (simgpu.h).
std::string ptx_of(const std::string& name) {
  return "// simulated math library\n.version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry " +
         name + "(\n  .param .align 8 .b8 simgpu_work[16]\n)\n{\n  ret;\n}\n";
}

}  // namespace

MathHandle::~MathHandle() {
  // After a device reset the modules are gone already: the codes do not matter.
  for (const auto& [name, kernel] : kernels_)
    driver_.module_unload(kernel.module);
}

CUresult MathHandle::open() {
  if (const CUresult result = driver_.init(0); result != CUDA_SUCCESS) return result;
  CUcontext context = nullptr;
  CUresult result = driver_.ctx_get_current(&context);
  if (result == CUDA_SUCCESS && context == nullptr) {
    result = driver_.primary_ctx_retain(&context, 0);
    if (result == CUDA_SUCCESS) result = driver_.ctx_set_current(context);
  }
  CUdevice device = 0;
  if (result == CUDA_SUCCESS) result = driver_.ctx_get_device(&device);
  if (result == CUDA_SUCCESS) {
    result =
        driver_.device_get_attribute(&sm_count_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  }
  return result;
}

CUresult MathHandle::load(const std::string& name, CUfunction& function) {
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[name];
  if (kernel.function == nullptr) {
    // A first call may be captured; loading its code is none of the captured work.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_.exchange_capture_mode(&mode);
    CUresult result = driver_.module_load_data(&kernel.module, ptx_of(name).c_str());
    driver_.exchange_capture_mode(&mode);
    if (result == CUDA_SUCCESS) {
      result = driver_.module_get_function(&kernel.function, kernel.module, name.c_str());
    }
    if (result != CUDA_SUCCESS) {
      kernels_.erase(name);
      return result;
    }
  }
  function = kernel.function;
  return CUDA_SUCCESS;
}

CUresult MathHandle::launch(CUstream stream, const std::vector<KernelCall>& calls) {
  for (const KernelCall& call : calls) {
    CUfunction function = nullptr;
    CUresult result = load(call.name, function);
    if (result != CUDA_SUCCESS) return result;
    simgpu_work work = call.work;
    void* parameters[] = {&work};
    const auto [x, y, z] = call.grid;
    if (launch_by_ == LaunchBy::kLaunchKernel) {
      result = driver_.launch_kernel(function, x, y, z, call.threads, 1, 1, 0, stream, parameters,
                                     nullptr);
    } else {
      CUlaunchConfig config{};
      config.gridDimX = x;
      config.gridDimY = y;
      config.gridDimZ = z;
      config.blockDimX = call.threads;
      config.blockDimY = 1;
      config.blockDimZ = 1;
      config.hStream = stream;
      result = driver_.launch_kernel_ex(&config, function, parameters, nullptr);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult MathHandle::time(CUstream stream, const std::vector<KernelCall>& calls,
                          float& milliseconds) {
  CUevent begin = nullptr, end = nullptr;
  CUresult result = driver_.event_create(&begin, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) result = driver_.event_create(&end, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) result = driver_.event_record(begin, stream);
  if (result == CUDA_SUCCESS) result = launch(stream, calls);
  if (result == CUDA_SUCCESS) result = driver_.event_record(end, stream);
  if (result == CUDA_SUCCESS) result = driver_.event_synchronize(end);
  if (result == CUDA_SUCCESS) result = driver_.event_elapsed_time(&milliseconds, begin, end);
  for (CUevent event : {begin, end}) {
    if (event != nullptr) driver_.event_destroy(event);
  }
  return result;
}

}  // namespace simgpu
