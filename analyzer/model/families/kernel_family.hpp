// Kernel families: what a kernel's name tells about how it works.  kernel_families.json is the one
// table of kernel names, for predictions, for reports and for what is said about kernels without an
// operation: names as PyTorch 1.13 to 2.11, cuBLAS 11 to 13, cuDNN 8 and 9, NCCL 2, flash-attention
// 2 and 3, FBGEMM, vLLM 0.11, SGLang, TensorRT-LLM, Transformer Engine 2, bitsandbytes, CUB, CuPy
// 13, Inductor and XLA 0.10 have them.  The compiler's kernels (triton_...) come first: they have
// the names of all the operators that they hold.  Of the products, what is not aligned comes before
// its generation, and what has no tensor cores before both.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace inline_prof::model {

// How a family's time follows from its work (docs/models/families.md).
enum class FamilyForm : std::uint8_t {
  kNone,      // nothing is known but the name
  kMovement,  // bytes, or elements, whichever takes longer
  kProduct,   // the product's model, and what this generation of kernels adds to it
  kTiles,     // flops by tiles: attention, convolutions
};

// How many elements a block of the grid works on.
enum class BlockElements : std::uint8_t {
  kUnknown,
  kThreadsTimesWork,  // PyTorch's elementwise_kernel<threads, work per thread, ...>
  kVectors,           // vectorized_elementwise_kernel<n, ...>: n numbers make 16 bytes
  kFour,              // four for each thread
  kChunk,             // one chunk of a tensor in a list: 65,536, but for a tensor's last one
  kThreads,           // one for each thread, but for rows at the rim
  kOne,               // at most one for each thread and turn
};

struct KernelFamily {
  std::string_view word;       // in the kernel's name; the first row that fits counts
  std::string_view name;       // of the family: several words may share one
  std::string_view operation;  // in words for readers
  FamilyForm form = FamilyForm::kNone;
  BlockElements block = BlockElements::kUnknown;
  std::string_view remedy = {};  // what makes such a kernel faster; empty: nothing does
};

[[nodiscard]] std::span<const KernelFamily> kernel_families();

// Null if no word of the table is in the name.
[[nodiscard]] const KernelFamily* kernel_family(std::string_view kernel_name);

}  // namespace inline_prof::model
