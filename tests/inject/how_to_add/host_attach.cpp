// Calls the driver function of docs/how_to_add.md by both of its forms; `wrapped` if they are to be
// the injected library's.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

using Attach = CUresult (*)(CUstream, CUdeviceptr, std::size_t, unsigned);

}  // namespace

int main(int argc, char** argv) {
  const bool wrapped = argc > 1 && std::strcmp(argv[1], "wrapped") == 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 1;
  int failures = 0;
  for (const cuuint64_t streams :
       {CU_GET_PROC_ADDRESS_LEGACY_STREAM, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
    void* address = nullptr;
    Dl_info library{};
    if (cuGetProcAddress("cuStreamAttachMemAsync", &address, 7000, streams, nullptr) !=
            CUDA_SUCCESS ||
        dladdr(address, &library) == 0)
      return 1;
    const bool is_ours =
        std::string(library.dli_fname).find("how_to_add_inject") != std::string::npos;
    const auto attach = reinterpret_cast<Attach>(address);
    const CUresult good = attach(nullptr, 64, 0, CU_MEM_ATTACH_GLOBAL);
    const CUresult wrong = attach(nullptr, 64, 0, 8);
    std::printf("%s: %d %d\n", library.dli_sname, good, wrong);
    failures += is_ours != wrapped || good != CUDA_SUCCESS || wrong != CUDA_ERROR_INVALID_VALUE;
  }
  return failures;
}
