// Writes down what a program asks of the GPU, in the order of its calls, and where its loop says
// that a step begins.  Preload it into a program on the simulated GPU:
//
//   LD_PRELOAD=liblaunch_recorder.so LAUNCH_RECORDER_OUT=calls.txt python3 train.py
//
// A line is a call or a name; ../data/recordings/README.md describes what record.py makes of them.
// The loop calls launch_recorder_step() (tests/real_programs/programs/steps.py).  Programs find the
// driver's functions by dlsym or by cuGetProcAddress, or are linked with them: it stands in for all
// three.  A process that forks goes on; its children write nothing.
// With all versions and twins of each function: the build defines __CUDA_API_VERSION_INTERNAL.
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Dlsym = void* (*)(void*, const char*);

Dlsym real_dlsym() {
  static const auto real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return real;
}

void* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver == nullptr ? nullptr : real_dlsym()(driver, name);
}

// The driver's own function behind one of ours, whose type it has.
#define DRIVER(name) (reinterpret_cast<decltype(&(name))>(driver_function(#name)))

class Recording {
 public:
  static Recording& instance() {
    static auto* const recording = new Recording;  // threads may outlive main
    return *recording;
  }

  // Records a call that the device sees: 'k' and a kernel, 'g' and a graph.
  void launched(char kind, const void* handle, CUstream stream) {
    const std::lock_guard lock(mutex_);
    auto& known = kind == 'g' ? graphs_ : kernels_;
    auto number = known.find(handle);
    if (number == known.end()) {
      number = known.emplace(handle, known.size()).first;
      if (kind == 'k') name_kernel(handle, number->second);
    }
    CUcontext context = nullptr;  // each has a default stream, of one and the same handle
    DRIVER(cuCtxGetCurrent)(&context);
    is_now('@', stream_, streams_.try_emplace({context, stream}, streams_.size()).first->second);
    is_now('%', thread_, threads_.try_emplace(gettid(), threads_.size()).first->second);
    add(kind + std::to_string(number->second));
  }

  // An executable graph of so many kernels, at an address that an earlier one may have had.
  void instantiated(CUgraphExec graph, std::size_t kernels) {
    const std::lock_guard lock(mutex_);
    const std::size_t number = ++graphs_made_ - 1;
    graphs_[graph] = number;
    add("graph " + std::to_string(number) + " " + std::to_string(kernels));
  }

  void called(char kind) {
    const std::lock_guard lock(mutex_);
    add(std::string(1, kind));
  }

  // A reduction of so many bytes, by their logarithm to base 2.
  void reduced(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    add("r" + std::to_string(std::bit_width(bytes)));
  }

 private:
  Recording() {
    const char* path = std::getenv("LAUNCH_RECORDER_OUT");
    if (path != nullptr) file_ = std::fopen(path, "we");
  }

  void name_kernel(const void* handle, std::size_t number) {
    const char* name = nullptr;
    const auto function = static_cast<CUfunction>(const_cast<void*>(handle));
    if (DRIVER(cuFuncGetName)(&name, function) != CUDA_SUCCESS || name == nullptr) name = "unnamed";
    add("kernel " + std::to_string(number) + " " + name);
  }

  void is_now(char kind, std::size_t& known, std::size_t number) {
    if (std::exchange(known, number) != number) add(kind + std::to_string(number));
  }

  void add(const std::string& line) {
    if (file_ == nullptr || getpid() != process_) return;
    std::fprintf(file_, "%s\n", line.c_str());
    if (line.size() == 1) std::fflush(file_);  // before a fork, most likely
  }

  std::mutex mutex_{};
  std::FILE* file_ = nullptr;
  pid_t process_ = getpid();
  std::unordered_map<const void*, std::size_t> kernels_{};
  std::unordered_map<const void*, std::size_t> graphs_{};
  std::map<std::pair<const void*, const void*>, std::size_t> streams_{};
  std::unordered_map<pid_t, std::size_t> threads_{};
  std::size_t graphs_made_ = 0;
  std::size_t stream_ = 0;
  std::size_t thread_ = 0;
};

void called(char kind) {
  Recording::instance().called(kind);
}

