// Makes cases ready to run, one function for each kind of work.  All throw Skipped if the GPU, its
// memory or a library cannot do it.
#pragma once

#include "measure/gpu.hpp"
#include "read/op.hpp"

#include <string_view>

struct cudnnContext;  // what a cudnnHandle_t points to

namespace inline_prof::measure {

// Libraries are loaded, and their handles made, when they are first needed; they are kept until the
// process ends.

// Multiplies by cuBLAS, or by cuBLASLt for 8-bit types and calls that came from it.
[[nodiscard]] Work gemm_work(const read::Op& op, Gpu& gpu);
// Runs the algorithm that the operation names, or the one that cuDNN chooses.
[[nodiscard]] Work convolution_work(const read::Op& op, Gpu& gpu);
// Runs attention in one kernel, which stands in for those of other libraries.
[[nodiscard]] Work attention_work(const read::Op& op, Gpu& gpu);
// Runs attention by the graph interface of the cuDNN that `library` is the dlopen() handle of.
[[nodiscard]] Work fused_attention(const read::Op& op, Gpu& gpu, cudnnContext* handle,
                                   void* library);
[[nodiscard]] Work collective_work(const read::Op& op, Gpu& gpu);

// Our own kernels.
[[nodiscard]] Work memory_work(const read::Op& op, Gpu& gpu);
// Stands in for a norm or a softmax by what it reads and writes: its time is that of its tensors.
[[nodiscard]] Work rows_work(const read::Op& op, Gpu& gpu);

// Takes memory of so many numbers, normally distributed.
[[nodiscard]] void* take_normal(Gpu& gpu, std::int64_t count, std::string_view type,
                                std::uint64_t seed);

}  // namespace inline_prof::measure
