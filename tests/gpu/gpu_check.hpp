// Helpers that the GPU programs share: errors end a program, a machine without a GPU skips it, and
// answers are the lines that gpu_check.py takes over: PASS, FAIL or FIGURE, then the text.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace inline_prof::gpu_test {

inline constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE for these programs

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

// Takes memory of the GPU, all zeros, until the program ends.
inline void* take_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  return memory;
}

inline cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

inline void wait(cudaStream_t stream) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

// Returns the graph of what `work` launches on the stream.
template <typename Work>
cudaGraph_t captured(cudaStream_t stream, const Work& work) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  work();
  check(cudaStreamEndCapture(stream, &graph), "end capture");
  return graph;
}

// The graph is destroyed at once, as PyTorch does.
template <typename Work>
cudaGraphExec_t captured_exec(cudaStream_t stream, const Work& work) {
  cudaGraph_t graph = captured(stream, work);
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return exec;
}

// Ends the program if the runtime finds no device; the reason is on stderr.
inline void skip_without_gpu() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return;
  std::fprintf(stderr, "skipped: no GPU (%s)\n",
               result == cudaSuccess ? "device count is 0" : cudaGetErrorString(result));
  std::exit(kSkipped);
}

// Returns the value of nearest rank of a non-empty list.
inline double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(rank, values.size() - 1)];
}

inline double median(const std::vector<double>& values) {
  return percentile(values, 0.5);
}

__attribute__((format(printf, 1, 2))) inline std::string text_of(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

class Answers {
 public:
  // A program that hangs has said by then what it knew.
  Answers() { std::setvbuf(stdout, nullptr, _IOLBF, 0); }

  void figure(const std::string& text) { std::printf("FIGURE %s\n", text.c_str()); }

  void expect(bool is_so, const std::string& text) {
    std::printf("%s %s\n", is_so ? "PASS" : "FAIL", text.c_str());
    if (!is_so) exit_status_ = 1;
  }

  [[nodiscard]] int exit_status() const { return exit_status_; }

 private:
  int exit_status_ = 0;
};

}  // namespace inline_prof::gpu_test
