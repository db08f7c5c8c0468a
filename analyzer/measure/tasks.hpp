// Makes cases ready to run, one function for each kind of work.  All throw Skipped if the GPU, its
// memory or a library cannot do it.
#pragma once

#include "measure/gpu.hpp"
#include "read/op.hpp"

#include <memory>
#include <string>
#include <string_view>

struct cudnnContext;  // what a cudnnHandle_t points to

namespace inline_prof::measure {

// Handles of libraries, made when they are first needed and kept.
class CublasTasks {
 public:
  explicit CublasTasks(Gpu& gpu);
  ~CublasTasks();
  CublasTasks(const CublasTasks&) = delete;
  CublasTasks& operator=(const CublasTasks&) = delete;

  // Multiplies by cuBLAS, or by cuBLASLt for 8-bit types and calls that came from it.
  [[nodiscard]] Work gemm(const read::Op& op);

 private:
  struct Handles;
  Gpu& gpu_;
  std::unique_ptr<Handles> handles_;
};

class CudnnTasks {
 public:
  explicit CudnnTasks(Gpu& gpu);
  ~CudnnTasks();
  CudnnTasks(const CudnnTasks&) = delete;
  CudnnTasks& operator=(const CudnnTasks&) = delete;

  // Runs the algorithm that the operation names, or the one that cuDNN chooses.
  [[nodiscard]] Work convolution(const read::Op& op);
  // Runs attention in one kernel, which stands in for those of other libraries.
  [[nodiscard]] Work attention(const read::Op& op);

 private:
  struct Handles;
  Handles& handles();

  Gpu& gpu_;
  std::unique_ptr<Handles> handles_;
};

// Runs attention by the graph interface of the cuDNN that `library` is the dlopen() handle of.
[[nodiscard]] Work fused_attention(const read::Op& op, Gpu& gpu, cudnnContext* handle,
                                   void* library);

class NcclTasks {
 public:
  explicit NcclTasks(Gpu& gpu);
  ~NcclTasks();
  NcclTasks(const NcclTasks&) = delete;
  NcclTasks& operator=(const NcclTasks&) = delete;

  [[nodiscard]] Work collective(const read::Op& op);

 private:
  struct Communicators;
  Gpu& gpu_;
  std::unique_ptr<Communicators> communicators_;
};

// Our own kernels.
[[nodiscard]] Work memory_work(const read::Op& op, Gpu& gpu);
[[nodiscard]] Work bandwidth_work(const read::Op& op, Gpu& gpu);
// Stands in for a norm or a softmax by what it reads and writes: its time is that of its tensors.
[[nodiscard]] Work rows_work(const read::Op& op, Gpu& gpu);

// Takes memory of so many numbers, normally distributed.
[[nodiscard]] void* take_normal(Gpu& gpu, std::int64_t count, std::string_view type,
                                std::uint64_t seed);

}  // namespace inline_prof::measure
