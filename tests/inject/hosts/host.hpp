// Shared by the test programs: what most of them use of the system, checked calls, a context,
// kernels that do nothing, and the loop.
#pragma once

#include <inline_prof/profile.h>

#include <cuda.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <optional>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace host {

// Without exit handlers: a program that fails may be in no state to run them.
[[noreturn]] inline void fail(const char* what, int code) {
  std::printf("host: %s (%d)\n", what, code);
  std::fflush(stdout);
  std::_Exit(1);
}

// For results of the driver and of the libraries: 0 is success in all of them.
inline void check(int result, const char* what) {
  if (result != 0) fail(what, result);
}
#define CHECK(call) host::check(static_cast<int>(call), #call)

// A program's arguments.  Each question takes its answer out, so that those that nobody asks for
// are left.
class Arguments {
 public:
  Arguments(int argc, char** argv) : left_(argv + 1, argv + argc) {}
  explicit Arguments(std::vector<std::string> all) : left_(std::move(all)) {}

  bool has(const std::string& flag) { return std::erase(left_, flag) > 0; }
  // The last VALUE of NAME=VALUE.
  std::string text(const std::string& name, std::string otherwise = {}) {
    std::erase_if(left_, [&](const std::string& each) {
      if (!each.starts_with(name + "=")) return false;
      otherwise = each.substr(name.size() + 1);
      return true;
    });
    return otherwise;
  }
  int number(const std::string& name, int otherwise) {
    return std::atoi(text(name, std::to_string(otherwise)).c_str());
  }
  [[nodiscard]] const std::vector<std::string>& left() const { return left_; }
  void expect_none_left() const {
    if (!left_.empty()) fail(left_.front().c_str(), 2);
  }

 private:
  std::vector<std::string> left_;
};

// The device's primary context, current on this thread.
inline CUcontext open_context(int index = 0) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, index));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

inline CUstream open_stream() {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// A device address that calls take as a pointer.
inline void* device_memory(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, bytes));
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): a number to CUDA
}

// Kernels of one module that return at once.  The driver compiles PTX for whatever GPU it finds.
inline std::vector<CUfunction> load_kernels(const std::vector<std::string>& names) {
  std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n";
  for (const std::string& name : names)
    text += ".visible .entry " + name + "()\n{\nret;\n}\n";
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, text.c_str()));
  std::vector<CUfunction> kernels(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    CHECK(cuModuleGetFunction(&kernels[i], module, names[i].c_str()));
  return kernels;
}

// kernel_0_, kernel_1_, ...
inline std::vector<CUfunction> load_numbered_kernels(int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    names.push_back("kernel_" + std::to_string(i) + "_");
  return load_kernels(names);
}

inline void launch(CUfunction kernel, CUstream stream, unsigned grid = 1, unsigned block = 32) {
  CHECK(cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, stream, nullptr, nullptr));
}

// The graph of the launches that `work` makes on the stream.
template <typename Work>
CUgraph captured(CUstream stream, const Work& work) {
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  work();
  CHECK(cuStreamEndCapture(stream, &graph));
  return graph;
}

inline CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

// Waits for the device and prints that all is well.  The result of main().
inline int finish() {
  CHECK(cuCtxSynchronize());
  std::printf("host ok\n");
  return 0;
}

template <typename Step>
int train(int iterations, const Step& step) {
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    step();
  }
  return finish();
}

}  // namespace host
