// Measures how many bytes of stack each kind of call takes, the driver's own among them: fills the
// stack below the caller with a pattern, and looks afterwards how much of it is left.
//
//   host_stack [--tiny]
//
// Prints "NAME: BYTES" a line, the most of all calls of that name.  --tiny: prints nothing but
// "host ok", and makes the same calls on a thread with 64 KiB, once the simulated driver has read
// its model elsewhere.
#include "host.hpp"

#include <alloca.h>

namespace {

constexpr std::size_t kDeepest = std::size_t{192} << 10U;
constexpr unsigned char kPattern = 0xA5;
constexpr int kIterations = 60;

bool is_tiny = false;
std::map<std::string, std::size_t> most;

// The compiler must not know what is done to the memory.
void hide(void* memory) {
  __asm__ volatile("" : : "r"(memory) : "memory");
}

[[gnu::noinline]] void fill() {
  void* const below = alloca(kDeepest);
  std::memset(below, kPattern, kDeepest);
  hide(below);
}

[[gnu::noinline]] std::size_t reached() {
  auto* const below = static_cast<unsigned char*>(alloca(kDeepest));
  hide(below);
  std::size_t left = 0;
  while (left < kDeepest && below[left] == kPattern)
    ++left;
  return kDeepest - left;
}

template <typename Call>
[[gnu::noinline]] void measured(const char* name, const Call& call) {
  if (is_tiny) return call();
  fill();
  call();
  const std::size_t bytes = reached();
  std::size_t& known = most[name];
  if (bytes > known) known = bytes;
}

// As long as templates of a matrix library make them, and as deep.
std::string mangled_name(int number) {
  std::string name = "k" + std::to_string(number);
  while (name.size() < 60)
    name += "_layer";
  std::string type = "f";
  for (int depth = 0; depth < 60; ++depth)
    type.insert(0, "4TileI").append("E");
  return "_Z" + std::to_string(name.size()) + name + "I" + type + type + "Evv";
}

struct Gpu {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::array<CUfunction, 4> kernels{};
};

Gpu open_gpu() {
  Gpu gpu;
  measured("cuDevicePrimaryCtxRetain", [&] { CHECK(cuDevicePrimaryCtxRetain(&gpu.context, 0)); });
  CHECK(cuCtxSetCurrent(gpu.context));
  CHECK(cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING));
  std::string text = ".version 6.0\n.target sm_50\n.address_size 64\n";
  for (int i = 0; i < 4; ++i)
    text += ".visible .entry " + mangled_name(i) + "()\n{\nret;\n}\n";
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, text.c_str()));
  for (int i = 0; i < 4; ++i) {
    const std::string name = mangled_name(i);
    measured("cuModuleGetFunction", [&] {
      CHECK(cuModuleGetFunction(&gpu.kernels[static_cast<std::size_t>(i)], module, name.c_str()));
    });
  }
  return gpu;
}

void step(const Gpu& gpu, const std::string& label) {
  measured("PROFILE_ITERATION", [] { PROFILE_ITERATION(); });
  measured("PROFILE_OP", [&] { PROFILE_OP(label.c_str(), "gemm", "m", 128, "n", 64, "k", 32); });
  const std::string start = label + ".start";
  const std::string stop = label + ".stop";
  measured("PROFILE_RECORD start", [&] { PROFILE_RECORD(start.c_str(), gpu.stream); });
  for (CUfunction kernel : gpu.kernels)
    measured("cuLaunchKernel", [&] { host::launch(kernel, gpu.stream); });
  measured("PROFILE_RECORD stop", [&] { PROFILE_RECORD(stop.c_str(), gpu.stream); });
  measured("PROFILE_SCOPE", [&] { PROFILE_SCOPE(label.c_str(), gpu.stream); });
  measured("cuLaunchKernel", [&] { host::launch(gpu.kernels[0], gpu.stream); });
  CHECK(cuStreamSynchronize(gpu.stream));
}

void capture(const Gpu& gpu) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  measured("cuStreamBeginCapture",
           [&] { CHECK(cuStreamBeginCapture(gpu.stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); });
  for (CUfunction kernel : gpu.kernels)
    measured("cuLaunchKernel captured", [&] { host::launch(kernel, gpu.stream); });
  measured("cuStreamEndCapture", [&] { CHECK(cuStreamEndCapture(gpu.stream, &graph)); });
  measured("cuGraphInstantiate", [&] { CHECK(cuGraphInstantiate(&exec, graph, 0)); });
  measured("cuGraphLaunch", [&] { CHECK(cuGraphLaunch(exec, gpu.stream)); });
  CHECK(cuStreamSynchronize(gpu.stream));
  measured("cuGraphExecDestroy", [&] { CHECK(cuGraphExecDestroy(exec)); });
  CHECK(cuGraphDestroy(graph));
}

void* work(void* argument) {
  const Gpu& gpu = *static_cast<const Gpu*>(argument);
  CHECK(cuCtxSetCurrent(gpu.context));
  const std::string label(900, 'l');
  for (int i = 0; i < kIterations; ++i) {
    step(gpu, label);
    capture(gpu);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  is_tiny = host::Arguments(argc, argv).has("--tiny");
  CHECK(cuInit(0));
  Gpu gpu = open_gpu();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, is_tiny ? std::size_t{64} << 10U : 4 * kDeepest);
  pthread_t thread{};
  if (pthread_create(&thread, &attributes, work, &gpu) != 0) return 1;
  pthread_join(thread, nullptr);
  for (const auto& [name, bytes] : most)
    std::printf("%s: %zu\n", name.c_str(), bytes);
  if (is_tiny) std::printf("host ok\n");
  return 0;
}
