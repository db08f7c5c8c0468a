// One kernel by two handles, and another of the same name in a second module, through every entry
// point.
//
//   --looked-up   the driver's functions come from cuGetProcAddress, as the runtime's do
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr char kFirst[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry _Z4samev()\n{\nret;\n}\n";
constexpr char kSecond[] =
    "// another\n.version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry _Z4samev()\n{\nret;\n}\n";

decltype(&cuModuleGetFunction) module_get_function = cuModuleGetFunction;
decltype(&cuLibraryGetKernel) library_get_kernel = cuLibraryGetKernel;
decltype(&cuKernelGetFunction) kernel_get_function = cuKernelGetFunction;

template <typename Function>
void find(const char* name, int version, Function& function) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  CHECK(cuGetProcAddress(name, &found, version, 0, &status));
  function = reinterpret_cast<Function>(found);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cuInit(0));
  if (argc > 1 && std::strcmp(argv[1], "--looked-up") == 0) {
    find("cuModuleGetFunction", 2000, module_get_function);
    find("cuLibraryGetKernel", 12000, library_get_kernel);
    find("cuKernelGetFunction", 12000, kernel_get_function);
  }
  host::open_context();
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  CUkernel kernel = nullptr;
  CUfunction of_kernel = nullptr;
  CUfunction other = nullptr;
  CUstream stream = nullptr;
  CHECK(cuLibraryLoadData(&library, kFirst, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(library_get_kernel(&kernel, library, "_Z4samev"));
  CHECK(kernel_get_function(&of_kernel, kernel));
  CHECK(cuModuleLoadData(&module, kSecond));
  CHECK(module_get_function(&other, module, "_Z4samev"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 40; ++i) {
    PROFILE_ITERATION();
    for (CUfunction each : {reinterpret_cast<CUfunction>(kernel), of_kernel, other, of_kernel})
      CHECK(cuLaunchKernel(each, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  }
  CHECK(cuCtxSynchronize());
  std::printf("host ok\n");
  return 0;
}
