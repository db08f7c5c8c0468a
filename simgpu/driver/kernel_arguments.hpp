// The arguments of a kernel in a graph.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace simgpu {

struct Kernel;

// cuda.h, cuGraphAddKernelNode: "The kernelParams or extra array, as well as the argument values it
// points to, are copied during this call."  Arguments given one by one can be copied where the
// kernel's PTX tells their sizes; of a kernel of the runtime's only the name is known, and its
// arguments are not kept.
class KernelArguments {
 public:
  KernelArguments(const Kernel& kernel, void* const* parameters, void* const* extra);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  // cuda.h, cuGraphKernelNodeGetParams: "The params will contain either kernelParams or extra,
  // according to which of these was most recently set on the node."  The other one is null.
  [[nodiscard]] void** parameters() const { return is_packed_ ? nullptr : pointers_.data(); }
  [[nodiscard]] void** extra() const { return is_packed_ ? extra_.data() : nullptr; }

 private:
  void copy_packed(void* const* extra);

  std::vector<std::vector<char>> values_;  // one per parameter
  mutable std::vector<void*> pointers_;    // to the values; the vendor's structures are not const
  bool is_packed_ = false;
  std::vector<char> buffer_;
  std::size_t buffer_bytes_ = 0;
  mutable std::array<void*, 5> extra_{};
};

}  // namespace simgpu