bool is_captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return DRIVER(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// A captured kernel is launched with its graph.
void kernel_launched(CUfunction function, CUstream stream) {
  if (!is_captured(stream)) Recording::instance().launched('k', function, stream);
}

std::size_t kernels_of(CUgraph graph) {
  std::size_t count = 0;
  if (DRIVER(cuGraphGetNodes)(graph, nullptr, &count) != CUDA_SUCCESS) return 0;
  std::vector<CUgraphNode> nodes(count);
  DRIVER(cuGraphGetNodes)(graph, nodes.data(), &count);
  std::size_t kernels = 0;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    DRIVER(cuGraphNodeGetType)(node, &type);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) ++kernels;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
        DRIVER(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS)
      kernels += kernels_of(child);
  }
  return kernels;
}

CUresult instantiated(CUresult result, const CUgraphExec* exec, CUgraph graph) {
  if (result == CUDA_SUCCESS) Recording::instance().instantiated(*exec, kernels_of(graph));
  return result;
}

bool is_on_device(CUdeviceptr address) {
  unsigned type = 0;
  return DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
             CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

// Sizes of the objects that ranks send each other are numbers of 8 bytes, losses of 4.
std::size_t largest_number() {
  constexpr std::size_t usual = 16;
  static const char* const given = std::getenv("LAUNCH_RECORDER_LARGEST_ZERO");
  return given == nullptr ? usual : std::strtoul(given, nullptr, 10);
}

// Kernels compute nothing, so what a program reads is whatever the memory held before.  A program
// that branches on a number is to go the same way each time: it reads 0.
void read_from_device(char kind, CUdeviceptr from, std::size_t bytes, CUstream stream = nullptr) {
  called(kind);
  if (bytes <= largest_number() && !is_captured(stream))
    DRIVER(cuMemsetD8Async)(from, 0, bytes, stream);
}

void copied(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream = nullptr) {
  if (!is_on_device(to)) return read_from_device('d', from, bytes, stream);
  if (!is_on_device(from)) called('h');
}

}  // namespace

// Each with its twin for the per-thread default stream.
#define RECORDED(name, twin, parameters, arguments, before) \
  extern "C" CUresult CUDAAPI name parameters {             \
    before;                                                 \
    return DRIVER(name) arguments;                          \
  }                                                         \
  extern "C" CUresult CUDAAPI twin parameters {             \
    before;                                                 \
    return DRIVER(twin) arguments;                          \
  }

#define GRID \
  unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned m
RECORDED(cuLaunchKernel, cuLaunchKernel_ptsz,
         (CUfunction f, GRID, CUstream stream, void** parameters, void** extra),
         (f, gx, gy, gz, bx, by, bz, m, stream, parameters, extra), kernel_launched(f, stream))
RECORDED(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz,
         (CUfunction f, GRID, CUstream stream, void** parameters),
         (f, gx, gy, gz, bx, by, bz, m, stream, parameters), kernel_launched(f, stream))
RECORDED(cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
         (const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra),
         (config, f, parameters, extra), kernel_launched(f, config->hStream))
RECORDED(cuGraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec graph, CUstream stream), (graph, stream),
         if (!is_captured(stream)) Recording::instance().launched('g', graph, stream))
RECORDED(cuStreamSynchronize, cuStreamSynchronize_ptsz, (CUstream stream), (stream), called('s'))
RECORDED(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void* to, CUdeviceptr from, size_t bytes),
         (to, from, bytes), read_from_device('D', from, bytes))
RECORDED(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz,
         (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream),
         read_from_device('d', from, bytes, stream))
RECORDED(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void* from, size_t bytes),
         (to, from, bytes), called('h'))
RECORDED(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz,
         (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
         (to, from, bytes, stream), called('h'))
RECORDED(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
         (to, from, bytes), copied(to, from, bytes))
RECORDED(cuMemcpyAsync, cuMemcpyAsync_ptsz,
         (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
         (to, from, bytes, stream), copied(to, from, bytes, stream))
RECORDED(cuMemAllocAsync, cuMemAllocAsync_ptsz, (CUdeviceptr * at, size_t bytes, CUstream stream),
         (at, bytes, stream), called('a'))

extern "C" CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* at, size_t bytes) {
  called('a');
  return DRIVER(cuMemAlloc_v2)(at, bytes);
}

extern "C" CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  called('e');
  return DRIVER(cuEventSynchronize)(event);
}

