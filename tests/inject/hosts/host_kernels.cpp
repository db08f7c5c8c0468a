// One kernel by two handles, and another of the same name in a second module, through every entry
// point.
//
//   --looked-up   the driver's functions come from cuGetProcAddress, as the runtime's do
#include "host.hpp"

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
  CHECK(cuLibraryLoadData(&library, kFirst, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(library_get_kernel(&kernel, library, "_Z4samev"));
  CHECK(kernel_get_function(&of_kernel, kernel));
  CHECK(cuModuleLoadData(&module, kSecond));
  CHECK(module_get_function(&other, module, "_Z4samev"));
  CUstream stream = host::open_stream();
  return host::train(40, [&] {
    for (CUfunction each : {reinterpret_cast<CUfunction>(kernel), of_kernel, other, of_kernel})
      host::launch(each, stream);
  });
}