extern "C" CUresult CUDAAPI cuCtxSynchronize() {
  called('c');
  return DRIVER(cuCtxSynchronize)();
}

extern "C" CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                        unsigned long long flags) {
  return instantiated(DRIVER(cuGraphInstantiateWithFlags)(exec, graph, flags), exec, graph);
}

extern "C" CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                         CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  return instantiated(DRIVER(cuGraphInstantiateWithParams)(exec, graph, how), exec, graph);
}

extern "C" CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                                              CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  return instantiated(DRIVER(cuGraphInstantiateWithParams_ptsz)(exec, graph, how), exec, graph);
}

extern "C" [[gnu::visibility("default")]] void launch_recorder_step() {
  called('|');
}

namespace {

// Returns the function of this library that has the name, if there is one.
void* ours(const char* name) {
  static void* const library = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&launch_recorder_step), &self);
    return dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return real_dlsym()(library, name);
}

// Ours for what the driver answers with, where that is one of the functions above.
void replace(std::string_view asked, void** address) {
  for (const char* ending : {"", "_v2", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds"}) {
    const std::string name = std::string(asked) + ending;
    if (void* our = ours(name.c_str());
        our != nullptr && *address == driver_function(name.c_str())) {
      *address = our;
      return;
    }
  }
}

}  // namespace

extern "C" CUresult CUDAAPI cuGetProcAddress(const char* name, void** address, int version,
                                             cuuint64_t flags) {
  const CUresult result = DRIVER(cuGetProcAddress)(name, address, version, flags);
  if (result == CUDA_SUCCESS && *address != nullptr) replace(name, address);
  return result;
}

extern "C" CUresult CUDAAPI cuGetProcAddress_v2(const char* name, void** address, int version,
                                                cuuint64_t flags,
                                                CUdriverProcAddressQueryResult* status) {
  const CUresult result = DRIVER(cuGetProcAddress_v2)(name, address, version, flags, status);
  if (result != CUDA_SUCCESS || *address == nullptr) return result;
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    *address = version >= 12000 ? reinterpret_cast<void*>(&cuGetProcAddress_v2)
                                : reinterpret_cast<void*>(&cuGetProcAddress);
  } else {
    replace(name, address);
  }
  return result;
}

extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  void* const found = real_dlsym()(handle, name);
  if (found == nullptr) return found;
  if (std::strcmp(name, "cuGetProcAddress") == 0) return reinterpret_cast<void*>(&cuGetProcAddress);
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0)
    return reinterpret_cast<void*>(&cuGetProcAddress_v2);
  void* const our = ours(name);
  return our != nullptr && found == driver_function(name) ? our : found;
}

// NCCL's collectives that reduce. Their types are NCCL's own; no header of it is needed for these.
namespace {

std::size_t bytes_of(std::size_t count, int type) {
  constexpr std::array<std::size_t, 10> sizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  const auto place = static_cast<std::size_t>(type);
  return count * (place < sizes.size() ? sizes[place] : 1);
}

template <typename... Parameters>
int reduced(const char* name, std::size_t bytes, Parameters... parameters) {
  Recording::instance().reduced(bytes);
  static void* const nccl = dlopen("libnccl.so.2", RTLD_LAZY);
  using Function = int (*)(Parameters...);
  return reinterpret_cast<Function>(real_dlsym()(nccl, name))(parameters...);
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] int ncclAllReduce(const void* send, void* receive, size_t count,
                                                 int type, int op, void* comm, CUstream stream) {
  return reduced("ncclAllReduce", bytes_of(count, type), send, receive, count, type, op, comm,
                 stream);
}
[[gnu::visibility("default")]] int ncclReduceScatter(const void* send, void* receive, size_t count,
                                                     int type, int op, void* comm,
                                                     CUstream stream) {
  return reduced("ncclReduceScatter", bytes_of(count, type), send, receive, count, type, op, comm,
                 stream);
}
}
